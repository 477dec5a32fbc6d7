package vcenter

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// ForgetTasks removes the tasks that have ended. vCenter does so some ten minutes after their end (vSphere Web Services API,
// TaskManager.recentTask); the simulator keeps them for good.
func (o *Owner) ForgetTasks() {
	o.t.Helper()
	all, ctx := o.model.Map(), *o.model.Service.Context
	forgotten := refs{}
	for _, ref := range all.AllReference("Task") {
		task, _ := ref.(*simulator.Task)
		ctx.WithLock(task, func() {
			forgotten[task.Self] = task.Info.State == types.TaskInfoStateSuccess || task.Info.State == types.TaskInfoStateError
		})
		if forgotten[task.Self] {
			all.Remove(&ctx, task.Self)
		}
	}
	manager, _ := all.Get(*o.Client.ServiceContent.TaskManager).(*simulator.TaskManager)
	manager.Lock()
	manager.RecentTask = slices.DeleteFunc(slices.Clone(manager.RecentTask), func(ref types.ManagedObjectReference) bool {
		return forgotten[ref]
	})
	manager.Unlock()
}
