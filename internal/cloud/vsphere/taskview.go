package vsphere

import (
	"context"
	"sync"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// taskView is the list of the tasks whose changes the vCenter pushes.
type taskView struct {
	client *vim25.Client
	ref    types.ManagedObjectReference

	mu    sync.Mutex
	tasks map[types.ManagedObjectReference]bool
}

// follow has the vCenter push changes of the tasks whose end is waited for, as long as the account is watched. Tasks that
// cannot be followed are polled.
func (a *account) follow(ctx context.Context) {
	v := a.view.Load()
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.list(ctx, a.ledger.tasks()) && a.view.Load() == v {
		a.ledger.markWatched(v.tasks)
	}
}

// list sets the list to the wanted tasks, with one request, when there is a new task among them. Old tasks stay until then.
func (v *taskView) list(ctx context.Context, wanted map[types.ManagedObjectReference]bool) bool {
	change := types.ModifyListView{This: v.ref, Add: without(wanted, v.tasks), Remove: without(v.tasks, wanted)}
	if len(change.Add) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), session.CallTimeout)
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

func without(all, some map[types.ManagedObjectReference]bool) (rest []types.ManagedObjectReference) {
	for t := range all {
		if !some[t] {
			rest = append(rest, t)
		}
	}
	return rest
}
