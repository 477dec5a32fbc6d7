package vcenter

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Populate puts other people's VMs beside the template, named "other-0" and so on.
func (o *Owner) Populate(vms int) {
	o.t.Helper()
	former, _ := o.model.Map().Get(o.Template().Reference()).(*template)
	o.copies(former.VirtualMachine, vms, func(n int, vm *mo.VirtualMachine) { vm.Name = fmt.Sprint("other-", n) })
}

// Copy puts copies of a VM beside it, each with what is its own. A clone of the simulator takes a hundred times as long.
func (o *Owner) Copy(name string, copies int, change func(n int, vm *mo.VirtualMachine)) {
	o.t.Helper()
	former, _ := o.model.Map().Get(o.VM(name).Reference()).(*simulator.VirtualMachine)
	o.copies(former, copies, change)
}

func (o *Owner) copies(former *simulator.VirtualMachine, copies int, change func(n int, vm *mo.VirtualMachine)) {
	all, ctx := o.model.Map(), *o.model.Service.Context
	folder, _ := all.Get(*former.Parent).(*simulator.Folder)
	for n := range copies {
		vm := new(*former)
		config, guest := *former.Config, *former.Guest
		config.InstanceUuid, config.Uuid, config.Template = uuid.NewString(), uuid.NewString(), false
		config.ExtraConfig = slices.Clone(config.ExtraConfig)
		for i, option := range config.ExtraConfig {
			config.ExtraConfig[i] = &types.OptionValue{Key: option.GetOptionValue().Key, Value: option.GetOptionValue().Value}
		}
		vm.Config, vm.Guest, vm.RecentTask = &config, &guest, nil
		change(n, &vm.VirtualMachine)
		config.Hardware.Device = slices.Clone(config.Hardware.Device)
		config.Files = types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0] " + vm.Name + "/" + vm.Name + ".vmx"}
		vm.Self = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-" + vm.Name}
		all.AppendReference(&ctx, folder, &folder.ChildEntity, vm.Self)
		all.PutEntity(folder, vm)
	}
}
