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
)

// found is what there is of a machine, and the VM that was read for it.
type found struct {
	what sight
	vm   *sighting
}

// sight is whose that is which has the machine's id or name.
type sight string

const (
	unseen     sight = ""           // nobody has looked
	nothing    sight = "nothing"    // there is no such VM
	ours       sight = "ours"       // the machine's VM
	unreadable sight = "unreadable" // a VM that may be the machine's: the vCenter cannot say yet, or no longer
	stranger   sight = "stranger"   // something else
)

// look finds the VM in the vCenter: as the object that it was when last seen, by its id and by its name.
func (a *account) look(ctx context.Context, m cloud.Machine, last types.ManagedObjectReference) (found, error) {
	var f found
	err := a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) (err error) {
		if f, err = byReference(ctx, c, m, last); err == nil && f.what == nothing {
			f, err = byID(ctx, c, m)
		}
		return err
	})
	if err == nil && f.what == nothing {
		f, err = a.byName(ctx, m)
	}
	if f.what == ours {
		a.ledger.note(m, func(w *work) { w.answerLost = time.Time{} })
	}
	return f, err
}

// byReference reads the object that was m's VM before. It still is when the vCenter has lost sight of its configuration.
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

// byName finds what has the machine's name in its folder. The vCenter keeps names unique there, which is why a machine never
// gets a second VM. A machine that never had a VM has none in a place that does not exist.
func (a *account) byName(ctx context.Context, m cloud.Machine) (found, error) {
	folder, err := a.placements.folder(ctx, &a.connection, *m.Spec.VSphere)
	if known := (*cloud.Error)(nil); !m.Existed && errors.As(err, &known) && known.Reason == infrav1.PlacementNotFoundReason {
		return found{what: nothing}, nil
	}
	if err != nil {
		return found{}, err
	}
	f := found{what: nothing}
	err = a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) error {
		answer, err := methods.FindChild(ctx, c, &types.FindChild{This: *c.ServiceContent.SearchIndex, Entity: folder, Name: m.Name})
		switch {
		case is[*types.ManagedObjectNotFound](err) || err == nil && answer.Returnval == nil:
			return nil
		case err == nil && answer.Returnval.Type != "VirtualMachine":
			f.what = stranger
		case err == nil:
			f, err = readOwner(ctx, c, m, *answer.Returnval)
		}
		return err
	})
	return f, err
}

// readOwner reads a VM and says whose it is. One with the machine's id and without its marks is being made and gets them a
// moment later, or somebody has removed them: it is not for us to touch, and the machine's VM is not gone either.
func readOwner(ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference) (found, error) {
	vm, err := readVM(ctx, c, ref)
	switch {
	case is[*types.ManagedObjectNotFound](err):
		return found{what: nothing}, nil
	case err != nil:
		return found{}, err
	case !vm.readable():
		return found{unreadable, vm}, nil
	case vm.belongsTo(m):
		return found{ours, vm}, nil
	case vm.id == idOf(m):
		return found{unreadable, vm}, nil
	}
	return found{stranger, vm}, nil
}
