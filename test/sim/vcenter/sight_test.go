package vcenter

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestSight: a user finds what he may see: by id, by name, by path, in a view and among the recent tasks. The owner finds all.
func TestSight(t *testing.T) {
	o := New(t).Owner(t)
	ctx := t.Context()
	o.Occupy("vm")
	vm, folder := o.VM("vm").Reference(), o.FolderOf("vm").Reference()
	id := o.Read("vm", "config.instanceUuid").Config.InstanceUuid
	c := o.loggedIn(t, Username)
	root := c.ServiceContent.RootFolder
	hidden := Permission{On: vm, NoAccess: true}
	o.BeginClone(Username, Template)()
	o.done(o.VM("vm").PowerOff(ctx))
	for _, see := range []bool{true, false} {
		all := []Permission{{On: root, Propagate: true}}
		if !see {
			all = append(all, hidden)
		}
		o.Permit(all...)
		index := object.NewSearchIndex(c)
		found := []bool{
			expect.Got(index.FindByUuid(ctx, nil, id, true, new(true)))(t) != nil,
			expect.Got(index.FindChild(ctx, folder, "vm"))(t) != nil,
			expect.Got(index.FindByInventoryPath(ctx, "/"+Datacenter+"/vm/"+Folder+"/vm"))(t) != nil,
		}
		expect.Same(t, "found by id, by name and by path", []bool{see, see, see}, found)
		views := expect.Got(view.NewManager(c).CreateContainerView(ctx, root, []string{"VirtualMachine"}, true))(t)
		var vms []mo.VirtualMachine
		o.Must(views.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &vms))
		inView := slices.ContainsFunc(vms, func(one mo.VirtualMachine) bool { return one.Self == vm })
		expect.Same(t, "in a view", see, inView)
		var tasks mo.TaskManager
		o.Must(property.DefaultCollector(c).RetrieveOne(ctx, *c.ServiceContent.TaskManager, []string{"recentTask"}, &tasks))
		expect.Same(t, "tasks of the VM", see, slices.ContainsFunc(tasks.RecentTask, func(ref types.ManagedObjectReference) bool {
			return o.entityOf(ref) == vm
		}))
	}
	expect.Same(t, "the owner's", vm, o.VM("vm").Reference())
}

// TestSightIsWatched: what a user may not see any more leaves his view, and comes back with the permission.
func TestSightIsWatched(t *testing.T) {
	o := New(t).Owner(t)
	o.Occupy("vm")
	c := o.loggedIn(t, Username)
	heard := make(chan types.ObjectUpdate, 100)
	go func() {
		_ = WatchVMs(t.Context(), c, []string{"name"}, func(u types.ObjectUpdate) error { heard <- u; return nil })
	}()
	vm := o.VM("vm").Reference()
	await := func(kind types.ObjectUpdateKind) {
		t.Helper()
		for u := range heard {
			if u.Obj == vm && u.Kind == kind {
				return
			}
		}
	}
	await(types.ObjectUpdateKindEnter)
	all := Permission{On: c.ServiceContent.RootFolder, Propagate: true}
	o.Permit(all, Permission{On: vm, NoAccess: true})
	await(types.ObjectUpdateKindLeave)
	o.Permit(all)
	await(types.ObjectUpdateKindEnter)
}

// TestRegister: a VM that was taken out of the inventory is the same one under another reference, in another folder, and runs on.
func TestRegister(t *testing.T) {
	o := New(t).Owner(t)
	o.Occupy("vm")
	before, folder := o.Read("vm"), o.FolderOf("vm").Reference()
	register := o.Unregister("vm")
	expect.Same(t, "VMs without it", 0, len(o.VMs()))
	now := register(folder)
	after := o.Read("vm")
	expect.Same(t, "references", []bool{true, true}, []bool{now == after.Self, now != before.Self})
	expect.Same(t, "id", before.Config.InstanceUuid, after.Config.InstanceUuid)
	expect.Same(t, "power", types.VirtualMachinePowerStatePoweredOn, after.Runtime.PowerState)
	o.Remove("vm")
	expect.Same(t, "VMs", 0, len(o.VMs()))
}
