package vcenter

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
)

// Privileges that an account needs, each once.
func Privileges() []string { return privileges.All() }

// taken is a privilege that a call takes on an object.
type taken struct {
	privilege string
	on        types.ManagedObjectReference
}

// takenBy a call are the privileges that it takes, by what it asks for.
func (v *VCenter) takenBy(method *simulator.Method) (all []taken) {
	switch request := method.Body.(type) {
	case *types.CloneVM_Task:
		return v.takenToClone(request)
	case *types.ReconfigVM_Task:
		return v.takenToConfigure(&request.Spec, request.This)
	case *types.CreateContainerView:
		return []taken{{"System.View", request.Container}}
	case *types.RetrievePropertiesEx:
		v.noteOwners(request.SpecSet)
		return v.takenToRead(request.This, request.SpecSet)
	case *types.FindChild:
		return []taken{{"System.View", request.Entity}}
	case *types.HasPrivilegeOnEntities:
		for _, entity := range request.Entity {
			all = append(all, taken{"System.Read", entity})
		}
		return all
	}
	for _, need := range privileges.Needs {
		if need.Method == method.Name {
			all = append(all, taken{need.Privilege, method.This})
		}
	}
	return all
}

// takenToRead objects: those that a filter names, a task as its entity. What it leads to from there is left out: see sight.go.
func (v *VCenter) takenToRead(collector types.ManagedObjectReference, filters []types.PropertyFilterSpec) []taken {
	all := []taken{{"System.Anonymous", collector}}
	for _, filter := range filters {
		for _, object := range filter.ObjectSet {
			all = append(all, taken{"System.Read", v.entityOf(object.Obj)})
		}
	}
	return all
}

// noteOwners notes that the cluster of a resource pool is read on the way to its networks. A vCenter leaves out what the account
// may not read; the simulator tells it.
func (v *VCenter) noteOwners(filters []types.PropertyFilterSpec) {
	for _, filter := range filters {
		for _, object := range filter.ObjectSet {
			if pool, ok := v.model.Map().Get(object.Obj).(*simulator.ResourcePool); ok && len(object.SelectSet) > 0 {
				v.mayView(pool.Owner)
			}
		}
	}
}

func (v *VCenter) takenToClone(request *types.CloneVM_Task) []taken {
	clone := "VirtualMachine.Provisioning.DeployTemplate"
	if _, isTemplate := v.model.Map().Get(request.This).(*template); !isTemplate {
		clone = privileges.CloneVM
	}
	all := []taken{
		{clone, request.This},
		{"VirtualMachine.Inventory.CreateFromExisting", request.Folder},
		{"VirtualMachine.Config.AddNewDisk", request.Folder},
	}
	if pool := request.Spec.Location.Pool; pool != nil {
		all = append(all, taken{"Resource.AssignVMToPool", *pool})
	}
	all = append(all, taken{"Datastore.AllocateSpace", v.datastoreOf(request)})
	if request.Spec.Config != nil {
		all = append(all, v.takenToConfigure(request.Spec.Config, request.Folder)...)
	}
	if v.extends(request) {
		all = append(all, taken{diskExtend, request.Folder})
	}
	return all
}

// datastoreOf a clone is the template's if the clone names none.
func (v *VCenter) datastoreOf(request *types.CloneVM_Task) types.ManagedObjectReference {
	if to := request.Spec.Location.Datastore; to != nil {
		return *to
	}
	if source, ok := v.model.Map().Get(request.This).(*template); ok && len(source.Datastore) > 0 {
		return source.Datastore[0]
	}
	return types.ManagedObjectReference{Type: "Datastore", Value: "of the template"}
}

func (v *VCenter) takenToConfigure(spec *types.VirtualMachineConfigSpec, on types.ManagedObjectReference) (all []taken) {
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
		if c.Operation == types.VirtualDeviceConfigSpecOperationRemove {
			continue
		}
		if c.Device.GetVirtualDevice().Connectable != nil {
			all = append(all, taken{"VirtualMachine.Interact.DeviceConnection", on})
		}
		all = append(all, v.takenToConnect(c.Device)...)
	}
	return all
}

// takenToConnect an adapter to a network.
func (v *VCenter) takenToConnect(device types.BaseVirtualDevice) []taken {
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
	return []taken{{"Network.Assign", v.networkOf(network)}}
}

// networkOf what an adapter says of its network: the name of a standard one, and keys of the others.
func (v *VCenter) networkOf(said types.ManagedObjectReference) types.ManagedObjectReference {
	for _, one := range v.model.Map().All(said.Type) {
		switch n := one.(type) {
		case *mo.Network:
			if n.Name == said.Value {
				return n.Self
			}
		case *mo.OpaqueNetwork:
			if s, ok := n.Summary.(*types.OpaqueNetworkSummary); ok && s.OpaqueNetworkId == said.Value {
				return n.Self
			}
		case *simulator.DistributedVirtualPortgroup:
			if n.Key == said.Value {
				return n.Self
			}
		}
	}
	return said
}
