package vcenter

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// templateDisk is large enough for a Windows node: 80 GiB.
const templateDisk = 80

// windowsTemplate is what image-builder gives a template of Windows Server 2022.
func windowsTemplate() types.VirtualMachineConfigSpec {
	return types.VirtualMachineConfigSpec{
		Name: Template, GuestId: "windows2019srvNext_64Guest", NumCPUs: 2, MemoryMB: 8192,
		Tools: &types.ToolsConfigInfo{ToolsVersion: 12448},
	}
}

// makeTemplate turns a VM of the simulator into a template with a disk of this size.
func (v *VCenter) makeTemplate(
	ctx context.Context, vm *object.VirtualMachine, spec types.VirtualMachineConfigSpec, diskGiB int64,
) error {
	task, err := vm.Reconfigure(ctx, spec)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("reconfigure template: %w", err)
	}
	if err := vm.MarkAsTemplate(ctx); err != nil {
		return fmt.Errorf("mark as template: %w", err)
	}
	plain, _ := v.model.Map().Get(vm.Reference()).(*simulator.VirtualMachine)
	for _, device := range plain.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok { // the simulator's have 10 GiB
			disk.CapacityInBytes = diskGiB << 30
			disk.CapacityInKB = diskGiB << 20
		}
	}
	v.model.Map().Put(&template{VirtualMachine: plain, gate: &v.gate})
	return nil
}

// AddTemplate makes another template in the folder of VMs, with a system of its own and a disk of this size.
func (v *VCenter) AddTemplate(ctx context.Context, name, guestID string, diskGiB int64) error {
	finder := find.NewFinder(v.admin)
	from, err := finder.VirtualMachine(ctx, "/"+Datacenter+"/vm/"+Template)
	if err != nil {
		return err
	}
	folder, err := finder.Folder(ctx, "/"+Datacenter+"/vm/"+Folder)
	if err != nil {
		return err
	}
	pool, err := finder.ResourcePool(ctx, "/"+Datacenter+"/host/"+ResourcePool)
	if err != nil {
		return err
	}
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: new(pool.Reference())}}
	task, err := from.Clone(ctx, folder, name, spec)
	if err != nil {
		return fmt.Errorf("make template %s: %w", name, err)
	}
	made, err := task.WaitForResult(ctx)
	if err != nil {
		return fmt.Errorf("make template %s: %w", name, err)
	}
	ref, _ := made.Result.(types.ManagedObjectReference)
	return v.makeTemplate(ctx, object.NewVirtualMachine(v.admin, ref), types.VirtualMachineConfigSpec{GuestId: guestID}, diskGiB)
}
