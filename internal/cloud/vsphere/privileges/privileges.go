// Package privileges is the list of what an account needs in a vCenter. The page for the vCenter's administrator, the check of
// the plugin and the simulator of the tests use this one list.
package privileges

import "slices"

// What a privilege is taken on. A role on the folder propagates to its VMs.
const (
	Folder    = "folder"
	VM        = "VM"
	Template  = "template"
	Pool      = "resource pool"
	Datastore = "datastore"
	Networks  = "networks"
)

// When a privilege is needed, if not always.
const (
	WithNetworks  = "`networkInterfaces` is set, or an adapter of the template does not start connected"
	WithCPUs      = "`cpus` or `coresPerSocket` is set"
	WithMemory    = "`memoryMiB` is set"
	WithEdits     = "an adapter of the template changes: its network, or that it starts connected"
	WithAdditions = "the template has more or fewer adapters than `networkInterfaces`"
	WithVApp      = "the template has a vApp configuration, as an OVA has"
)

// Need is a privilege that a method takes, and on what.
type Need struct {
	Method, Privilege, On string
	When                  string // it is needed only then
}

// Needs are the privileges that the methods which we call take. They are those of the vSphere Web Services API reference (8.0.3:
// "Required privileges" of a method and of its parameters, "Reconfigure privilege" of each property of VirtualMachineConfigSpec,
// which a clone's spec has as well). Network.Assign and VirtualMachine.Config.AddNewDisk are what the vSphere security guide asks
// for ("Required Privileges for Common Tasks", deploy a virtual machine from a template). The roles of vSphere have System.*
// without a word of ours, as soon as a role is given on an object.
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
	{"FindByUuid", "System.View", VM, ""},
	{"FindChild", "System.View", Folder, ""},
	{"HasPrivilegeOnEntities", "System.Read", "all that the check of the plugin compares", ""},
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

	{"CloneVM_Task", "VirtualMachine.Provisioning.DeployTemplate", Template, ""},
	{"CloneVM_Task", "VirtualMachine.Inventory.CreateFromExisting", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.AddNewDisk", Folder, ""},
	{"CloneVM_Task", "Resource.AssignVMToPool", Pool, ""},
	{"CloneVM_Task", "Datastore.AllocateSpace", Datastore, ""},
	{"CloneVM_Task", "Network.Assign", Networks, WithNetworks},
	{"CloneVM_Task", "VirtualMachine.Config.Settings", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.AdvancedConfig", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.CPUCount", Folder, WithCPUs},
	{"CloneVM_Task", "VirtualMachine.Config.Memory", Folder, WithMemory},
	{"CloneVM_Task", "VirtualMachine.Config.EditDevice", Folder, WithEdits},
	{"CloneVM_Task", "VirtualMachine.Config.AddRemoveDevice", Folder, WithAdditions},
	{"CloneVM_Task", "VirtualMachine.Interact.DeviceConnection", Folder, WithNetworks},
	{"CloneVM_Task", "VApp.ApplicationConfig", Folder, WithVApp},
	{"ReconfigVM_Task", "VirtualMachine.Config.AdvancedConfig", VM, ""},
	{"PowerOnVM_Task", "VirtualMachine.Interact.PowerOn", VM, ""},
	{"PowerOffVM_Task", "VirtualMachine.Interact.PowerOff", VM, ""},
	{"Destroy_Task", "VirtualMachine.Inventory.Delete", VM, ""},
}

// CloneVM is taken instead of DeployTemplate on a VM that is not a template. The roles of the page lack it.
const CloneVM = "VirtualMachine.Provisioning.Clone"

// CloneEncrypted is taken as well on a source that is encrypted or has a virtual TPM (vSphere security guide, "Cryptographic
// Operations Privileges"). The roles of the page lack it.
const CloneEncrypted = "Cryptographer.Clone"

// All privileges that an account needs, each once.
func All() (names []string) {
	for _, need := range Needs {
		names = append(names, need.Privilege)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
