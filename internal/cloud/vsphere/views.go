package vsphere

import (
	"context"
	"maps"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inventory"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// taskView is the list of the tasks whose changes the vCenter pushes. One goroutine changes it; nothing waits for that.
type taskView struct {
	client *vim25.Client
	ref    types.ManagedObjectReference
	added  chan struct{} // there may be a task to add
	tasks  clones.Tasks
}

const (
	// gatherTasks is how long tasks are gathered, to be added with one request. Most power-offs and destructions are shown by
	// their VM before that, and need none.
	gatherTasks = 3 * time.Second

	// pollAfter is when a task without a reported change is read by a call.
	pollAfter = 15 * time.Second
)

// gathered returns a channel that fires when the new entries are to be listed.
func gathered() <-chan time.Time { return time.After(gatherTasks) }

// follow has the vCenter push changes of our tasks while the account is watched. Tasks that cannot be followed are polled.
func (a *account) follow() {
	if v := a.view.Load(); v != nil {
		select {
		case v.added <- struct{}{}:
		default: // the goroutine has yet to look
		}
	}
}

// keep lists the tasks to follow until ctx ends.
func (v *taskView) keep(ctx context.Context, a *account) {
	for arrives(ctx, v.added) && arrives(ctx, a.gathered()) {
		v.listAll(ctx, a)
	}
}

// arrives waits for a signal, and reports whether it came before the end of ctx.
func arrives[T any](ctx context.Context, signal <-chan T) bool {
	select {
	case <-signal:
		return true
	case <-ctx.Done():
		return false
	}
}

// listAll lists the tasks whose end is awaited. Without a new list nothing is marked: a task that has left the old one is
// polled.
func (v *taskView) listAll(ctx context.Context, a *account) {
	wanted := a.ledger.tasks()
	maps.Copy(wanted, a.clones.Tasks())
	if v.list(ctx, wanted) {
		a.ledger.markWatched(v.tasks)
		a.clones.Followed(v.tasks)
	}
}

// list sets the list to the wanted tasks, with one request, when there is a new task among them. Old tasks stay until then;
// their leaving is no news.
func (v *taskView) list(ctx context.Context, wanted clones.Tasks) bool {
	change := types.ModifyListView{This: v.ref, Add: difference(wanted, v.tasks), Remove: difference(v.tasks, wanted)}
	if len(change.Add) == 0 {
		return false
	}
	unknown, err := modify(ctx, v.client, change)
	if err != nil {
		return false
	}
	for _, t := range unknown {
		delete(wanted, t)
	}
	v.tasks = wanted
	return true
}

// modify changes a list, and returns what the vCenter no longer knows of what was to be added.
func modify(ctx context.Context, c *vim25.Client, change types.ModifyListView) ([]types.ManagedObjectReference, error) {
	ctx, cancel := context.WithTimeout(ctx, session.CallTimeout)
	defer cancel()
	answer, err := methods.ModifyListView(ctx, c, &change)
	if err != nil {
		return nil, err
	}
	return answer.Returnval, nil
}

func difference(tasks, excluded clones.Tasks) (rest []types.ManagedObjectReference) {
	for t := range tasks {
		if !excluded[t] {
			rest = append(rest, t)
		}
	}
	return rest
}

// guestView is the list of our VMs in the vCenter, whose guest properties are watched. A Linux node with kube-proxy's mode ipvs
// has thousands of addresses (open-vm-tools, lib/guestRpc/nicinfo.x: up to 16 adapters with 2,048 each), so they are not read of
// others' VMs.
type guestView struct {
	client      *vim25.Client
	ref, filter types.ManagedObjectReference
}

// keep lists the VMs that become ours until ctx ends: the first at once, and those of the next seconds together.
func (g *guestView) keep(ctx context.Context, a *account) {
	for arrives(ctx, a.inventory.Added()) {
		_ = g.list(ctx, &a.inventory) // a VM that is not listed is looked up by a call until the next try
		if !arrives(ctx, a.gathered()) {
			return
		}
	}
}

// list adds our VMs to the list, and takes those off it that are not ours any more.
func (g *guestView) list(ctx context.Context, i *inventory.Inventory) error {
	add, remove := i.Unlisted()
	if len(add) == 0 {
		return nil
	}
	unknown, err := modify(ctx, g.client, types.ModifyListView{This: g.ref, Add: add, Remove: remove})
	if err != nil {
		unknown = add
	}
	i.NotListed(unknown, err != nil)
	return err
}
