package vcenter

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// What a user finds is what he may see. The simulator shows everybody everything. "The findByInventoryPath and findChild
// operations only search on entities for which the user has view privileges; all other SearchIndex find operations only search
// virtual machines and hosts for which the user has read privileges. If the user does not have sufficient privileges to view or
// read an entity, that object is not returned" (vSphere Web Services API, SearchIndex). A view, and the property collector on its
// way through one, leave out what the user may not see (ViewManager, PropertyCollector), and who sees its entity sees a task
// (TaskManager). On the way to what a path names, objects may be out of sight: the narrow layout of docs/vcenter.md gives no role
// on the folders datastore and network of a datacenter. No real vCenter has confirmed that.

// sees says whether who calls may see an object.
func (v *VCenter) sees(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	if user := ctx.Session.UserName; user == "" || user == hypervisor || user == CloudProvider {
		return true
	}
	return v.mayView(v.entityOf(ref))
}

// entityOf a task decides who sees the task. That of an object that is gone is seen by who asked for it, which is all that the
// lab has. Other objects stand for themselves.
func (v *VCenter) entityOf(ref types.ManagedObjectReference) types.ManagedObjectReference {
	task, ok := v.model.Map().Get(ref).(*simulator.Task)
	if !ok {
		return ref
	}
	// Without the task's lock, which whoever changes the task may hold for as long as it waits for us: the entity never changes.
	if of := task.Info.Entity; of != nil && v.model.Map().Get(*of) != nil {
		ref = *of
	}
	return ref
}

// seen are those of some objects that who calls may see.
func (v *VCenter) seen(ctx *simulator.Context, all []types.ManagedObjectReference) []types.ManagedObjectReference {
	return slices.DeleteFunc(slices.Clone(all), func(ref types.ManagedObjectReference) bool { return !v.sees(ctx, ref) })
}

// hideFromReaders takes what the caller may not see out of what he is about to read: a view, or the list of recent tasks.
func (v *VCenter) hideFromReaders(ctx *simulator.Context, method *simulator.Method) {
	request, ok := method.Body.(*types.RetrievePropertiesEx)
	if !ok {
		return
	}
	for _, filter := range request.SpecSet {
		for _, from := range filter.ObjectSet {
			switch from.Obj.Type {
			case "ContainerView":
				v.hideInView(ctx, from.Obj)
			case "TaskManager":
				v.hideTasks(ctx, from.Obj)
			case "VirtualMachine": // whose edits have a gate is in the session's registry, and stays there when it is destroyed
				if v.model.Map().Get(from.Obj) == nil {
					ctx.Session.Remove(ctx, from.Obj)
				}
			}
		}
	}
}

func (v *VCenter) hideInView(ctx *simulator.Context, ref types.ManagedObjectReference) {
	view, ok := ctx.Session.Get(ref).(*simulator.ContainerView)
	if !ok {
		return
	}
	var all []types.ManagedObjectReference
	ctx.WithLock(view, func() { all = slices.Clone(view.View) })
	all = v.seen(ctx, all)
	ctx.WithLock(view, func() { view.View = all })
}

// RetrievePropertiesEx leaves out what is in a folder or a resource pool and the caller may not see. By it govmomi's Finder lists
// them.
func (c *collectors) RetrievePropertiesEx(ctx *simulator.Context, request *types.RetrievePropertiesEx) soap.HasFault {
	answer := c.PropertyCollector.RetrievePropertiesEx(ctx, request)
	body, ok := answer.(*methods.RetrievePropertiesExBody)
	if !ok || body.Res == nil || body.Res.Returnval == nil || !lists(request) {
		return answer
	}
	named := map[types.ManagedObjectReference]bool{}
	for _, filter := range request.SpecSet {
		for _, from := range filter.ObjectSet {
			named[from.Obj] = true
		}
	}
	found := body.Res.Returnval
	found.Objects = slices.DeleteFunc(found.Objects, func(one types.ObjectContent) bool {
		return !named[one.Obj] && !c.lab.sees(ctx, one.Obj)
	})
	return answer
}

// lists says whether a request asks for the contents of something.
func lists(request *types.RetrievePropertiesEx) bool {
	for _, filter := range request.SpecSet {
		for _, from := range filter.ObjectSet {
			for _, one := range from.SelectSet {
				if to, ok := one.(*types.TraversalSpec); ok && (to.Path == "childEntity" || to.Path == "resourcePool") {
					return true
				}
			}
		}
	}
	return false
}

// hideTasks gives the session a task manager of its own: what is in its own registry comes first there. It is one that is only
// read: with the end of a session, the simulator takes its objects that register others out of the inventory of all.
func (v *VCenter) hideTasks(ctx *simulator.Context, ref types.ManagedObjectReference) {
	plain, ok := ctx.Map.Get(ref).(*simulator.TaskManager)
	if !ok {
		return
	}
	plain.Lock()
	own := plain.TaskManager
	all := slices.Clone(plain.RecentTask)
	plain.Unlock()
	own.RecentTask = v.seen(ctx, all)
	ctx.Session.Registry.Put(&own)
}

// lookAnew has all who watch look at their views again, because permissions have changed.
func (v *VCenter) lookAnew() {
	v.waiting.Range(func(_, one any) bool {
		if i, ok := one.(*incremental); ok {
			i.heed(func(f *filter) bool {
				f.stale = true
				return true
			})
		}
		return true
	})
}
