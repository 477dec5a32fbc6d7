package vsphere

import (
	"context"
	"maps"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// taskView is the list of the tasks whose changes the vCenter pushes. One goroutine changes it; nothing waits for that.
type taskView struct {
	client *vim25.Client
	ref    types.ManagedObjectReference
	more   chan struct{} // there may be a task to add
	tasks  clones.Tasks
}

const (
	// gatherTasks is how long tasks are gathered, to be added with one request. Most power-offs and destructions are shown by
	// their VM before that, and need none.
	gatherTasks = 3 * time.Second

	// pollAfter is when a task is asked for that nothing was told of.
	pollAfter = 15 * time.Second
)

// follow has the vCenter push changes of the tasks whose end is waited for, as long as the account is watched. It waits for
// nothing. Tasks that cannot be followed are polled.
func (a *account) follow() {
	if v := a.view.Load(); v != nil {
		select {
		case v.more <- struct{}{}:
		default: // the goroutine has yet to look
		}
	}
}

// keep lists the tasks that are to be followed until ctx ends.
func (v *taskView) keep(ctx context.Context, a *account) {
	for {
		select {
		case <-v.more:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(gatherTasks):
		case <-ctx.Done():
			return
		}
		v.listAll(ctx, a)
	}
}

// listAll lists the tasks whose end is waited for. Without a new list nothing is marked: a task that has left the old one is
// polled.
func (v *taskView) listAll(ctx context.Context, a *account) {
	wanted := a.ledger.tasks()
	maps.Copy(wanted, a.clones.Tasks())
	if v.list(ctx, wanted) {
		a.ledger.markWatched(v.tasks)
		a.clones.Followed(v.tasks)
	}
}

// list sets the list to the wanted tasks, with one request, when there is a new task among them. Old tasks stay until then; the
// vCenter tells that they leave, which is no news.
func (v *taskView) list(ctx context.Context, wanted clones.Tasks) bool {
	change := types.ModifyListView{This: v.ref, Add: without(wanted, v.tasks), Remove: without(v.tasks, wanted)}
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

func without(all, some clones.Tasks) (rest []types.ManagedObjectReference) {
	for t := range all {
		if !some[t] {
			rest = append(rest, t)
		}
	}
	return rest
}
