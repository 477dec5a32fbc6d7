package vsphere

import (
	"context"
	"sync"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// taskView is the list of tasks whose changes are pushed.
type taskView struct {
	client *vim25.Client
	ref    types.ManagedObjectReference

	mu    sync.Mutex
	tasks map[types.ManagedObjectReference]bool
}

// follow has changes of the tasks that somebody waits for pushed, while the account is watched. Where that cannot be, they
// are asked for.
func (a *account) follow(ctx context.Context) {
	v := a.view.Load()
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set(ctx, a.ledger.tasks()) && a.view.Load() == v {
		a.ledger.watched(v.tasks)
	}
}

// set lists the wanted tasks with one request, if there is a new one among them. Old ones can wait for that.
func (v *taskView) set(ctx context.Context, wanted []types.ManagedObjectReference) bool {
	tasks := map[types.ManagedObjectReference]bool{}
	change := types.ModifyListView{This: v.ref}
	for _, t := range wanted {
		if !v.tasks[t] && !tasks[t] {
			change.Add = append(change.Add, t)
		}
		tasks[t] = true
	}
	for t := range v.tasks {
		if !tasks[t] {
			change.Remove = append(change.Remove, t)
		}
	}
	if len(change.Add) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	answer, err := methods.ModifyListView(ctx, v.client, &change)
	if err != nil {
		return false
	}
	for _, t := range answer.Returnval { // those that vCenter no longer knows
		delete(tasks, t)
	}
	v.tasks = tasks
	return true
}
