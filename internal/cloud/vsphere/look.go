package vsphere

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// look finds the VM in the vCenter: by the reference that was kept, then by its id, then by its name. If a machine that has had
// a VM seems to have none, that is proved, or look returns an error. An object that the kept reference names, but that cannot be
// read, is the VM: a vCenter gives a reference once.
func (a *account) look(ctx context.Context, m cloud.Machine, s next.Survey) (seen.Found, error) {
	kept := s.Memory.Object
	f, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (seen.Found, error) {
		found, err := readOwner(ctx, c, m, kept, seen.ByReference)
		if err != nil || found.Whose == cloud.Ours || found.VM != nil && found.Whose == cloud.Unseen {
			return found, err
		}
		f, err := byID(ctx, c, m)
		if err == nil && f.VM == nil {
			f = found
		}
		return f, err
	})
	if err == nil && f.VM == nil {
		f, err = a.byName(ctx, m, s)
		if m.Asked == cloud.Existed || kept.Value != "" {
			err = unproved(err)
		}
	}
	if f.Whose == cloud.Ours {
		a.ledger.note(m, func(w *work) { w.AnswerLost = time.Time{} })
	}
	return f, err
}

func byID(ctx context.Context, c *vim25.Client, m cloud.Machine) (seen.Found, error) {
	vm, err := object.NewSearchIndex(c).FindByUuid(ctx, nil, seen.IDOf(m), true, new(true))
	if err != nil || vm == nil {
		return seen.Found{}, err
	}
	f, err := readOwner(ctx, c, m, vm.Reference(), seen.ByID)
	if f.VM != nil && f.VM.Readable() && f.VM.ID != seen.IDOf(m) { // it has lost the id since it was found
		return seen.Found{}, nil
	}
	return f, err
}

// byName finds the object that has the machine's name in its folder. The vCenter keeps names unique in a folder, so that a
// machine never gets a second VM. It also looks for one that the inventory should have: the account may have regained sight of
// the folder a moment ago, and the watch may lag behind.
func (a *account) byName(ctx context.Context, m cloud.Machine, s next.Survey) (seen.Found, error) {
	folder, err := a.readableFolder(ctx, m, s)
	if err != nil || folder == nil {
		return seen.Found{}, err
	}
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (seen.Found, error) {
		child, err := object.NewSearchIndex(c).FindChild(ctx, *folder, m.Name)
		switch {
		case session.Is[*types.ManagedObjectNotFound](err) || err == nil && child == nil:
			return seen.Found{}, nil
		case err != nil:
			return seen.Found{}, err
		case child.Reference().Type != "VirtualMachine":
			return seen.Found{Whose: cloud.Foreign, VM: &seen.VM{Ref: child.Reference(), Name: m.Name}}, nil
		}
		return readOwner(ctx, c, m, child.Reference(), seen.ByName)
	})
}

// readableFolder proves that the account can read the place where m's VM would be, now, and returns the folder in which to look
// for its name; nil if there is none. A place that was found by its path, or a minute ago, proves nothing: a permission that is
// taken away hides the VM as well. So the folder is read by its reference, which the VM's own properties gave. If they gave none,
// the spec names it; that it is not found proves something only for a machine for which no VM was ever requested, because it may
// be hidden, with the VM in it.
func (a *account) readableFolder(ctx context.Context, m cloud.Machine, s next.Survey) (*types.ManagedObjectReference, error) {
	if s.Memory.Object.Value != "" && s.Memory.Folder != "" {
		return a.folderOfVM(ctx, m, types.ManagedObjectReference{Type: "Folder", Value: s.Memory.Folder})
	}
	for tries := 0; ; tries++ {
		folder, err := a.places.FindFolder(ctx, *m.Spec.VSphere)
		if s.Unasked && isMissing(err) {
			return nil, nil
		}
		if err == nil {
			err = a.canRead(ctx, folder)
		}
		if tries == 0 && session.Is[*types.ManagedObjectNotFound](err) {
			a.places.Forget(*m.Spec.VSphere) // it was found some minutes ago
			continue
		}
		return &folder, err
	}
}

// folderOfVM returns the folder that the VM was in, or nil if it is gone for certain.
func (a *account) folderOfVM(
	ctx context.Context, m cloud.Machine, folder types.ManagedObjectReference,
) (*types.ManagedObjectReference, error) {
	err := a.canRead(ctx, folder)
	if err == nil || !session.Is[*types.ManagedObjectNotFound](err) {
		return &folder, err
	}
	in, err := a.places.FindDatacenter(ctx, *m.Spec.VSphere)
	if err == nil {
		err = a.canRead(ctx, in)
	}
	return nil, err
}

func (a *account) canRead(ctx context.Context, object types.ManagedObjectReference) error {
	_, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (map[string]any, error) {
		return readSeen(ctx, c, object, "name")
	})
	return err
}

// isMissing reports whether a place of the spec was not found.
func isMissing(err error) bool {
	cloudErr, _ := errors.AsType[*cloud.Error](err)
	return cloudErr != nil && cloudErr.Reason == infrav1.PlacementNotFoundReason
}

// unproved returns the reason why it is open whether a VM that existed once is gone. Other credentials or rights may settle it,
// so the error is retriable, which an error of the spec is not.
func unproved(err error) error {
	cloudErr, _ := errors.AsType[*cloud.Error](err)
	if cloudErr == nil || cloudErr.Reason != infrav1.PlacementNotFoundReason {
		return err
	}
	denied := *cloudErr
	denied.Kind = cloud.Denied
	return &denied
}

// readOwner reads a VM and decides which machine it belongs to.
func readOwner(
	ctx context.Context, c *vim25.Client, m cloud.Machine, ref types.ManagedObjectReference, way seen.Way,
) (seen.Found, error) {
	if ref.Value == "" {
		return seen.Found{}, nil
	}
	properties, err := readSeen(ctx, c, ref, slices.Concat(seen.Paths, seen.GuestPaths)...)
	switch {
	case session.Is[*types.ManagedObjectNotFound](err):
		return seen.Found{}, nil
	case err != nil:
		return seen.Found{}, err
	}
	vm := &seen.VM{Ref: ref}
	for path, value := range properties {
		vm.Set(path, value)
	}
	return seen.Found{Whose: vm.Whose(m, way), VM: vm}, nil
}

// readSeen reads one object. If it is gone, the error is ManagedObjectNotFound; if the answer leaves it out, the account may not
// see it.
func readSeen(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference, want ...string) (map[string]any, error) {
	objects, err := session.Read(ctx, c, session.Source{Object: ref}, ref.Type, want...)
	if _, seen := objects[ref]; err == nil && !seen {
		err = soap.WrapVimFault(&types.NoPermission{Object: &ref, PrivilegeId: "System.View"})
	}
	return objects[ref], err
}
