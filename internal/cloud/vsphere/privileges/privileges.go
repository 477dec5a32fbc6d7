// Package privileges is the list of what an account needs in a vCenter: each method that we call, the privilege that it takes,
// and on what. The page, the check of the plugin and the simulator of the tests use this one list.
package privileges

import "slices"

// When a privilege is needed, if not always.
const (
	WithNetworks  = "spec.vsphere.networkInterfaces is set"
	WithCPUs      = "spec.vsphere.cpus or coresPerSocket is set"
	WithMemory    = "spec.vsphere.memoryMiB is set"
	WithEdits     = "the template has a network adapter that changes"
	WithAdditions = "the template has more or fewer network adapters"
	WithVApp      = "the template has a vApp configuration, as an OVA has"
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
	{"CloneVM_Task", "Network.Assign", "networks", WithNetworks},
	{"CloneVM_Task", "VirtualMachine.Config.Settings", "folder", ""},
	{"CloneVM_Task", "VirtualMachine.Config.AdvancedConfig", "folder", ""},
	{"CloneVM_Task", "VirtualMachine.Config.CPUCount", "folder", WithCPUs},
	{"CloneVM_Task", "VirtualMachine.Config.Memory", "folder", WithMemory},
	{"CloneVM_Task", "VirtualMachine.Config.EditDevice", "folder", WithEdits},
	{"CloneVM_Task", "VirtualMachine.Config.AddRemoveDevice", "folder", WithAdditions},
	{"CloneVM_Task", "VApp.ApplicationConfig", "folder", WithVApp},
	{"ReconfigVM_Task", "VirtualMachine.Config.AdvancedConfig", "VM", ""},
	{"PowerOnVM_Task", "VirtualMachine.Interact.PowerOn", "VM", ""},
	{"PowerOffVM_Task", "VirtualMachine.Interact.PowerOff", "VM", ""},
	{"Destroy_Task", "VirtualMachine.Inventory.Delete", "VM", ""},
}

// All privileges that an account needs, each once.
func All() (all []string) {
	for _, need := range Needs {
		all = append(all, need.Privilege)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
