// Package fake is a second cloud, in memory. It is a simulation with state, not a list of expected calls: it makes VMs some
// time after the request, keeps names unique, and loses answers or stops answering when told to. It passes the same contract
// test as the real clouds, so that what works with it in a controller's test also works with them.
//
// It reads the Azure part of the spec, so that controllers cannot rely on anything that only vSphere has.
package fake

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// VM is any VM of the cloud, with our mark or without it.
type VM struct {
	Name       string
	ID         string
	Owner      cloud.Key // the mark, with ProviderID
	ProviderID string
	Cluster    cloud.ClusterMark
	Digest     string // of its user data
	On         bool
	Ran        bool // has been on
	Address    string
	Told       []clusterv1.MachineAddress // whatever else its guest tells
	Report     string
	Console    []string // what its guest wrote there
	UserData   []byte
	Given      bool   // the user data were given by Ensure, and are still there
	Own        string // the cloud's own ID, given when the VM is made
}

// World is the cloud. The zero value is ready: it has one image, one password and no VM. Set the exported fields before use.
type World struct {
	// Image is the only image, Password the only password; the zero values mean the constant Image and "secret".
	Image, Password string

	mu       sync.Mutex
	vms      map[string]*VM // by name
	requests []*request
	held     map[act]bool
	lose     int
	failures []error
	soldOut  map[string]bool // by VM size
	away     error
	keeps    error // user data are not taken away
	silence  error // no console is shown
	erasures int
	sessions map[*account]bool
	watches  map[*watch]*account
	calls    map[string]int
}

// act is what a request asks for.
type act string

// The acts that Hold can keep under way.
const (
	Create act = "create"
	Remove act = "delete"
)

// request is one that is under way.
type request struct {
	act act
	vm  VM
}

// Hold keeps new requests of a kind under way until release is called.
func (w *World) Hold(what act) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == nil {
		w.held = map[act]bool{}
	}
	w.held[what] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held[what] = false
		due := w.requests
		w.requests = nil
		for _, r := range due {
			w.ask(r)
		}
	}
}

// FailNextCreate makes the next request for a VM end with an error, which the next Observe or Ensure returns.
func (w *World) FailNextCreate(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, err)
}

// Exhaust leaves the cloud without capacity for VMs of a size, until release is called: requests for one end with an error, which
// the next Observe or Ensure returns.
func (w *World) Exhaust(size string) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.soldOut == nil {
		w.soldOut = map[string]bool{}
	}
	w.soldOut[size] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.soldOut[size] = false
	}
}

// LoseAnswer carries out the next request for a VM and loses its answer.
func (w *World) LoseAnswer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose++
}

// Away makes every call fail with err, until it is called with nil.
func (w *World) Away(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = err
	if err != nil {
		w.cut()
	}
}

// Keep makes the cloud refuse to take user data away, until it is called with nil.
func (w *World) Keep(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keeps = err
}

// Silence makes the cloud refuse to show consoles, until it is called with nil.
func (w *World) Silence(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence = err
}

// Cut ends all watches with an error.
func (w *World) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut()
}

func (w *World) cut() {
	for watch := range w.watches {
		watch.cut()
	}
}

// Names of all VMs.
func (w *World) Names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.vms))
}

// Get returns the VM of that name as it is now, if there is one.
func (w *World) Get(name string) (VM, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if vm := w.vms[name]; vm != nil {
		return *vm, true
	}
	return VM{}, false
}

// Put makes a VM, or replaces the VM of that name, as another user of the cloud does.
func (w *World) Put(vm VM) {
	w.mu.Lock()
	defer w.mu.Unlock()
	vm.Ran = vm.Ran || vm.On
	w.put(vm)
}

// Update changes the VM of that name, if there is one, as its guest or another user of the cloud does.
func (w *World) Update(name string, change func(*VM)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if vm := w.vms[name]; vm != nil {
		change(vm)
		w.changed(vm)
	}
}

// Drop removes the VM of that name, as another user of the cloud does.
func (w *World) Drop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(name)
}

// Sessions counts the open sessions.
func (w *World) Sessions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sessions)
}

// Erasures counts how often user data were taken away.
func (w *World) Erasures() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.erasures
}

// Calls returns how often each method was called since the last time.
func (w *World) Calls() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func (w *World) put(vm VM) {
	if w.vms == nil {
		w.vms = map[string]*VM{}
	}
	vm.Own = uuid.NewString()
	w.vms[vm.Name] = &vm
	w.changed(&vm)
}

func (w *World) drop(name string) {
	if vm := w.vms[name]; vm != nil {
		delete(w.vms, name)
		w.changed(vm)
	}
}

// changed wakes the machine of a VM: that of its mark, and the one that an account knows by the cloud's own ID of the VM.
func (w *World) changed(vm *VM) {
	for watch, by := range w.watches {
		watch.add(vm.Owner)
		if key, known := by.known[vm.Own]; known {
			watch.add(key)
		}
	}
}

// ask carries out a request, or holds it.
func (w *World) ask(r *request) {
	switch {
	case w.held[r.act]:
		w.requests = append(w.requests, r)
	case r.act == Remove:
		w.drop(r.vm.Name)
	case w.vms[r.vm.Name] == nil:
		w.put(r.vm)
	default: // the name was taken in the meantime, so the request fails
		w.changed(&r.vm)
	}
}

// underWay finds the request for a VM of that name.
func (w *World) underWay(what act, name string) *request {
	for _, r := range w.requests {
		if r.act == what && r.vm.Name == name {
			return r
		}
	}
	return nil
}
