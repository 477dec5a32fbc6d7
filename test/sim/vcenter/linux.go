package vcenter

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
)

// WithLargerDisk is when a privilege is needed of those that the provider of Linux machines takes.
const WithLargerDisk = "`diskGiB` is larger than the template's disk"

// LinuxNeeds are the privileges that the calls of Cluster API Provider vSphere (v1.16.1) take for a Linux machine of the flavors.
// A test of test/suites/frontdoor runs it with these and no others. They are of the same sources as privileges.Needs.
var LinuxNeeds = []privileges.Need{
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Provisioning.DeployTemplate", On: privileges.Template},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Inventory.CreateFromExisting", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.AddNewDisk", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "Resource.AssignVMToPool", On: privileges.Pool},
	{Method: "CloneVM_Task", Privilege: "Datastore.AllocateSpace", On: privileges.Datastore},
	{Method: "CloneVM_Task", Privilege: "Network.Assign", On: privileges.Networks},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.Settings", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.AdvancedConfig", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.CPUCount", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.Memory", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.EditDevice", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: "VirtualMachine.Config.AddRemoveDevice", On: privileges.Folder},
	{Method: "CloneVM_Task", Privilege: diskExtend, On: privileges.Folder, When: WithLargerDisk},
	{Method: "CloneVM_Task", Privilege: "VApp.ApplicationConfig", On: privileges.Folder},
	{Method: "ReconfigVM_Task", Privilege: "VirtualMachine.Config.AdvancedConfig", On: privileges.VM},
	{Method: "PowerOnVM_Task", Privilege: "VirtualMachine.Interact.PowerOn", On: privileges.VM},
	{Method: "PowerOffVM_Task", Privilege: "VirtualMachine.Interact.PowerOff", On: privileges.VM},
	{Method: "Destroy_Task", Privilege: "VirtualMachine.Inventory.Delete", On: privileges.VM},
}

const diskExtend = "VirtualMachine.Config.DiskExtend"

// PrivilegesOn are those that a role for objects of these kinds must have, each once, without those that every role has.
func PrivilegesOn(needs []privileges.Need, kinds ...string) (all []string) {
	for _, need := range needs {
		if slices.Contains(kinds, need.On) && !strings.HasPrefix(need.Privilege, "System.") {
			all = append(all, need.Privilege)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// extends says whether a clone makes a disk of its source larger.
func (v *VCenter) extends(request *types.CloneVM_Task) bool {
	source, ok := v.model.Map().Get(request.This).(*template)
	if !ok || request.Spec.Config == nil {
		return false
	}
	has := map[int32]int64{}
	for _, device := range source.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			has[disk.Key] = disk.CapacityInKB
		}
	}
	return slices.ContainsFunc(request.Spec.Config.DeviceChange, func(change types.BaseVirtualDeviceConfigSpec) bool {
		disk, ok := change.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk)
		return ok && disk.CapacityInKB > has[disk.Key]
	})
}
