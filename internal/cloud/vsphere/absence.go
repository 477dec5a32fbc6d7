package vsphere

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// lacks reports whether the inventory is up to date, holds all VMs, and has none that could be m's: with its marks, its id or
// its name. A VM that was made a moment ago may be missing from it. Before a clone that is enough, because names are unique in a
// folder: a second clone fails. Before a machine is let go it is one half of the proof.
func (i *inventory) lacks(m cloud.Machine) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced && !i.missing.elsewhere && i.missing.vms == 0 && !i.mayHave(m)
}

// readableFolder proves that the account can read the place where m's VM would be, now, and returns the folder in which to look
// for its name; nil if there is none. A place that was found by its path, or a minute ago, proves nothing: a permission that is
// taken away hides the VM as well. So the folder is read by its reference, which the VM's own properties gave.
func (a *account) readableFolder(ctx context.Context, m cloud.Machine, s next.Survey) (*types.ManagedObjectReference, error) {
	folder := types.ManagedObjectReference{Type: "Folder", Value: s.Memory.Folder}
	if s.Memory.Object.Value == "" || folder.Value == "" {
		return a.folderByPath(ctx, m, s)
	}
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

// folderByPath finds the folder that the spec names. A folder that is not found may be hidden, with the VM in it: its absence
// proves something only for a machine for which no VM was ever requested.
func (a *account) folderByPath(ctx context.Context, m cloud.Machine, s next.Survey) (*types.ManagedObjectReference, error) {
	for tries := 0; ; tries++ {
		folder, err := a.places.FindFolder(ctx, *m.Spec.VSphere)
		if isMissing(err) && s.Unasked {
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

// hidden reports whether the account may not read something.
func hidden(err error) bool {
	return session.Is[types.BaseNoPermission](err) && !session.Is[*types.NotAuthenticated](err)
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

// withWayOut adds the way out to the error of a deletion that cannot end.
func withWayOut(err error) error {
	err = unproved(err)
	cloudErr, _ := errors.AsType[*cloud.Error](err)
	stuck := []string{infrav1.PlacementNotFoundReason, infrav1.NameTakenReason, infrav1.VMNotProvedReason}
	if cloudErr == nil || !slices.Contains(stuck, cloudErr.Reason) && !hidden(err) {
		return err
	}
	return next.WayOut(cloudErr)
}

// keepGone is how long a machine without a VM stays in goneLately. Its object is read again until it is gone, too.
const keepGone = time.Minute

// goneLately holds, for machines without a VM, when the entry expires and what to look for by hand.
type goneLately map[cloud.MachineID]struct {
	expiry time.Time
	left   string
}

func (g *goneLately) note(m cloud.Machine, left string, now time.Time) {
	if *g == nil {
		*g = goneLately{}
	}
	for id, entry := range *g {
		if !now.Before(entry.expiry) {
			delete(*g, id)
		}
	}
	entry := (*g)[m.ID()]
	entry.expiry, entry.left = now.Add(keepGone), left
	(*g)[m.ID()] = entry
}

// The ledger keeps this many machines; above this number, entries older than a day are dropped. A machine whose finalizer a
// person has removed is never asked for again, and the next object of its name has another UID.
const (
	manyMachines = 20000
	keptFor      = 24 * time.Hour
)

// use notes that a machine is in use, and takes over what an earlier process has recorded of it.
func (l *ledger) use(m cloud.Machine, now time.Time) {
	isNew := false
	l.note(m, func(w *work) {
		isNew, w.used = w.used.IsZero(), now
		w.believe(m.Record.VSphere)
	})
	if isNew {
		l.prune(now)
	}
}

// prune forgets the machines that were not used for a long time, if there are too many. What proves their VMs is in their
// status.
func (l *ledger) prune(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.work) <= manyMachines {
		return
	}
	for id, w := range l.work {
		if now.Sub(w.used) > keptFor {
			l.owners.move(w, w.Object, types.ManagedObjectReference{})
			delete(l.work, id)
		}
	}
}

// stillThere notes that the VM exists, or may exist: an accepted deletion that is not under way has failed, also one of an
// earlier process.
func (w *work) stillThere() {
	if w.job.Act != next.Destroy {
		w.deletion = ""
	}
}

// leftOf returns what to look for by hand when a machine is let go: its VM is not where the account can see it, and no more than
// that is proved. It is empty if our own request has removed the VM, or if none was ever requested.
func leftOf(m cloud.Machine, w work) string {
	mayHave := m.Asked != cloud.NeverAsked || w.mayMake || !w.AnswerLost.IsZero() || w.Object.Value != ""
	if m.Spec.VSphere == nil || w.deletion == infrav1.DeletionAccepted || !mayHave {
		return ""
	}
	lastSeen := "no reference to it is known"
	if w.Object.Value != "" {
		lastSeen = fmt.Sprintf("last seen as %s in the folder %s", cloud.Clean(w.Object.Value, seen.MaxReference),
			cmp.Or(cloud.Clean(w.Folder, seen.MaxReference), "of its spec"))
	}
	return fmt.Sprintf("the VM %q with the instance UUID %s (%s) was not found, and the vCenter accepted no request of the "+
		"controller to delete it: if a host was removed and added again, or the vCenter was restored, look for it in the folder "+
		"\"Discovered virtual machine\"", m.Name, seen.IDOf(m), lastSeen)
}
