package vcenter

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Populate puts other people's VMs beside the template, named "other-0" and so on. A clone of the simulator takes a hundred times
// as long.
func (o *Owner) Populate(vms int) {
	o.t.Helper()
	all := o.model.Map()
	former, _ := all.Get(o.Template().Reference()).(*template)
	folder, _ := all.Get(*former.Parent).(*simulator.Folder)
	ctx := *o.model.Service.Context
	for n := range vms {
		vm := &simulator.VirtualMachine{VirtualMachine: former.VirtualMachine.VirtualMachine}
		config, guest := *former.Config, *former.Guest
		config.InstanceUuid, config.Uuid, config.Template = uuid.NewString(), uuid.NewString(), false
		config.ExtraConfig = slices.Clone(config.ExtraConfig)
		vm.Name, vm.Config, vm.Guest, vm.RecentTask = fmt.Sprint("other-", n), &config, &guest, nil
		vm.Self = types.ManagedObjectReference{Type: "VirtualMachine", Value: fmt.Sprint("vm-other-", n)}
		all.AppendReference(&ctx, folder, &folder.ChildEntity, vm.Self)
		all.PutEntity(folder, vm)
	}
}
