// Package privileges lists the privileges that an account needs in a vCenter. A caller may rely on this, and need not read how:
//
//   - Needs has each privilege with the call that takes it, the object on which it is taken, and when. The lab's vCenter refuses
//     calls by this list, docs/vcenter.md shows it, and preflight/ compares an account with it: there is no other list.
//   - Of names what a role must have on an object of a kind. It is pure.
package privileges

import (
	"slices"
	"strings"
)

// Object is the kind of object on which a privilege is taken.
type Object string

// The kinds of objects. What is taken on a VM is granted on its folder, from where it propagates.
const (
	Folder    Object = "VM folder"
	VM        Object = "VMs in the folder"
	Template  Object = "template"
	Pool      Object = "resource pool"
	Datastore Object = "datastore"
	Network   Object = "network"
	// Seen are the objects that are only read, and what belongs to the session itself.
	Seen Object = "all that is read"
)

// Need is a privilege that a call takes, and on what.
type Need struct {
	Call, Privilege string
	On              Object
	When            string // it is needed only then
}

// Needs are those of the vSphere Web Services API reference (8.0.3: "Required privileges" of a method and of its parameters,
// "Reconfigure privilege" of each property of VirtualMachineConfigSpec, which a clone's spec has as well). Network.Assign and
// VirtualMachine.Config.AddNewDisk are what the vSphere security guide asks for ("Required Privileges for Common Tasks", deploy
// a virtual machine from a template). The roles of vSphere have System.* without a word of ours, as soon as a role is given on
// an object.
var Needs = []Need{
	{"CancelRetrievePropertiesEx", "System.Anonymous", Seen, ""},
	{"ContinueRetrievePropertiesEx", "System.Anonymous", Seen, ""},
	{"CreateContainerView", "System.View", Seen, ""},
	{"CreateFilter", "System.View", Seen, ""},
	{"CreateListView", "System.View", Seen, ""},
	{"CreatePropertyCollector", "System.View", Seen, ""},
	{"CurrentTime", "System.View", Seen, ""},
	{"DestroyPropertyCollector", "System.View", Seen, ""},
	{"DestroyPropertyFilter", "System.View", Seen, ""},
	{"DestroyView", "System.View", Seen, ""},
	{"FindByInventoryPath", "System.View", Seen, ""},
	{"FindByUuid", "System.View", Seen, ""},
	{"FindChild", "System.View", Seen, ""},
	{"HasPrivilegeOnEntities", "System.Read", Seen, ""},
	{"Login", "System.Anonymous", Seen, ""},
	{"Logout", "System.View", Seen, ""},
	{"ModifyListView", "System.View", Seen, ""},
	{"QueryEvents", "System.View", Seen, ""},
	{"RetrieveProperties", "System.Anonymous", Seen, ""},
	{"RetrievePropertiesEx", "System.Anonymous", Seen, ""},
	{"RetrievePropertiesEx", "System.Read", Seen, ""},
	{"RetrieveServiceContent", "System.Anonymous", Seen, ""},
	{"WaitForUpdatesEx", "System.View", Seen, ""},
	{"WaitForUpdatesEx", "System.Read", Seen, ""},

	{"CloneVM_Task", "VirtualMachine.Inventory.CreateFromExisting", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.AddNewDisk", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.Settings", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.AdvancedConfig", Folder, ""},
	{"CloneVM_Task", "VirtualMachine.Config.CPUCount", Folder, "`cpus` or `coresPerSocket` is set"},
	{"CloneVM_Task", "VirtualMachine.Config.Memory", Folder, "`memoryMiB` is set"},
	{"CloneVM_Task", "VirtualMachine.Config.EditDevice", Folder, "a network adapter of the template changes"},
	{"CloneVM_Task", "VirtualMachine.Interact.DeviceConnection", Folder, "a network adapter changes or is added"},
	{"CloneVM_Task", "VirtualMachine.Config.AddRemoveDevice", Folder, "the template has more or fewer network adapters"},
	{"CloneVM_Task", "VApp.ApplicationConfig", Folder, "the template has a vApp configuration, as an OVA has"},
	{"CloneVM_Task", "VirtualMachine.Provisioning.DeployTemplate", Template, ""},
	{"CloneVM_Task", "Resource.AssignVMToPool", Pool, ""},
	{"CloneVM_Task", "Datastore.AllocateSpace", Datastore, ""},
	{"CloneVM_Task", "Network.Assign", Network, "a network adapter changes or is added"},
	{"PowerOnVM_Task", "VirtualMachine.Interact.PowerOn", VM, "the clone could not switch the VM on itself"},
	{"ReconfigVM_Task", "VirtualMachine.Config.AdvancedConfig", VM, "the user data is taken out of the VM"},
	{"PowerOffVM_Task", "VirtualMachine.Interact.PowerOff", VM, ""},
	{"Destroy_Task", "VirtualMachine.Inventory.Delete", VM, ""},
}

// CloneVM is taken instead of DeployTemplate on a VM that is not a template. No role of ours has it.
const CloneVM = "VirtualMachine.Provisioning.Clone"

// Of returns the privileges that a role on an object of one of these kinds must have, each once. The roles of a vCenter have
// System.* by themselves.
func Of(kinds ...Object) (all []string) {
	for _, need := range Needs {
		if slices.Contains(kinds, need.On) && !strings.HasPrefix(need.Privilege, "System.") {
			all = append(all, need.Privilege)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
