package vsphere

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// found is what there is of a machine.
type found struct {
	// vm is the machine's.
	vm *sighting
	// unreadable: something has its name, and vCenter cannot say whose it is.
	unreadable bool
	// stranger: something has its name, and it is not the machine's.
	stranger bool
}

// look finds the VM in the inventory or asks for it. It asks as well after a job has just ended, because the inventory may
// not have got the change yet.
func (a *account) look(ctx context.Context, m cloud.Machine, ended *job) (found, error) {
	if ended == nil {
		if s := a.inventory.find(m); s != nil {
			return found{vm: s}, nil
		}
	}
	return a.ask(ctx, m)
}

// ask finds the VM in the vCenter: as the object that it was when last seen, by its id and by its name.
func (a *account) ask(ctx context.Context, m cloud.Machine) (found, error) {
	var f found
	var last types.ManagedObjectReference
	a.ledger.with(m, func(w *work) { last = w.vm })
	err := a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) error {
		var err error
		if f.vm, err = seen(ctx, c, m, last); err == nil && f.vm == nil {
			f.vm, err = byID(ctx, c, m)
		}
		return err
	})
	if errors.Is(err, errUnmarked) {
		return found{unreadable: true}, nil
	}
	if err != nil || f.vm != nil {
		a.remember(m, f.vm)
		return f, err
	}
	folder, err := a.placements.folder(ctx, &a.connection, *m.Spec.VSphere)
	if absent(err) && !m.Existed {
		return found{}, nil
	}
	if err != nil {
		return found{}, err
	}
	err = a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) error {
		f, err = byName(ctx, c, m, folder)
		return err
	})
	a.remember(m, f.vm)
	return f, err
}

// remember notes which object m's VM is: it will be looked for even when vCenter no longer tells its id.
func (a *account) remember(m cloud.Machine, s *sighting) {
	if s != nil {
		a.ledger.with(m, func(w *work) { w.vm, w.lost = s.ref, zeroTime })
	}
}

// seen reads the object that was m's VM before. It still is when vCenter has lost sight of its configuration.
func seen(ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference) (*sighting, error) {
	if ref.Value == "" {
		return nil, nil
	}
	s, err := readVM(ctx, c, ref)
	if is[*types.ManagedObjectNotFound](err) {
		return nil, nil
	}
	switch {
	case err != nil:
		return nil, err
	case !s.readable() || s.belongsTo(m):
		return s, nil
	case s.id == idOf(m):
		return nil, errUnmarked
	}
	return nil, nil
}

// errUnmarked is a VM that has the machine's id and not its marks: one in the making, which gets them a moment later, or
// one whose marks somebody has removed. It is neither the machine's to touch, nor is the machine's gone.
var errUnmarked = errors.New("a VM has the machine's id, not its marks")

func byID(ctx context.Context, c *vim25.Client, m cloud.Machine) (*sighting, error) {
	answer, err := methods.FindByUuid(ctx, c, &types.FindByUuid{
		This: *c.ServiceContent.SearchIndex, Uuid: idOf(m), VmSearch: true, InstanceUuid: new(true),
	})
	if err != nil || answer.Returnval == nil {
		return nil, err
	}
	return seen(ctx, c, m, *answer.Returnval)
}

// byName finds what has the machine's name in its folder. vCenter keeps names unique there, which is why there is never a
// second VM of a machine.
func byName(ctx context.Context, c *vim25.Client, m cloud.Machine, folder types.ManagedObjectReference) (found, error) {
	answer, err := methods.FindChild(ctx, c, &types.FindChild{This: *c.ServiceContent.SearchIndex, Entity: folder, Name: m.Name})
	if is[*types.ManagedObjectNotFound](err) || err == nil && answer.Returnval == nil {
		return found{}, nil
	}
	if err != nil {
		return found{}, err
	}
	if answer.Returnval.Type != "VirtualMachine" {
		return found{stranger: true}, nil
	}
	s, err := readVM(ctx, c, *answer.Returnval)
	switch {
	case is[*types.ManagedObjectNotFound](err):
		return found{}, nil
	case err != nil:
		return found{}, err
	case !s.readable():
		return found{unreadable: true}, nil
	case s.belongsTo(m):
		return found{vm: s}, nil
	case s.id == idOf(m):
		return found{unreadable: true}, nil
	}
	return found{stranger: true}, nil
}
