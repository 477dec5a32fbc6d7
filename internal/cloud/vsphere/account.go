package vsphere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inventory"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// account is a user of a vCenter.
type account struct {
	session   *session.Session
	places    *places.Places
	inventory inventory.Inventory
	ledger    ledger
	clones    *clones.Clones
	view      atomic.Pointer[taskView] // of the running watch; nil without one
	watching  atomic.Bool
	waiting   waiting
	folders   folders
	left      []*watcher // of the watch: those that could not be removed, as the vCenter did not answer
	now       func() time.Time
	opened    time.Time               // requests of a process before us, or of an account before this one, were sent until then
	gathered  func() <-chan time.Time // fires when what came since the call is to be listed
}

var _ cloud.Cloud = (*account)(nil)

// Observe reports the VM and what is being done to it.
func (a *account) Observe(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	return a.inTurn(ctx, m, next.Report)
}

// Ensure clones the template, unless the VM exists or may appear soon. It takes the user data of a settled machine away.
func (a *account) Ensure(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	if m.Settled {
		return a.inTurn(ctx, m, next.Erased)
	}
	return a.inTurn(ctx, m, next.Running)
}

// Delete switches the VM off, destroys it, and then makes sure that none can appear.
func (a *account) Delete(ctx context.Context, m cloud.Machine) (cloud.VM, error) {
	if left, ok := a.ledger.struck(m, a.now()); ok && a.inventory.Lacks(m) {
		return cloud.VM{Left: left}, cloud.ErrNotFound
	}
	if a.ledger.abandon(m) {
		a.clones.Forget(m)
	}
	vm, err := a.inTurn(ctx, m, next.Gone)
	if errors.Is(err, cloud.ErrNotFound) {
		vm.Left = leftOf(m, a.ledger.recall(m))
		a.ledger.strike(m, vm.Left, a.now())
		a.clones.Forget(m)
	}
	switch next.Act(vm.Detail) {
	case next.SwitchOff, next.Destroy: // takes a moment; reporting it would cost a write for each machine
		vm.Detail = ""
	case next.Clone:
		vm.Detail = "the vCenter is still cloning it"
	}
	return vm, err
}

// Server returns the vCenter's instance UUID, which is the same under all its names and stays when its certificate changes.
func (a *account) Server(ctx context.Context, asker cloud.Key) (string, error) {
	server, err := a.session.Server(ctx)
	return server, a.waiting.note(asker, err)
}

// Health is that of the session and the watch.
func (a *account) Health() cloud.Health {
	h := a.session.Health()
	h.Synced = a.inventory.IsSynced()
	return h
}

// Marked returns the VMs with our marks that the watch has seen.
func (a *account) Marked() ([]cloud.Marked, bool) { return a.inventory.Marked() }

// Close ends the session for good, and gives back the room that was taken.
func (a *account) Close(ctx context.Context) error {
	a.inventory.Begin()
	a.clones.Close()
	return a.session.Close(ctx)
}

// inTurn pursues a goal from memory, or in one of the places that callers share. Early callers are queued and woken when it is
// time.
func (a *account) inTurn(ctx context.Context, m cloud.Machine, want next.Goal) (cloud.VM, error) {
	a.folders.note(m.Spec.VSphere)
	if err := a.waiting.await(m, a.now()); err != nil {
		return cloud.VM{}, err
	}
	if err := a.session.Verify(m.Server); err != nil {
		return cloud.VM{}, err
	}
	ctx, leave := a.session.Visit(ctx)
	defer leave()
	vm, err := a.pursue(ctx, m, want)
	if err != nil {
		return vm, a.waiting.note(m.Key, err)
	}
	return vm, nil
}

// pursue gathers the facts and decides. If the step is a question, it asks the vCenter and decides again; otherwise it starts at
// most one task and returns. A reference that another vCenter has given to the machine's VM does not count here.
func (a *account) pursue(ctx context.Context, m cloud.Machine, want next.Goal) (vm cloud.VM, err error) {
	named := logr.NewContext(ctx, logr.FromContextOrDiscard(ctx).WithValues("providerID", m.ProviderID))
	defer func() { err = a.session.Explain(named, fmt.Sprint(m.ID()), vm.State == cloud.Running, err) }()
	server, err := a.session.Server(ctx)
	if err == nil {
		err = a.session.Verify(m.Server) // because the first login may have found another vCenter
	}
	if err != nil {
		return cloud.VM{}, err
	}
	m.Record = m.Record.GivenBy(server)
	defer func() {
		if err == nil {
			vm.Record = a.ledger.recall(m).record(server, m.Record.VSphere)
		}
	}()
	s, err := a.gather(ctx, m)
	for err == nil {
		switch step := next.Decide(m, s, want); {
		case step.Act.Asks():
			if err = a.findOut(ctx, m, step.Act, &s); want == next.Gone {
				err = withWayOut(err)
			}
		case step.Act != "":
			if err = a.start(ctx, m, step.Act, step.Target); !errors.Is(err, errOvertaken) {
				return step.VM, err
			}
			if s, err = a.gather(ctx, m); step.Act != next.Clone {
				return step.VM, err
			}
		default:
			return step.VM, step.Err
		}
	}
	return cloud.VM{}, err
}

// withWayOut adds the way out to the error of a deletion that cannot end.
func withWayOut(err error) error {
	err = unproved(err)
	cloudErr, _ := errors.AsType[*cloud.Error](err)
	stuck := []string{infrav1.PlacementNotFoundReason, infrav1.NameTakenReason, infrav1.VMNotProvedReason}
	if cloudErr == nil || !slices.Contains(stuck, cloudErr.Reason) && !session.Hidden(err) {
		return err
	}
	return next.WayOut(cloudErr)
}
