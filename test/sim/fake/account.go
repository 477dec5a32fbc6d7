package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// resources is where the VMs are, as in a providerID of Azure.
const resources = "azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/fake/providers/" +
	"Microsoft.Compute/virtualMachines/"

// Image is the image of a World that names none.
const Image = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/fake/providers/Microsoft.Compute/images/windows"

// Nowhere is the server that does not answer.
const Nowhere = "nowhere"

// Provider is that of the fake cloud.
type Provider struct{ World *World }

var _ cloud.Provider = Provider{}

// Name is that of the part of a spec that is for it.
func (Provider) Name() string { return infrav1.CloudAzure }

// Identify derives the VM's name from the machine's UID.
func (Provider) Identify(m *infrav1.WindowsMachine) (cloud.Identity, error) {
	if m.Spec.ProviderID == "" && m.UID == "" {
		return cloud.Identity{}, cloud.Errorf(cloud.Transient, "", "the API server has not given the machine a UID yet")
	}
	name := cloud.ComputerName(m.Name, string(m.UID))
	if m.Spec.ProviderID != "" {
		name = strings.TrimPrefix(m.Spec.ProviderID, resources)
	}
	if m.Spec.ProviderID != "" && !providerIDs.MatchString(m.Spec.ProviderID) {
		return cloud.Identity{}, cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
			"spec.providerID %q is not a fake one", m.Spec.ProviderID)
	}
	return cloud.Identity{Name: name, ProviderID: resources + name}, nil
}

var providerIDs = regexp.MustCompile("^" + regexp.QuoteMeta(resources) + "[a-z][-a-z0-9]{0,3}-[0-9a-z]{10}$")

// Check wants an image.
func (Provider) Check(m *infrav1.WindowsMachine) error {
	if m.Spec.Azure != nil && m.Spec.Azure.Image.ID == "" {
		return cloud.Missing("spec.azure.image.id")
	}
	return nil
}

// Principal is the password at a server of this world.
func (p Provider) Principal(credentials map[string][]byte) (string, error) {
	if len(credentials["clientSecret"]) == 0 {
		return "", missingPassword()
	}
	return fmt.Sprintf("%p %q %q", p.World, credentials["server"], credentials["clientSecret"]), nil
}

func missingPassword() error {
	return cloud.Errorf(cloud.Denied, infrav1.CredentialsMissingReason, "the Secret has no key %q: add it", "clientSecret")
}

// Connect requires the key password. The key server names one of the servers that the cloud consists of.
func (p Provider) Connect(_ string, credentials map[string][]byte) (cloud.Cloud, error) {
	if len(credentials["clientSecret"]) == 0 {
		return nil, missingPassword()
	}
	return &account{world: p.World, password: string(credentials["clientSecret"]), server: string(credentials["server"])}, nil
}

type account struct {
	world    *World
	password string
	server   string

	// Guarded by the world's lock. What is remembered of a machine is kept by its ID.
	closed  bool
	watches int
	heard   time.Time
	failed  map[cloud.MachineID]error
	asked   map[cloud.MachineID]bool // for a VM, in this process
	deleted map[cloud.MachineID]bool // at our request, in this process
	known   map[string]cloud.Key     // the machines whose VMs were seen, by the cloud's own IDs
}

var (
	_ cloud.Cloud   = (*account)(nil)
	_ cloud.Console = (*account)(nil)
)

// Server gives the first server a name, too.
func (a *account) Server(context.Context, cloud.Key) (string, error) {
	defer a.world.mu.Unlock()
	return a.name(), a.enter("server")
}

func (a *account) Observe(_ context.Context, m cloud.Machine) (cloud.VM, error) {
	defer a.world.mu.Unlock()
	if err := a.enter("observe"); err != nil {
		return cloud.VM{}, err
	}
	if err := a.failure(m); err != nil {
		return cloud.VM{}, err
	}
	if a.isUnderWay(Create, m) {
		return creating(), nil
	}
	switch vm := a.world.vms[a.at(m.Name)]; a.whose(m, vm) {
	case cloud.Ours:
		return a.report(m, vm), nil
	case cloud.Unproved:
		return cloud.VM{}, notProved(m)
	default:
		return cloud.VM{}, cloud.ErrNotFound
	}
}

func (a *account) Ensure(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	w := a.world
	defer w.mu.Unlock()
	if err := a.enter("ensure"); err != nil {
		return cloud.VM{}, err
	}
	if err := a.failure(m); err != nil {
		return cloud.VM{}, err
	}
	if a.isUnderWay(Create, m) {
		return creating(), nil
	}
	vm := w.vms[a.at(m.Name)]
	switch whose := a.whose(m, vm); {
	case whose == cloud.Unproved:
		return cloud.VM{}, notProved(m)
	case whose == cloud.Ours && m.Settled:
		return a.erase(m, vm)
	case m.Settled:
		return cloud.VM{}, cloud.ErrNotFound
	case whose == cloud.Ours:
		vm.On = vm.On || !vm.Ran
		vm.Ran = true
		return a.report(m, vm), nil
	case whose == cloud.Foreign:
		return cloud.VM{}, cloud.Errorf(cloud.Invalid, infrav1.NameTakenReason,
			"there is a VM %q that does not belong to this machine: remove it", m.Name)
	case m.Spec.Azure == nil || m.Spec.Azure.Image.ID != cmp.Or(w.Image, Image):
		return cloud.VM{}, cloud.Errorf(cloud.Invalid, infrav1.TemplateNotFoundReason,
			"the image does not exist: use one that does")
	}
	return a.create(ctx, m)
}

// erase takes the user data away that Ensure gave.
func (a *account) erase(m cloud.Machine, vm *VM) (cloud.VM, error) {
	w := a.world
	if !vm.Given {
		return a.report(m, vm), nil
	}
	w.count("erase")
	if w.keeps != nil {
		return cloud.VM{}, w.keeps
	}
	vm.UserData, vm.Given = nil, false
	w.erasures++
	w.changed(vm)
	return a.report(m, vm), nil
}

func (a *account) create(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	w := a.world
	data, err := m.UserData(ctx)
	if err != nil {
		return cloud.VM{}, err
	}
	w.count("create")
	if err := w.failure(m.Spec.Azure.VMSize); err != nil {
		a.failed[m.ID()] = err
		w.changed(&VM{Owner: m.Key})
		return creating(), nil //nolint:nilerr // because the cloud took the request, which fails later
	}
	a.asked[m.ID()] = true
	w.ask(&request{Create, VM{
		Name: a.at(m.Name), ID: m.ProviderID, Owner: m.Key, ProviderID: m.ProviderID, Cluster: m.Cluster,
		Digest: cloud.DigestOf(m.ProviderID, data), On: true, Ran: true, UserData: slices.Clone(data), Given: true,
	}})
	if w.lose > 0 {
		w.lose--
		return cloud.VM{}, away(errors.New("the connection broke"))
	}
	return creating(), nil
}

// failure is how a request for a VM ends that the cloud does not make.
func (w *World) failure(size string) error {
	switch {
	case len(w.failures) > 0:
		err := w.failures[0]
		w.failures = w.failures[1:]
		return err
	case w.soldOut[size]:
		return cloud.Errorf(cloud.Exhausted, infrav1.CapacityExhaustedReason,
			"the cloud has no capacity for VMs of size %q; it is asked again", size)
	}
	return nil
}

func (a *account) Delete(_ context.Context, m cloud.Machine) (cloud.VM, error) {
	w := a.world
	defer w.mu.Unlock()
	if err := a.enter("delete"); err != nil {
		return cloud.VM{}, err
	}
	if err := a.elsewhere(m); err != nil {
		return cloud.VM{}, err
	}
	delete(a.failed, m.ID())
	if a.isUnderWay(Create, m) || a.isUnderWay(Remove, m) {
		return cloud.VM{}, nil
	}
	switch vm := w.vms[a.at(m.Name)]; a.whose(m, vm) {
	case cloud.Ours:
		w.count("remove")
		w.ask(&request{Remove, *vm})
		record := a.recordOf(vm)
		record.Azure.Deletion, a.deleted[m.ID()] = infrav1.DeletionAccepted, true
		return cloud.VM{Record: record}, nil
	case cloud.Unproved:
		return cloud.VM{}, notProved(m)
	}
	return cloud.VM{Left: a.left(m)}, cloud.ErrNotFound
}

// LastWords is part of cloud.Console.
func (a *account) LastWords(_ context.Context, m cloud.Machine) ([]string, error) {
	defer a.world.mu.Unlock()
	if err := a.enter("console"); err != nil {
		return nil, err
	}
	if vm := a.world.vms[a.at(m.Name)]; a.whose(m, vm) == cloud.Ours {
		return slices.Clone(vm.Console), a.world.silence
	}
	return nil, cloud.ErrNotFound
}

func (a *account) name() string { return cmp.Or(a.server, "first") }

// at is the VM's name in the world: those on the first server have their own, the others' begin with the server's.
func (a *account) at(name string) string { return path.Join(a.server, name) }

// enter locks the world and counts the call. It fails without the right password.
func (a *account) enter(call string) error {
	a.world.mu.Lock()
	w := a.world
	w.count(call)
	switch {
	case a.closed:
		return away(errors.New("the account is closed"))
	case a.server == Nowhere:
		return away(errors.New("no such server"))
	case w.away != nil:
		return w.away
	case a.password != cmp.Or(w.Password, "secret"):
		return cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "the password is wrong: correct it in the Secret")
	}
	if w.sessions == nil {
		w.sessions = map[*account]bool{}
	}
	w.sessions[a], a.heard = true, time.Now()
	if a.failed == nil {
		a.failed, a.known = map[cloud.MachineID]error{}, map[string]cloud.Key{}
		a.asked, a.deleted = map[cloud.MachineID]bool{}, map[cloud.MachineID]bool{}
	}
	return nil
}

func (a *account) failure(m cloud.Machine) error {
	if err := a.elsewhere(m); err != nil {
		return err
	}
	err := a.failed[m.ID()]
	delete(a.failed, m.ID())
	return err
}

func (a *account) elsewhere(m cloud.Machine) error {
	if m.Server == "" || m.Server == a.name() {
		return nil
	}
	return away(errors.New("another server answers"))
}

func (w *World) count(call string) {
	if w.calls == nil {
		w.calls = map[string]int{}
	}
	w.calls[call]++
}

func away(cause error) error {
	return &cloud.Error{
		Kind: cloud.Transient, Reason: infrav1.CloudUnreachableReason, Err: cause,
		Message: "the cloud does not answer; it is asked again",
	}
}

func creating() cloud.VM { return cloud.VM{State: cloud.Creating, Detail: "being made"} }

func (a *account) report(m cloud.Machine, v *VM) cloud.VM {
	a.known[v.Own] = m.Key
	vm := cloud.VM{
		State: cloud.Stopped,
		Addresses: []clusterv1.MachineAddress{
			{Type: clusterv1.MachineHostName, Address: m.Name},
			{Type: clusterv1.MachineInternalDNS, Address: m.Name},
		},
		UserData: v.Given,
		Report:   v.Report,
		Record:   a.recordOf(v),
	}
	if v.On {
		vm.State = cloud.Running
	}
	if v.Address != "" {
		vm.Addresses = append(vm.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: v.Address})
	}
	vm.Addresses = append(vm.Addresses, v.Told...)
	return vm
}
