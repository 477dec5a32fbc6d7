// Package cloudtest is the contract of package cloud as tests. Every cloud runs them, against the most real simulator there
// is, and so does the fake. The controllers may rely on what is tested here.
package cloudtest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// Harness is an empty cloud, with the means to change it as its owner and its guests do.
type Harness struct {
	Provider cloud.Provider

	// Credentials are right, WrongCredentials are refused, and DeadCredentials are for a server that does not answer.
	Credentials, WrongCredentials, DeadCredentials map[string][]byte

	// AnotherServer starts a server and returns credentials for it.
	AnotherServer func() map[string][]byte

	// Spec is one that the cloud can carry out. Misspell makes it name a template that does not exist.
	Spec     infrav1.WindowsMachineSpec
	Misspell func(*infrav1.WindowsMachineSpec)

	// Hold keeps new requests for VMs under way until release is called.
	Hold func() (release func())

	// LoseAnswer carries out the next request for a VM and then breaks its connection instead of answering.
	LoseAnswer func()

	// Cut breaks all connections that are open now.
	Cut func()

	// Keeps says that no user data can be taken away, so that no VM ever says that it holds some. Mute says that guests do not
	// report through the cloud.
	Keeps, Mute bool

	// Size is what the cloud tells of the VMs' size; zero where the spec says it.
	Size cloud.Size
	// ImageVersion is what the cloud tells of the VMs' image; empty where it tells nothing.
	ImageVersion string

	// Erasures counts how often user data were taken away.
	Erasures func() int

	// Sessions counts the open sessions.
	Sessions func() int

	// VMs lists the names of all VMs. Inspect returns everything that is known about the VM of a name.
	VMs     func() []string
	Inspect func(name string) string

	// Occupy makes a running VM of that name, without our mark, in the place where ours would be.
	Occupy func(name string)

	// Unmark takes the marks off a machine's VM, as a user of the cloud may.
	Unmark func(name string)

	// Copy makes a VM of another name from that of a machine, with all marks on it, as a user of the cloud may.
	Copy func(name, as string)

	// Replace puts another VM in the place of a machine's, with its name and all of its marks, and another ID of the cloud's own.
	Replace func(name string)

	// Displace moves a machine's VM to where nobody looks for it, without its marks where the cloud lets that happen; it runs on.
	// Return brings it back to where it was, with its marks.
	Displace, Return func(name string)

	// These change a VM, act as its guest, or return what its guest sees.
	PowerOff, Remove func(name string)
	Address, Report  func(name, value string)
	UserData         func(name string) []byte
	WriteUserData    func(name, value string)
	ComputerName     func(name string) string
}

// world is a harness in a test.
type world struct {
	Harness
	t      *testing.T
	counts *proved.Tally
}

// process connects like a new process. Its session ends with the test.
func (w world) process() cloud.Cloud {
	w.t.Helper()
	return w.connect(w.Credentials)
}

func (w world) connect(credentials map[string][]byte) cloud.Cloud {
	w.t.Helper()
	c, err := w.Provider.Connect("team", credentials)
	if err != nil {
		w.t.Fatalf("connect: %v", err)
	}
	w.t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			w.t.Errorf("Close = %v", describe(err))
		}
	})
	return c
}

func object(name string, spec infrav1.WindowsMachineSpec) *infrav1.WindowsMachine {
	return &infrav1.WindowsMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uuid.NewString())},
		Spec:       *spec.DeepCopy(),
	}
}

// machine returns what the controllers tell a cloud about a new WindowsMachine.
func (w world) machine(name string) cloud.Machine {
	w.t.Helper()
	return w.machineOf(object(name, w.Spec))
}

func (w world) machineOf(o *infrav1.WindowsMachine) cloud.Machine {
	w.t.Helper()
	identity, err := w.Provider.Identify(o)
	if err != nil {
		w.t.Fatalf("identify: %v", err)
	}
	o.Spec.ProviderID = identity.ProviderID
	return cloud.Machine{
		Identity: identity,
		Key:      cloud.Key{Namespace: o.Namespace, Name: o.Name},
		UID:      o.UID,
		Cluster:  cloud.ClusterMark{Name: "blue", UID: "6f4d1b4e-blue"},
		Spec:     o.Spec,
		UserData: userDataOf(o.Name).Read,
		Proof:    cloud.Proof{Own: true},
	}
}

func userDataOf(name string) cloud.UserData {
	return cloud.UserData("#ps1_sysnative\n# user data of " + name)
}

// ensure calls Ensure until the VM runs, as the controllers do. Errors that go away by themselves are allowed.
func (w world) ensure(c cloud.Cloud, m cloud.Machine) cloud.VM {
	w.t.Helper()
	var vm cloud.VM
	wait.Until(w.t, "Ensure to report a running VM", func() (any, bool) {
		var err error
		vm, err = c.Ensure(w.t.Context(), m)
		if err != nil && !passes(err) {
			w.t.Fatalf("ensure: %v", describe(err))
		}
		return []any{vm, describe(err)}, err == nil && vm.State == cloud.Running
	})
	return vm
}

// erase calls Ensure for a settled machine until its VM holds no user data.
func (w world) erase(c cloud.Cloud, m cloud.Machine) cloud.VM {
	w.t.Helper()
	m.Settled, m.UserData = true, nil
	var vm cloud.VM
	wait.Until(w.t, "Ensure to take the user data away", func() (any, bool) {
		var err error
		vm, err = c.Ensure(w.t.Context(), m)
		if err != nil && !passes(err) {
			w.t.Fatalf("ensure: %v", describe(err))
		}
		return []any{vm, describe(err)}, err == nil && vm.State != cloud.Creating && !vm.UserData
	})
	return vm
}

// remove calls Delete until nothing is left.
func (w world) remove(c cloud.Cloud, m cloud.Machine) {
	w.t.Helper()
	wait.Until(w.t, "Delete to say that nothing is left", func() (any, bool) {
		_, err := c.Delete(w.t.Context(), m)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) && !passes(err) {
			w.t.Fatalf("delete: %v", describe(err))
		}
		return describe(err), errors.Is(err, cloud.ErrNotFound)
	})
}

func (w world) observe(c cloud.Cloud, m cloud.Machine) cloud.VM {
	w.t.Helper()
	var vm cloud.VM
	wait.Until(w.t, "Observe to report", func() (any, bool) {
		var err error
		vm, err = c.Observe(w.t.Context(), m)
		if err != nil && kind(err) != cloud.Later {
			w.t.Fatalf("observe: %v", describe(err))
		}
		return describe(err), err == nil
	})
	return vm
}

// begin calls Ensure once that does something.
func (w world) begin(c cloud.Cloud, m cloud.Machine) {
	w.t.Helper()
	wait.Until(w.t, "Ensure to begin", func() (any, bool) {
		_, err := c.Ensure(w.t.Context(), m)
		if err != nil && kind(err) != cloud.Later {
			w.t.Fatalf("ensure: %v", describe(err))
		}
		return describe(err), err == nil
	})
}

func (w world) wantAbsent(c cloud.Cloud, m cloud.Machine) {
	w.t.Helper()
	if vm, err := c.Observe(w.t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		w.t.Errorf("Observe = %+v, %v, want ErrNotFound", vm, describe(err))
	}
}

func (w world) wantVMs(names ...string) {
	w.t.Helper()
	have := w.VMs()
	if len(have) != len(names) {
		w.t.Fatalf("the cloud has VMs %q, want %q", have, names)
	}
	for i := range names {
		if have[i] != names[i] {
			w.t.Fatalf("the cloud has VMs %q, want %q", have, names)
		}
	}
}

// WantError wants a *cloud.Error with a message.
func WantError(t testing.TB, err error, want cloud.Kind, reason string) {
	t.Helper()
	e, _ := errors.AsType[*cloud.Error](err)
	if e == nil || e.Kind != want || e.Reason != reason || e.Message == "" {
		t.Errorf("error is %v, want %s/%s and a message", describe(err), want, reason)
	}
}

// passes says that an error goes away by itself.
func passes(err error) bool { return kind(err) == cloud.Transient || kind(err) == cloud.Later }

func kind(err error) cloud.Kind {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Kind
	}
	return cloud.Transient
}

// describe returns what a log shows of an error.
func describe(err error) any {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return []any{e.Kind, e.Reason, e.Message, e.Err}
	}
	return err
}
