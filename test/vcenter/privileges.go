package vcenter

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
)

// Need is a privilege that a method takes, and on what.
type Need = privileges.Need

// Needs are the privileges that the methods which we call take.
var Needs = privileges.Needs

// Privileges that an account needs, each once.
func Privileges() []string { return privileges.All() }

// taken is a privilege that a call takes on an object.
type taken struct {
	privilege string
	on        types.ManagedObjectReference
}

// takenBy a call are the privileges that it takes, by what it asks for.
func takenBy(method *simulator.Method) (all []taken) {
	clone, isClone := method.Body.(*types.CloneVM_Task)
	edit, isEdit := method.Body.(*types.ReconfigVM_Task)
	switch {
	case isClone:
		all = append(all, taken{"VirtualMachine.Provisioning.DeployTemplate", clone.This},
			taken{"VirtualMachine.Inventory.CreateFromExisting", clone.Folder})
		if pool := clone.Spec.Location.Pool; pool != nil {
			all = append(all, taken{"Resource.AssignVMToPool", *pool})
		}
		store := types.ManagedObjectReference{Type: "Datastore", Value: "of the template"}
		if clone.Spec.Location.Datastore != nil {
			store = *clone.Spec.Location.Datastore
		}
		all = append(all, taken{"Datastore.AllocateSpace", store})
		if clone.Spec.Config != nil {
			all = append(all, takenToConfigure(clone.Spec.Config, clone.Folder)...)
		}
		return all
	case isEdit:
		return takenToConfigure(&edit.Spec, edit.This)
	}
	for _, need := range Needs {
		if need.Method == method.Name {
			all = append(all, taken{need.Privilege, method.This})
		}
	}
	return all
}

func takenToConfigure(spec *types.VirtualMachineConfigSpec, on types.ManagedObjectReference) (all []taken) {
	for privilege, needed := range map[string]bool{
		"VirtualMachine.Config.Settings":       spec.Uuid != "" || spec.InstanceUuid != "" || spec.Flags != nil || spec.GuestId != "",
		"VirtualMachine.Config.AdvancedConfig": len(spec.ExtraConfig) > 0,
		"VirtualMachine.Config.CPUCount":       spec.NumCPUs > 0 || spec.NumCoresPerSocket != nil,
		"VirtualMachine.Config.Memory":         spec.MemoryMB > 0,
		"VirtualMachine.Config.Rename":         spec.Name != "",
		"VApp.ApplicationConfig":               spec.VAppConfig != nil || spec.VAppConfigRemoved != nil,
	} {
		if needed {
			all = append(all, taken{privilege, on})
		}
	}
	for _, change := range spec.DeviceChange {
		c := change.GetVirtualDeviceConfigSpec()
		privilege := "VirtualMachine.Config.AddRemoveDevice"
		if c.Operation == types.VirtualDeviceConfigSpecOperationEdit {
			privilege = "VirtualMachine.Config.EditDevice"
		}
		all = append(all, taken{privilege, on})
		if c.Operation != types.VirtualDeviceConfigSpecOperationRemove {
			all = append(all, takenToConnect(c.Device)...)
		}
	}
	return all
}

// takenToConnect an adapter to a network.
func takenToConnect(device types.BaseVirtualDevice) []taken {
	network := types.ManagedObjectReference{Type: "Network"}
	switch backing := device.GetVirtualDevice().Backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		network.Value = backing.DeviceName
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		network = types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		network = types.ManagedObjectReference{Type: "OpaqueNetwork", Value: backing.OpaqueNetworkId}
	default:
		return nil
	}
	return []taken{{"Network.Assign", network}}
}
