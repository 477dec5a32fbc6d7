package vsphere

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// found is the VM that was read for a machine, and whose it is. Without one there is none, as far as the account sees.
type found struct {
	whose cloud.Whose
	vm    *sighting
}

// look finds the VM in the vCenter: by the reference that was kept, then by its id, then by its name. That there is nothing of a
// machine that has had a VM is proved, or an error. What the kept reference names, and cannot be read, is the VM: a vCenter gives
// a reference once.
func (a *account) look(ctx context.Context, m cloud.Machine, s survey) (found, error) {
	kept := s.memory.object
	f, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		there, err := readOwner(ctx, c, m, kept, byReference)
		if err != nil || there.whose == cloud.Ours || there.vm != nil && there.whose == cloud.Unseen {
			return there, err
		}
		f, err := byID(ctx, c, m)
		if err == nil && f.vm == nil {
			f = there
		}
		return f, err
	})
	if err == nil && f.vm == nil {
		f, err = a.byName(ctx, m, s)
		if m.Asked == cloud.Existed || kept.Value != "" {
			err = unproved(err)
		}
	}
	if f.whose == cloud.Ours {
		a.ledger.note(m, func(w *work) { w.answerLost = time.Time{} })
	}
	return f, err
}

func byID(ctx context.Context, c *vim25.Client, m cloud.Machine) (found, error) {
	vm, err := object.NewSearchIndex(c).FindByUuid(ctx, nil, idOf(m), true, new(true))
	if err != nil || vm == nil {
		return found{}, err
	}
	f, err := readOwner(ctx, c, m, vm.Reference(), byItsID)
	if f.vm != nil && f.vm.readable() && f.vm.id != idOf(m) { // it has lost the id since it was found
		return found{}, nil
	}
	return f, err
}

// byName finds the object that has the machine's name in its folder. The vCenter keeps names unique in a folder, so that a
// machine never gets a second VM. It asks also for one that would be in the inventory: the account may see the folder again since
// a moment, and the inventory may have yet to tell of it.
func (a *account) byName(ctx context.Context, m cloud.Machine, s survey) (found, error) {
	folder, err := a.readableFolder(ctx, m, s)
	if err != nil || folder == nil {
		return found{}, err
	}
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (found, error) {
		child, err := object.NewSearchIndex(c).FindChild(ctx, *folder, m.Name)
		switch {
		case session.Is[*types.ManagedObjectNotFound](err) || err == nil && child == nil:
			return found{}, nil
		case err != nil:
			return found{}, err
		case child.Reference().Type != "VirtualMachine":
			return found{cloud.Foreign, &sighting{ref: child.Reference(), name: m.Name}}, nil
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
		return found{}, nil
	}
	vm, err := readVM(ctx, c, ref)
	switch {
	case session.Is[*types.ManagedObjectNotFound](err):
		return found{}, nil
	case err != nil:
		return found{}, err
	}
	return found{vm.whose(m, how), vm}, nil
}

// whose says whose a VM is. What has the machine's reference, which the vCenter gives only once, and its id is the machine's,
// whatever a person has done to its marks. All marks need a proof that they were written for this machine. A VM that has only
// some of these, and that no other machine has, may be the machine's: we must not touch it, and must not say that it is gone.
func (s *sighting) whose(m cloud.Machine, how way) cloud.Whose {
	same := s.id == idOf(m)
	switch {
	case !s.readable():
		return cloud.Unseen
	case how == byReference && same, s.belongsTo(m) && m.Proves(cloud.ReadClusterMark(s.cluster), s.digest):
		return cloud.Ours
	case same:
		return cloud.Unproved
	case s.unlike(m), how != byReference && s.blank():
		return cloud.Foreign
	}
	return cloud.Unproved
}

// notProved is why a VM that may be the machine's is left alone, and what helps. The name of a VM that has only the machine's id
// or reference is not shown, because the VM may be another tenant's.
func notProved(m cloud.Machine, vm *sighting) error {
	which := fmt.Sprintf("the VM %q (%s)", cloud.Clean(vm.name, maxName), cloud.Clean(vm.ref.Value, maxReference))
	switch {
	case vm.id == idOf(m):
		which = "the VM with the instance UUID " + vm.id
	case vm.blank():
		which = "the VM " + cloud.Clean(vm.ref.Value, maxReference) + ", which the status of this machine names,"
	}
	return cloud.Errorf(cloud.Denied, infrav1.VMNotProvedReason,
		"%s may be this machine's, but it %s, so it is left alone: %s", which, vm.lack(m), vm.remedy(m))
}

// lack is what of a proof a VM lacks, which may be the machine's.
func (s *sighting) lack(m cloud.Machine) string {
	switch maker := s.maker(); {
	case s.belongsTo(m) && maker != "" && maker != string(m.Cluster.Manager):
		return "was made by another management cluster, with the UID " + maker
	case s.belongsTo(m):
		return "was made for another object, or with other user data than those in the machine's bootstrap Secret"
	case s.id == idOf(m) && s.unlike(m):
		return "has the marks of another machine"
	case s.id == idOf(m):
		return "does not have all of its marks"
	case s.marked(m):
		return fmt.Sprintf("has the instance UUID %s and not %s", cloud.Clean(s.id, maxMark), idOf(m))
	case s.blank():
		return "has another instance UUID, and no marks"
	}
	return fmt.Sprintf("has the instance UUID %s and not %s, and does not have all of its marks",
		cloud.Clean(s.id, maxMark), idOf(m))
}

// remedy is what a person can do about that. Nobody is asked to give the machine's id to a VM that has no mark: if the VM is
// another's, it would be deleted with the machine.
func (s *sighting) remedy(m cloud.Machine) string {
	marks := fmt.Sprintf("%s=%s and %s=%s in its advanced configuration", markOwner, m.Key, markProviderID, m.ProviderID)
	switch maker := s.maker(); {
	case s.belongsTo(m) && maker != "" && maker != string(m.Cluster.Manager):
		return "restore the machine's bootstrap Secret, or let the operator start the manager with --took-over-from=" + maker
	case s.belongsTo(m):
		return "restore the bootstrap Secret that the VM was made with, or delete the VM"
	case s.id == idOf(m):
		return "if it is this machine's, set " + marks
	case s.marked(m):
		return "if it is this machine's, as after a restore from a backup, set its instance UUID to " + idOf(m)
	case s.blank():
		return "look for a VM with the instance UUID " + idOf(m) + ", and ask who manages the vCenter whose VM this one is"
	}
	return "if it is this machine's, set its instance UUID to " + idOf(m) + ", and " + marks
}

// maker is the UID of the management cluster that made the VM, as its mark says.
func (s *sighting) maker() string {
	return cloud.Clean(string(cloud.ReadClusterMark(s.cluster).Manager), maxUID)
}

// maxUID is longer than a UID of Kubernetes.
const maxUID = 64

// usedAgain is why it is not known that a VM is gone while its reference names the VM of another machine.
func usedAgain(m cloud.Machine, vm *sighting) error {
	return cloud.Errorf(cloud.Denied, infrav1.VMNotProvedReason,
		"the object %s, which the status of this machine names, is another machine's VM now, as after a restore of the vCenter, so it "+
			"is left alone, and nothing proves that this machine's VM is gone: look for a VM with the instance UUID %s",
		cloud.Clean(vm.ref.Value, maxReference), idOf(m))
}
