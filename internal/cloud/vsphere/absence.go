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

// lacks says that the inventory is up to date, knows all VMs, and has none that could be m's: with its marks, its id or its
// name. A VM that was made a moment ago may not be in it yet. Before a clone that is enough, because a folder has each name
// once: a second clone fails. Before a machine is let go it is one half of the proof.
func (i *inventory) lacks(m cloud.Machine) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced && !i.missing.elsewhere && i.missing.vms == 0 && !i.mayHave(m)
}

// readableFolder proves that the account sees where m's VM would be, in this moment, and returns the folder in which its name is
// to be looked for; nil if there is none. What was found by a path before, or a minute ago, proves nothing: whoever takes a
// permission away takes the sight of the VM with it. So a folder is read by its reference, which is known from the VM itself.
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

// folderByPath finds the folder that the spec names. One that is not found may be hidden, with the VM in it. That proves
// something only of a machine for which nobody has asked for a VM.
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

// isMissing says that a place of the spec was not found.
func isMissing(err error) bool {
	known := (*cloud.Error)(nil)
	return errors.As(err, &known) && known.Reason == infrav1.PlacementNotFoundReason
}

// hidden says that the account may not see something.
func hidden(err error) bool {
	return session.Is[types.BaseNoPermission](err) && !session.Is[*types.NotAuthenticated](err)
}

// unproved is why it is not known whether a VM that was there once is gone. More credentials or rights may come, so it is asked
// again, which an error of the spec is not.
func unproved(err error) error {
	known := (*cloud.Error)(nil)
	if !errors.As(err, &known) || known.Reason != infrav1.PlacementNotFoundReason {
		return err
	}
	told := *known
	told.Kind = cloud.Denied
	return &told
}

// withWayOut adds the way out to the error of a deletion that cannot end.
func withWayOut(err error) error {
	known := (*cloud.Error)(nil)
	err = unproved(err)
	stuck := []string{infrav1.PlacementNotFoundReason, infrav1.NameTakenReason, infrav1.VMNotProvedReason}
	if !errors.As(err, &known) || !slices.Contains(stuck, known.Reason) && !hidden(err) {
		return err
	}
	return next.WayOut(known)
}

// keepGone is how long it is remembered that nothing is left of a machine. Its object is looked at again until it is gone, too.
const keepGone = time.Minute

// goneLately says until when it is remembered of machines, and what to look for of them.
type goneLately map[cloud.MachineID]struct {
	until time.Time
	left  string
}

func (g *goneLately) note(m cloud.Machine, left string, now time.Time) {
	if *g == nil {
		*g = goneLately{}
	}
	for id, one := range *g {
		if !now.Before(one.until) {
			delete(*g, id)
		}
	}
	one := (*g)[m.ID()]
	one.until, one.left = now.Add(keepGone), left
	(*g)[m.ID()] = one
}

// The ledger keeps this many machines, and those beyond for a day at least. Nobody asks any more for a machine whose finalizer a
// person has removed, and the next object of its name has another UID.
const (
	manyMachines = 20000
	keptFor      = 24 * time.Hour
)

// use notes that somebody asks for a machine, and takes over what an earlier process has kept of it.
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

// prune forgets the machines that nobody asked for in a long time, if there are too many. What proves their VMs is in their
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

// stillThere notes that the VM exists, or may: an accepted deletion that is not under way came to nothing, also one of an earlier
// process.
func (w *work) stillThere() {
	if w.job.Act != next.Destroy {
		w.deletion = ""
	}
}

// leftOf says what to look for of a machine that is let go: all that is known is that its VM is not where the account sees it.
// Empty if our own request has removed it, or nobody asked for one.
func leftOf(m cloud.Machine, w work) string {
	mayHave := m.Asked != cloud.NeverAsked || w.mayMake || !w.AnswerLost.IsZero() || w.Object.Value != ""
	if m.Spec.VSphere == nil || w.deletion == infrav1.DeletionAccepted || !mayHave {
		return ""
	}
	last := "no reference to it is known"
	if w.Object.Value != "" {
		last = fmt.Sprintf("last seen as %s in the folder %s", cloud.Clean(w.Object.Value, seen.MaxReference),
			cmp.Or(cloud.Clean(w.Folder, seen.MaxReference), "of its spec"))
	}
	return fmt.Sprintf("the VM %q with the instance UUID %s (%s) was not found, and the vCenter accepted no request of the "+
		"controller to delete it: if a host was removed and added again, or the vCenter was restored, look for it in the folder "+
		"\"Discovered virtual machine\"", m.Name, seen.IDOf(m), last)
}
