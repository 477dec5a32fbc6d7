package vsphere

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// account is a user of a vCenter.
type account struct {
	connection connection
	placements placements
	inventory  inventory
	ledger     ledger
	view       atomic.Pointer[taskView] // of the watch that runs, if one does
	watching   atomic.Bool
	now        func() time.Time
}

var _ cloud.Cloud = (*account)(nil)

func newAccount(to endpoint) *account {
	return &account{
		connection: connection{to: to, now: time.Now},
		placements: placements{now: time.Now},
		now:        time.Now,
	}
}

// Observe looks for the VM and at what is being done to it.
func (a *account) Observe(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	if err := check(m); err != nil {
		return cloud.VM{}, err
	}
	j, err := a.settle(ctx, m)
	if err != nil || j.underWay() {
		return j.report(), err
	}
	found, err := a.look(ctx, m, j)
	switch {
	case err != nil:
		return cloud.VM{}, err
	case found.vm != nil:
		return a.describe(ctx, m, found.vm)
	case found.unreadable:
		return creating("the vCenter does not yet say whose the VM of this name is"), nil
	}
	return cloud.VM{}, cloud.ErrNotFound
}

// Ensure clones the template, unless there is a VM already or there may be one soon.
func (a *account) Ensure(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	if err := check(m); err != nil {
		return cloud.VM{}, err
	}
	j, err := a.settle(ctx, m)
	if err != nil || j.underWay() {
		return j.report(), err
	}
	found, err := a.look(ctx, m, j)
	switch {
	case err != nil:
		return cloud.VM{}, err
	case found.vm != nil:
		return a.finish(ctx, m, found.vm)
	case found.unreadable:
		return creating("the vCenter does not yet say whose the VM of this name is"), nil
	}
	busy, err := a.earlierClones(ctx, m)
	if err != nil {
		return cloud.VM{}, err
	}
	if busy {
		return creating("waiting for clones that were begun earlier"), nil
	}
	if found.stranger {
		return cloud.VM{}, a.nameTaken(ctx, m)
	}
	var failed error
	a.ledger.with(m, func(w *work) {
		if a.now().Before(w.again) {
			failed = w.failed
		}
	})
	if failed != nil {
		return cloud.VM{}, failed
	}
	return a.clone(ctx, m)
}

// finish switches a VM on that never was: its clone succeeded and the switching on did not. One that ran and was stopped
// by somebody is left as it is.
func (a *account) finish(ctx context.Context, m cloud.Machine, s *sighting) (cloud.VM, error) {
	vm, err := a.describe(ctx, m, s)
	if err != nil || vm.State != cloud.Creating {
		return vm, err
	}
	if busy, err := a.clonesOf(ctx, m); err != nil || busy {
		return vm, err // the clone will switch it on
	}
	if err := reached(s); err != nil {
		return cloud.VM{}, err
	}
	j, err := a.start(ctx, m, switchingOn, s.ref)
	return j.report(), err
}

// describe says what state the VM is in. Only of one that does not run vCenter's events must be asked, once, whether it
// ever did: all else that tells of the past is cleared when a VM is switched off.
func (a *account) describe(ctx context.Context, m cloud.Machine, s *sighting) (cloud.VM, error) {
	if !s.readable() {
		return cloud.VM{}, reached(s)
	}
	ran := s.power != "" && !s.off()
	a.ledger.with(m, func(w *work) {
		w.vm, w.ran = s.ref, w.ran || ran
		ran = w.ran
	})
	if !ran {
		var err error
		if ran, err = a.everRan(ctx, s.ref); err != nil {
			return cloud.VM{}, err
		}
		a.ledger.with(m, func(w *work) { w.ran = ran })
	}
	return describe(m, s, ran), nil
}

// nameTaken says so, after another look: a VM gets its marks a moment after its name.
func (a *account) nameTaken(ctx context.Context, m cloud.Machine) error {
	found, err := a.ask(ctx, m)
	if err != nil {
		return err
	}
	if !found.stranger {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the VM of this name has changed; it is looked at again")
	}
	return cloud.Errorf(cloud.Invalid, infrav1.NameTakenReason,
		"the folder has a VM or folder named %q that is not this machine's and is left alone: rename or remove it, or delete the Machine "+
			"so that another one with another name takes its place", m.Name)
}

// clone asks for the VM: one request that says everything.
func (a *account) clone(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	at, err := a.placements.of(ctx, &a.connection, *m.Spec.VSphere)
	if err != nil {
		return cloud.VM{}, err
	}
	spec, err := cloneSpec(m, at)
	if err != nil {
		return cloud.VM{}, err
	}
	j, err := a.startClone(ctx, m, &types.CloneVM_Task{This: at.template, Folder: at.folder, Name: m.Name, Spec: spec})
	if is[*types.ManagedObjectNotFound](err) {
		a.placements.forget(*m.Spec.VSphere)
	}
	return j.report(), err
}

// check refuses what the API server should have.
func check(m cloud.Machine) error {
	if m.Spec.VSphere == nil {
		return cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason, "spec.vsphere is missing: write where and how to make the VM")
	}
	return nil
}

// reached refuses to act on a VM that vCenter itself does not reach.
func reached(s *sighting) error {
	if s.readable() && s.connection == types.VirtualMachineConnectionStateConnected {
		return nil
	}
	return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter knows the VM but does not reach it (%s): bring its host or datastore back", s.connection)
}

func creating(detail string) cloud.VM { return cloud.VM{State: cloud.Creating, Detail: detail} }

func (j *job) underWay() bool { return j != nil && !j.ended() }

// report says what the job does, for people.
func (j *job) report() cloud.VM {
	if j == nil {
		return cloud.VM{}
	}
	return creating(string(j.act))
}
