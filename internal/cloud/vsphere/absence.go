package vsphere

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// lacks says that the inventory is up to date, knows all VMs, and has none that could be m's: with its marks, its id or its
// name. A VM that was made a moment ago may not be in it yet. Before a clone that is enough, because a folder has each name
// once: a second clone fails. Before a machine is let go it is one half of the proof.
func (i *inventory) lacks(m cloud.Machine) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.synced || i.part {
		return false
	}
	for _, s := range i.vms {
		if s.name == m.Name || s.id == idOf(m) || s.providerID == m.ProviderID {
			return false
		}
	}
	return true
}

func (i *inventory) has(vm types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.vms[vm] != nil
}

// gone says that the inventory is up to date and does not have this VM, which it must have had.
func (i *inventory) gone(vm types.ManagedObjectReference) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced && !i.part && i.vms[vm] == nil
}

// keepGrounds is how long it is remembered that the account can see where the VMs of a spec are.
const keepGrounds = time.Minute

// grounds remembers until when the account was sure to see the places of VMs, so that the machines of a pool ask once.
type grounds struct {
	mu    sync.Mutex
	until map[[2]string]time.Time // by datacenter and folder
}

func (g *grounds) sure(where [2]string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Before(g.until[where])
}

func (g *grounds) note(where [2]string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil || len(g.until) > maxGrounds {
		g.until = map[[2]string]time.Time{}
	}
	g.until[where] = now.Add(keepGrounds)
}

// maxGrounds is how many are remembered; then we begin anew.
const maxGrounds = 1000

// nowhere ends the proof that m, whose VM was there once, has none: the id is unknown to the vCenter and the inventory lacks the
// VM, so it only remains that the account sees where the VM was. If its folder is gone, seeing the datacenter is enough, and if
// that is gone, seeing the root.
func (a *account) nowhere(ctx context.Context, m cloud.Machine) error {
	spec := *m.Spec.VSphere
	where := [2]string{spec.Datacenter, spec.Folder}
	if a.grounds.sure(where, a.now()) {
		return nil
	}
	_, err := a.places.FindFolder(ctx, spec)
	if isMissing(err) {
		spec.Folder = ""
		if _, err = a.places.FindFolder(ctx, spec); isMissing(err) {
			err = a.readRoot(ctx)
		}
	}
	if err == nil {
		a.grounds.note(where, a.now())
	}
	return err
}

func (a *account) readRoot(ctx context.Context) error {
	_, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (session.Objects, error) {
		return session.Read(ctx, c, session.Source{Object: c.ServiceContent.RootFolder}, "Folder", "name")
	})
	return err
}

// isMissing says that a place of the spec was not found.
func isMissing(err error) bool {
	known := (*cloud.Error)(nil)
	return errors.As(err, &known) && known.Reason == infrav1.PlacementNotFoundReason
}

// withWayOut adds to the error of a deletion that cannot end what a person can do.
func withWayOut(err error) error {
	known := (*cloud.Error)(nil)
	if !errors.As(err, &known) || known.Reason != infrav1.PlacementNotFoundReason {
		return err
	}
	told := *known
	told.Message += "; if the VM is gone for certain, remove the finalizer " + infrav1.MachineFinalizer + " from the WindowsMachine"
	return &told
}

// keepGone is how long it is remembered that nothing is left of a machine. Its object is looked at again until it is gone, too.
const keepGone = time.Minute

// goneLately says until when it is remembered of machines, by their provider ids.
type goneLately map[string]time.Time

func (g *goneLately) note(m cloud.Machine, now time.Time) {
	if *g == nil {
		*g = goneLately{}
	}
	maps.DeleteFunc(*g, func(_ string, until time.Time) bool { return !now.Before(until) })
	(*g)[m.ProviderID] = now.Add(keepGone)
}
