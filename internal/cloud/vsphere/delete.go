package vsphere

import (
	"context"
	"errors"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// lateRequest is how long a request whose answer was lost may take to reach vCenter's list of tasks.
const lateRequest = 30 * time.Second

// Delete switches the VM off, removes it and then makes sure that none will come.
func (a *account) Delete(ctx context.Context, m cloud.Machine) error {
	if m.Spec.VSphere == nil {
		return cloud.ErrNotFound // nothing was ever made of such a spec
	}
	j, err := a.settle(ctx, m)
	switch {
	case j.underWay():
		return nil
	case err != nil && (j == nil || j.act != cloning): // that a clone has failed is all right now
		return err
	case j == nil:
		if s := a.inventory.find(m); s != nil && !s.off() {
			return a.remove(ctx, m, s)
		}
	case j.act == switchingOff && j.err() == nil:
		return a.advance(ctx, m, destroying, j.vm)
	case j.act == destroying && j.err() == nil:
		a.ledger.with(m, func(w *work) { w.vm = types.ManagedObjectReference{} })
	}
	return a.ruleOut(ctx, m)
}

// remove takes the next step for a VM that is there.
func (a *account) remove(ctx context.Context, m cloud.Machine, s *sighting) error {
	if err := reached(s); err != nil {
		return err
	}
	if s.off() {
		return a.advance(ctx, m, destroying, s.ref)
	}
	return a.advance(ctx, m, switchingOff, s.ref)
}

func (a *account) advance(ctx context.Context, m cloud.Machine, next act, vm types.ManagedObjectReference) error {
	_, err := a.start(ctx, m, next, vm)
	if overtaken(next, err) {
		return nil
	}
	return err
}

// ruleOut makes sure that there is no VM and that none can appear. The order matters: a clone that ends between the two
// looks is seen by the second.
func (a *account) ruleOut(ctx context.Context, m cloud.Machine) error {
	a.ledger.with(m, func(w *work) {
		if !w.deleting {
			w.deleting, w.may = true, suspects{}
		}
	})
	busy, err := a.clonesOf(ctx, m)
	if err != nil {
		return err
	}
	found, err := a.ask(ctx, m)
	if err != nil {
		return err
	}
	if found.vm != nil && found.vm.off() && busy {
		return nil // it may still be in the making, and then vCenter does not let go of it
	}
	if found.vm != nil {
		return a.remove(ctx, m, found.vm)
	}
	late := false
	a.ledger.with(m, func(w *work) { late = !w.lost.IsZero() && a.now().Before(w.lost.Add(lateRequest)) })
	if busy || late || found.unreadable {
		return nil
	}
	a.ledger.forget(m)
	return cloud.ErrNotFound
}

// absent says that a place of the spec is not there, so that nothing of ours is in it.
func absent(err error) bool {
	known := (*cloud.Error)(nil)
	return errors.As(err, &known) && known.Reason == infrav1.PlacementNotFoundReason
}
