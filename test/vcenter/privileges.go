package vcenter

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Need is a privilege that a method takes, and on what.
type Need struct {
	Method, Privilege, On string
	When                  string // it is needed only then
}

// Needs are the privileges that the methods which we call take. They are those of the vSphere Web Services API reference (8.0.3:
// "Required privileges" of a method and of its parameters, "Reconfigure privilege" of each property of VirtualMachineConfigSpec,
// which a clone's spec has as well). Network.Assign is what the vSphere security guide asks for ("Required Privileges for Common
// Tasks", deploy a virtual machine from a template). The roles of vSphere have System.* without a word of ours, as soon as a role
// is given on an object.
var Needs = []Need{
	{"CancelRetrievePropertiesEx", "System.Anonymous", "property collector", ""},
	{"ContinueRetrievePropertiesEx", "System.Anonymous", "property collector", ""},
	{"CreateContainerView", "System.View", "root folder", ""},
	{"CreateFilter", "System.View", "property collector", ""},
	{"CreateListView", "System.View", "view manager", ""},
	{"CreatePropertyCollector", "System.View", "property collector", ""},
	{"CurrentTime", "System.View", "service instance", ""},
	{"DestroyPropertyCollector", "System.View", "property collector", ""},
	{"DestroyPropertyFilter", "System.View", "property collector", ""},
	{"DestroyView", "System.View", "view", ""},
	{"FindByInventoryPath", "System.View", "datacenter, folder, resource pool, datastore, networks, template", ""},
	{"FindByUuid", "System.View", "VM", ""},
	{"FindChild", "System.View", "folder", ""},
	{"Login", "System.Anonymous", "session manager", ""},
	{"Logout", "System.View", "session manager", ""},
	{"ModifyListView", "System.View", "view", ""},
	{"QueryEvents", "System.View", "event manager", ""},
	{"RetrieveProperties", "System.Anonymous", "property collector", ""},
	{"RetrievePropertiesEx", "System.Anonymous", "property collector", ""},
	{"RetrievePropertiesEx", "System.Read", "template, VM, resource pool, networks and their switches", ""},
	{"RetrieveServiceContent", "System.Anonymous", "service instance", ""},
	{"WaitForUpdatesEx", "System.View", "property collector", ""},
	{"WaitForUpdatesEx", "System.Read", "VM, task", ""},

	{"CloneVM_Task", "VirtualMachine.Provisioning.DeployTemplate", "template", ""},
	{"CloneVM_Task", "VirtualMachine.Inventory.CreateFromExisting", "folder", ""},
	{"CloneVM_Task", "Resource.AssignVMToPool", "resource pool", ""},
	{"CloneVM_Task", "Datastore.AllocateSpace", "datastore", ""},
	{"CloneVM_Task", "Network.Assign", "networks", "spec.vsphere.networkInterfaces is set"},
	{"CloneVM_Task", "VirtualMachine.Config.Settings", "folder", ""},
	{"CloneVM_Task", "VirtualMachine.Config.AdvancedConfig", "folder", ""},
	{"CloneVM_Task", "VirtualMachine.Config.CPUCount", "folder", "spec.vsphere.cpus or coresPerSocket is set"},
	{"CloneVM_Task", "VirtualMachine.Config.Memory", "folder", "spec.vsphere.memoryMiB is set"},
	{"CloneVM_Task", "VirtualMachine.Config.EditDevice", "folder", "the template has a network adapter that changes"},
	{"CloneVM_Task", "VirtualMachine.Config.AddRemoveDevice", "folder", "the template has more or fewer network adapters"},
	{"CloneVM_Task", "VApp.ApplicationConfig", "folder", "the template has a vApp configuration, as an OVA has"},
	{"ReconfigVM_Task", "VirtualMachine.Config.AdvancedConfig", "VM", ""},
	{"PowerOnVM_Task", "VirtualMachine.Interact.PowerOn", "VM", ""},
	{"PowerOffVM_Task", "VirtualMachine.Interact.PowerOff", "VM", ""},
	{"Destroy_Task", "VirtualMachine.Inventory.Delete", "VM", ""},
}

// Privileges that an account needs, each once.
func Privileges() (all []string) {
	for _, need := range Needs {
		all = append(all, need.Privilege)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

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
