package vsphere

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
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
	for {
		select {
		case <-v.added:
		case <-ctx.Done():
			return
		}
		select {
		case <-a.gathered():
		case <-ctx.Done():
			return
		}
		v.listAll(ctx, a)
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
	ctx, cancel := context.WithTimeout(ctx, session.CallTimeout)
	defer cancel()
	answer, err := methods.ModifyListView(ctx, v.client, &change)
	if err != nil {
		return false
	}
	for _, t := range answer.Returnval { // the vCenter no longer knows these
		delete(wanted, t)
	}
	v.tasks = wanted
	return true
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
	for {
		select {
		case <-a.inventory.guests.added:
		case <-ctx.Done():
			return
		}
		_ = g.list(ctx, &a.inventory) // a VM that is not listed is looked up by a call until the next try, which list asks for
		select {
		case <-a.gathered():
		case <-ctx.Done():
			return
		}
	}
}

// list adds our VMs to the list, with one request, when there is one that is not in it. Those that are not ours any more go with
// the same request.
func (g *guestView) list(ctx context.Context, i *inventory) error {
	change := types.ModifyListView{This: g.ref}
	change.Add, change.Remove = i.unlisted()
	if len(change.Add) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, session.CallTimeout)
	defer cancel()
	answer, err := methods.ModifyListView(ctx, g.client, &change)
	if err != nil {
		i.notListed(change.Add)
		i.guests.wake()
		return err
	}
	i.notListed(answer.Returnval) // the vCenter no longer knows these
	return nil
}

// guests holds the VMs in the list.
type guests struct {
	listed map[types.ManagedObjectReference]bool
	added  chan struct{} // there may be a VM to list
}

func (g *guests) begin() {
	g.listed = map[types.ManagedObjectReference]bool{}
	if g.added == nil {
		g.added = make(chan struct{}, 1)
	}
}

func (g *guests) wake() {
	select {
	case g.added <- struct{}{}:
	default: // the goroutine has yet to look
	}
}

// unlisted returns the VMs to add to the list and, if there is one, those to take off it. They count as listed from now on: a VM
// that leaves meanwhile does not.
func (i *inventory) unlisted() (add, remove []types.ManagedObjectReference) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for ref, s := range i.vms {
		if isOurs(s) && !i.guests.listed[ref] {
			add = append(add, ref)
		}
	}
	if len(add) == 0 {
		return nil, nil
	}
	// A watch that begins again, because a page was too large, shall find the page where it was.
	slices.SortFunc(add, func(a, b types.ManagedObjectReference) int { return cmp.Compare(a.Value, b.Value) })
	for ref := range i.guests.listed {
		if s := i.vms[ref]; s == nil || !isOurs(s) {
			remove = append(remove, ref)
			delete(i.guests.listed, ref)
		}
	}
	for _, ref := range add {
		i.guests.listed[ref] = true
	}
	return add, remove
}

func (i *inventory) notListed(refs []types.ManagedObjectReference) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, ref := range refs {
		delete(i.guests.listed, vmRef(ref.Value))
	}
}

// awaitsGuests reports whether a VM is listed without a report of its guest.
func (i *inventory) awaitsGuests() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for ref := range i.guests.listed {
		if s := i.vms[ref]; s != nil && !s.Guest {
			return true
		}
	}
	return false
}

// updateGuest applies a change of a property that is watched of our VMs only, and returns the keys of the machines that it
// concerns.
func (i *inventory) updateGuest(u types.ObjectUpdate, byRecord ...cloud.Key) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(i.guests.listed, vmRef(u.Obj.Value))
	}
	if i.vms[vmRef(u.Obj.Value)] == nil {
		return nil
	}
	s := i.take(u.Obj)
	old := *s
	if u.Kind != types.ObjectUpdateKindModify {
		s.Guest, s.Came = u.Kind == types.ObjectUpdateKindEnter, time.Time{}
		s.Address, s.NICs, s.Report, s.Withheld, s.UserData = "", nil, "", 0, false
	}
	keys := change(old, s, u, byRecord)
	if !i.keep(s) && !s.Partial {
		i.missing.vms++
	}
	if !s.Guest {
		return nil
	}
	return keys
}
