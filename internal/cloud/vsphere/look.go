package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
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

// look finds the VM in the vCenter: by the reference that was kept, then by its id, then by its name. That there is nothing of a
// machine that has had a VM is proved, or an error.
func (a *account) look(ctx context.Context, m cloud.Machine, s survey) (found, error) {
	kept := s.memory.object
	f, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		there, err := readOwner(ctx, c, m, kept, byReference)
		if err != nil || there.what == ours {
			return there, err
		}
		f, err := byID(ctx, c, m)
		if err == nil && f.what == nothing {
			f = there
		}
		return f, err
	})
	switch had := m.Asked == cloud.Existed || kept.Value != ""; {
	case err == nil && f.what == nothing:
		if f, err = a.byName(ctx, m, s); had {
			err = unproved(err)
		}
	case err == nil && f.what == stranger:
		err = otherObject(m, kept)
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
	return readOwner(ctx, c, m, vm.Reference(), byItsID)
}

// byName finds the object that has the machine's name in its folder. The vCenter keeps names unique in a folder, so that a
// machine never gets a second VM. That of a machine whose VM was there once would be in the inventory.
func (a *account) byName(ctx context.Context, m cloud.Machine, s survey) (found, error) {
	folder, err := a.readableFolder(ctx, m, s)
	if err != nil || folder == nil || s.memory.object.Value == "" && m.Asked == cloud.Existed && a.inventory.lacks(m) {
		return found{what: nothing}, err
	}
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		child, err := object.NewSearchIndex(c).FindChild(ctx, *folder, m.Name)
		switch {
		case session.Is[*types.ManagedObjectNotFound](err) || err == nil && child == nil:
			return found{what: nothing}, nil
		case err != nil:
			return found{}, err
		case child.Reference().Type != "VirtualMachine":
			return found{what: stranger}, nil
		}
		return readOwner(ctx, c, m, child.Reference(), byItsName)
	})
}

// way is how an object was found.
type way string

const (
	byReference way = "by the reference that was kept"
	byItsID     way = "by its id"
	byItsName   way = "by its name"
)

// readOwner reads a VM and says whom it belongs to.
func readOwner(
	ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference, how way,
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
	}
	return found{vm.owned(m, how), vm}, nil
}

// owned says whom a VM belongs to. One that has the machine's reference, which the vCenter gives only once, and its id is the
// machine's, whatever a person has done to its marks; and it remains the machine's when the vCenter cannot read it now. One that
// has some of the marks alone gets the others a moment later, or a person has changed them: we must not touch it, and must not
// say that the machine's VM is gone.
func (s *sighting) owned(m cloud.Machine, how way) sight {
	switch same := s.id == idOf(m); {
	case s.belongsTo(m), how == byReference && same, how != byItsName && !s.readable():
		return ours
	case how == byItsID && !same: // it has lost the id since it was found
		return nothing
	case !s.readable(), same, how == byItsName && s.marked(m):
		return unreadable
	}
	return stranger
}

// otherObject is why it is not known that a VM is gone while its reference names an object with another id.
func otherObject(m cloud.Machine, kept types.ManagedObjectReference) error {
	return cloud.Errorf(cloud.Denied, infrav1.NameTakenReason,
		"the object %s, which the status of this machine names, has another instance UUID than the machine's VM, so it is left alone, "+
			"and nothing proves that the VM is gone: if it is the VM, set its instance UUID to %s",
		cloud.Clean(kept.Value, maxReference), idOf(m))
}
