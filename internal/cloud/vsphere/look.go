package vsphere

import (
	"context"
	"errors"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// found is what there is of a machine, and the VM that was read for it.
type found struct {
	what sight
	vm   *sighting
}

// sight says whom the object with the machine's id or name belongs to.
type sight string

const (
	unseen     sight = ""           // we have not looked yet
	nothing    sight = "nothing"    // there is no such object
	ours       sight = "ours"       // it is the machine's VM
	unreadable sight = "unreadable" // it may be the machine's VM: the vCenter does not say, or not yet
	stranger   sight = "stranger"   // it does not belong to the machine
)

// look finds the VM in the vCenter: by the reference of the object that it was last time, then by its id, then by its name.
func (a *account) look(ctx context.Context, m cloud.Machine, last types.ManagedObjectReference) (found, error) {
	f, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		f, err := byReference(ctx, c, m, last)
		if err == nil && f.what == nothing {
			f, err = byID(ctx, c, m)
		}
		return f, err
	})
	if err == nil && f.what == nothing {
		f, err = a.byName(ctx, m)
	}
	if f.what == ours {
		a.ledger.note(m, func(w *work) { w.answerLost = time.Time{} })
	}
	return f, err
}

// byReference reads an object that has been m's VM, or has its id. It is m's VM even if the vCenter cannot read it now.
func byReference(ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference) (found, error) {
	if ref.Value == "" {
		return found{what: nothing}, nil
	}
	f, err := readOwner(ctx, c, m, ref)
	switch {
	case f.vm != nil && !f.vm.readable():
		f.what = ours
	case f.what == stranger:
		f.what = nothing
	}
	return f, err
}

func byID(ctx context.Context, c *vim25.Client, m cloud.Machine) (found, error) {
	answer, err := methods.FindByUuid(ctx, c, &types.FindByUuid{
		This: *c.ServiceContent.SearchIndex, Uuid: idOf(m), VmSearch: true, InstanceUuid: new(true),
	})
	if err != nil || answer.Returnval == nil {
		return found{what: nothing}, err
	}
	return byReference(ctx, c, m, *answer.Returnval)
}

// byName finds the object that has the machine's name in its folder. The vCenter keeps names unique in a folder, so that a
// machine never gets a second VM. If the folder does not exist, a machine that never had a VM has none.
func (a *account) byName(ctx context.Context, m cloud.Machine) (found, error) {
	folder, err := a.places.FindFolder(ctx, *m.Spec.VSphere)
	if known := (*cloud.Error)(nil); !m.Existed && errors.As(err, &known) && known.Reason == infrav1.PlacementNotFoundReason {
		return found{what: nothing}, nil
	}
	if err != nil {
		return found{}, err
	}
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		answer, err := methods.FindChild(ctx, c, &types.FindChild{This: *c.ServiceContent.SearchIndex, Entity: folder, Name: m.Name})
		switch {
		case session.Is[*types.ManagedObjectNotFound](err) || err == nil && answer.Returnval == nil:
			return found{what: nothing}, nil
		case err != nil:
			return found{}, err
		case answer.Returnval.Type != "VirtualMachine":
			return found{what: stranger}, nil
		}
		return readOwner(ctx, c, m, *answer.Returnval)
	})
}

// readOwner reads a VM and says whom it belongs to. A VM with the machine's id but without its marks gets the marks a moment
// later, or a person has removed them: we must not touch it, and must not say that the machine's VM is gone.
func readOwner(ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference) (found, error) {
	vm, err := readVM(ctx, c, ref)
	switch {
	case session.Is[*types.ManagedObjectNotFound](err):
		return found{what: nothing}, nil
	case err != nil:
		return found{}, err
	case vm.readable() && vm.belongsTo(m):
		return found{ours, vm}, nil
	case !vm.readable() || vm.id == idOf(m):
		return found{unreadable, vm}, nil
	}
	return found{stranger, vm}, nil
}
