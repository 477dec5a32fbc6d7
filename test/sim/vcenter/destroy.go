package vcenter

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// DestroyTask is called by the simulator.
func (e *editedVM) DestroyTask(ctx *simulator.Context, _ *types.Destroy_Task) soap.HasFault {
	return destroy(ctx, e.VirtualMachine)
}

// DestroyTask is called by the simulator.
func (t *template) DestroyTask(ctx *simulator.Context, _ *types.Destroy_Task) soap.HasFault {
	return destroy(ctx, t.VirtualMachine)
}

// destroy takes the place of the simulator's DestroyTask, which destroys a VM once for each call that came before the first one
// ended. It deletes files in a task of their own, which runs on after its end, and panics on a file that goes while it reads a
// folder. Here the files stay, and the space that they take, until the vCenter stops. A VM gets a folder of its own, whatever
// its name.
func destroy(ctx *simulator.Context, vm *simulator.VirtualMachine) soap.HasFault {
	if ctx.Map.Get(vm.Self) == nil {
		return &methods.Destroy_TaskBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: vm.Self})}
	}
	// The call holds the lock of the VM, and hands it over to the task.
	task := simulator.CreateTask(vm, "destroy", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		leave(ctx, vm)
		if fault := vm.UnregisterVM(ctx, &types.UnregisterVM{This: vm.Self}).Fault(); fault != nil {
			with, _ := fault.VimFault().(types.BaseMethodFault)
			return nil, with
		}
		return nil, nil
	})
	return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: task.Run(ctx)}}
}

// leave takes a VM out of its folder. The simulator moves up the entries behind it, while views that are being made or asked for
// another VM read them without a lock, and miss one. So the folder gets other entries.
func leave(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	folder, ok := ctx.Map.Get(*vm.Parent).(*simulator.Folder)
	if !ok || vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn { // it will not be destroyed
		return
	}
	ctx.WithLock(folder, func() {
		folder.ChildEntity = slices.DeleteFunc(slices.Clone(folder.ChildEntity), func(child types.ManagedObjectReference) bool {
			return child == vm.Self
		})
	})
}
