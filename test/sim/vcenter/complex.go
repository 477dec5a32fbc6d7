package vcenter

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// wholeOf returns the complex entity that an object is a part of. "Child objects in a complex entity are forced to inherit
// permissions from the parent object. [...] Permissions defined on complex entities are always applicable on the child entities,
// regardless of the propagation flag, but may only be defined or modified on the parent object" (vSphere Web Services API,
// AuthorizationManager). Its list of parts has the root folders of VMs and of hosts of a datacenter, and so not those of networks
// and datastores; the root resource pool of a cluster; and the root resource pool and the host of a standalone compute resource.
func (v *VCenter) wholeOf(object mo.Entity) (whole types.ManagedObjectReference, isPart bool) {
	parent, part := object.Entity().Parent, object.Reference()
	if parent == nil {
		return whole, false
	}
	switch parent.Type + " " + part.Type {
	case "ClusterComputeResource ResourcePool", "ComputeResource ResourcePool", "ComputeResource HostSystem":
		return *parent, true
	case "Datacenter Folder":
		datacenter, ok := v.model.Map().Get(*parent).(*simulator.Datacenter)
		return *parent, ok && (part == datacenter.VmFolder || part == datacenter.HostFolder)
	}
	return whole, false
}

// SetEntityPermissions is called by the simulator. A part of a complex entity is refused: "InvalidArgument: [...] the entity does
// not support assigning permissions" (vSphere Web Services API, SetEntityPermissions). A user has one permission on an object: a
// second one takes the place of the first. The simulator takes away those of all users.
func (a *authorization) SetEntityPermissions(ctx *simulator.Context, r *types.SetEntityPermissions) soap.HasFault {
	object, isEntity := ctx.Map.Get(r.Entity).(mo.Entity)
	if !isEntity {
		return &methods.SetEntityPermissionsBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: r.Entity})}
	}
	if _, isPart := a.lab.wholeOf(object); isPart {
		return &methods.SetEntityPermissionsBody{Fault_: simulator.Fault("", &types.InvalidArgument{InvalidProperty: "entity"})}
	}
	for i := range r.Permission {
		r.Permission[i].Entity = &r.Entity
	}
	had := a.RetrieveEntityPermissions(ctx, &types.RetrieveEntityPermissions{Entity: r.Entity})
	if body, ok := had.(*methods.RetrieveEntityPermissionsBody); ok {
		for _, one := range body.Res.Returnval {
			same := func(p types.Permission) bool { return p.Principal == one.Principal && p.Group == one.Group }
			if !slices.ContainsFunc(r.Permission, same) {
				r.Permission = append(r.Permission, one)
			}
		}
	}
	return a.AuthorizationManager.SetEntityPermissions(r)
}
