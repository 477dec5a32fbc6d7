package vcenter

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Unregister takes a VM out of the inventory, with all that it is, whether it runs or not: as UnregisterVM, or as a host that is
// removed from the inventory. Register puts it into a folder under a new reference: as RegisterVM, which keeps what the VM's file
// has, so also its instance UUID and its advanced configuration.
func (o *Owner) Unregister(name string) (register func(folder types.ManagedObjectReference) types.ManagedObjectReference) {
	o.t.Helper()
	all, ctx := o.model.Map(), *o.model.Service.Context
	vm, ok := all.Get(o.VM(name).Reference()).(*simulator.VirtualMachine)
	if !ok {
		o.t.Fatalf("%s is no VM of the simulator's", name)
	}
	power := vm.Runtime.PowerState
	ctx.WithLock(vm, func() {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
		vm.UnregisterVM(&ctx, &types.UnregisterVM{This: vm.Self})
	})
	return func(folder types.ManagedObjectReference) types.ManagedObjectReference {
		into, ok := all.Get(folder).(*simulator.Folder)
		if !ok {
			o.t.Fatalf("%s is no folder", folder.Value)
		}
		vm.Runtime.PowerState = power
		all.NewEntity(vm)
		vm.Summary.Vm = &vm.Self
		all.AppendReference(&ctx, into, &into.ChildEntity, vm.Self)
		all.PutEntity(into, vm)
		if host, ok := all.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			all.AppendReference(&ctx, host, &host.Vm, vm.Self)
		}
		if pool, ok := all.Get(*vm.ResourcePool).(*simulator.ResourcePool); ok {
			all.AppendReference(&ctx, pool, &pool.Vm, vm.Self)
		}
		return vm.Self
	}
}

// FolderOf returns the folder of a VM.
func (o *Owner) FolderOf(name string) *object.Folder {
	o.t.Helper()
	return object.NewFolder(o.Client, *o.Read(name, "parent").Parent)
}

// Move a VM or a folder into a folder. The simulator does not tell those who watch.
func (o *Owner) Move(what, into types.ManagedObjectReference) {
	o.t.Helper()
	o.done(object.NewFolder(o.Client, into).MoveInto(context.Background(), []types.ManagedObjectReference{what}))
	if _, ok := o.model.Map().Get(what).(mo.Entity); ok {
		o.Update(what, types.PropertyChange{Name: "parent", Val: &into})
	}
}
