package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

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
		f, err := readOwner(ctx, c, m, last, true)
		if f.what == nothing {
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

func byID(ctx context.Context, c *vim25.Client, m cloud.Machine) (found, error) {
	vm, err := object.NewSearchIndex(c).FindByUuid(ctx, nil, idOf(m), true, new(true))
	if err != nil || vm == nil {
		return found{what: nothing}, err
	}
	return readOwner(ctx, c, m, vm.Reference(), true)
}

// byName finds the object that has the machine's name in its folder. The vCenter keeps names unique in a folder, so that a
// machine never gets a second VM. If the folder does not exist, a machine that never had a VM has none.
func (a *account) byName(ctx context.Context, m cloud.Machine) (found, error) {
	if m.Existed && a.inventory.lacks(m) {
		return found{what: nothing}, a.nowhere(ctx, m)
	}
	folder, err := a.places.FindFolder(ctx, *m.Spec.VSphere)
	if !m.Existed && isMissing(err) {
		return found{what: nothing}, nil
	}
	if err != nil {
		return found{}, err
	}
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		child, err := object.NewSearchIndex(c).FindChild(ctx, folder, m.Name)
		switch {
		case session.Is[*types.ManagedObjectNotFound](err) || err == nil && child == nil:
			return found{what: nothing}, nil
		case err != nil:
			return found{}, err
		case child.Reference().Type != "VirtualMachine":
			return found{what: stranger}, nil
		}
		return readOwner(ctx, c, m, child.Reference(), false)
	})
}

// readOwner reads a VM and says whom it belongs to. A VM that was m's, or has its id, remains m's when the vCenter cannot read
// it now. If it has the id but not the marks, it gets them a moment later, or a person has removed them: we must not touch it,
// and must not say that the machine's VM is gone.
func readOwner(
	ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference, known bool,
) (found, error) {
	if ref.Value == "" {
		return found{what: nothing}, nil
	}
	vm, err := readVM(ctx, c, ref)
	switch {
	case session.Is[*types.ManagedObjectNotFound](err):
		return found{what: nothing}, nil
	case err != nil:
		return found{}, err
	case vm.readable() && vm.belongsTo(m), known && !vm.readable():
		return found{ours, vm}, nil
	case !vm.readable() || vm.id == idOf(m):
		return found{unreadable, vm}, nil
	case known: // the object is another machine's VM by now
		return found{what: nothing}, nil
	}
	return found{stranger, vm}, nil
}
