package vcenter

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
)

// role is what our account may do.
type role struct {
	mu      sync.Mutex
	lacks   map[string]string // privileges by the methods that need them
	has     []string          // nil: all
	permits []Permission      // nil: the role is given on everything
	used    map[Used]bool
}

// Permission gives our account a role on an object and, if it propagates, on all beneath.
type Permission struct {
	On         types.ManagedObjectReference
	Privileges []string
	Propagate  bool
	NoAccess   bool // the role of that name, which has not even System.View
}

// Used is a privilege of a permission that a call has needed.
type Used struct {
	On        types.ManagedObjectReference // of the permission
	Privilege string
	Kind      string // of the object that the call was about
}

// Deny takes the privilege that a method needs from our account; an empty one gives it back. A vCenter answers such a call with
// the fault NoPermission, before it makes a task.
func (v *VCenter) Deny(method, privilege string) {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	if v.role.lacks == nil {
		v.role.lacks = map[string]string{}
	}
	v.role.lacks[method] = privilege
}

// Grant gives our account a role with these privileges and no others. A method that Needs does not list is refused then, because
// each method of a vCenter takes a privilege.
func (v *VCenter) Grant(privileges []string) {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	v.role.has = slices.Clone(privileges)
}

// Permit gives our account these permissions and no others. The rules are those of the vSphere security guide ("Hierarchical
// Inheritance of Permissions"): of a user's permissions the one on the object itself counts, then the nearest above it that
// propagates; and each role has System.Anonymous, System.View and System.Read. A part of a complex entity can have none: see
// complex.go.
func (o *Owner) Permit(all ...Permission) {
	o.t.Helper()
	for _, one := range all {
		object, _ := o.model.Map().Get(one.On).(mo.Entity)
		if object == nil {
			o.t.Fatalf("there is no %s to give a permission on", one.On)
		}
		if whole, isPart := o.wholeOf(object); isPart {
			o.t.Fatalf("%s is a part of %s and can have no permission of its own", one.On, whole)
		}
	}
	o.role.mu.Lock()
	o.role.has, o.role.permits, o.role.used = append(Privileges(), diskExtend), slices.Clone(all), map[Used]bool{}
	o.role.mu.Unlock()
	o.lookAnew()
}

// Used are the privileges of permissions that calls have needed since Permit.
func (v *VCenter) Used() map[Used]bool {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	return maps.Clone(v.role.used)
}

func (v *VCenter) forbidden(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	switch ctx.Session.UserName {
	case hypervisor:
		return nil
	case CloudProvider:
		return v.readOnly(method)
	}
	all := v.takenBy(method)
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	if privilege := v.role.lacks[method.Name]; privilege != "" {
		return denied(privilege, method.This)
	}
	if v.role.has == nil {
		return nil
	}
	if len(all) == 0 {
		return denied("whatever "+method.Name+" takes: it is not in Needs", method.This)
	}
	for _, one := range all {
		if !v.granted(one.privilege, one.on) {
			return denied(one.privilege, one.on)
		}
	}
	return nil
}

// granted says whether our account has a privilege on an object, and notes that it was needed. The caller holds the lock.
func (v *VCenter) granted(privilege string, on types.ManagedObjectReference) bool {
	system := strings.HasPrefix(privilege, "System.")
	if v.role.has != nil && !slices.Contains(v.role.has, privilege) {
		return false
	}
	if v.role.permits == nil {
		return true
	}
	at := v.model.Map().Get(on)
	object, isEntity := at.(mo.Entity)
	if !isEntity { // it belongs to everyone who is logged in, or to the session; or it is gone, and the method itself answers that
		return system || at == nil
	}
	given := v.permissionOn(object)
	if given == nil || given.NoAccess || !system && !slices.Contains(given.Privileges, privilege) {
		return false
	}
	v.role.used[Used{given.On, privilege, on.Type}] = true
	return true
}

// mayView says whether our account may see an object, and notes that it wanted to.
func (v *VCenter) mayView(on types.ManagedObjectReference) bool {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	return v.granted("System.View", on)
}

// permissionOn is the one that counts on an object; nil if there is none.
func (v *VCenter) permissionOn(object mo.Entity) *Permission {
	for at, own := object, true; at != nil; own = false {
		on := at.Reference()
		if whole, isPart := v.wholeOf(at); isPart {
			on = whole
		}
		for i, given := range v.role.permits {
			if given.On == on && (own || given.Propagate) {
				return &v.role.permits[i]
			}
		}
		parent := at.Entity().Parent
		if parent == nil {
			return nil
		}
		at, _ = v.model.Map().Get(*parent).(mo.Entity)
	}
	return nil
}

// denied is the fault of a vCenter. Since vSphere 8.0 it lists what is missing, too.
func denied(privilege string, on types.ManagedObjectReference) *types.NoPermission {
	return &types.NoPermission{Object: &on, PrivilegeId: privilege, MissingPrivileges: []types.NoPermissionEntityPrivileges{
		{Entity: on, PrivilegeIds: []string{privilege}},
	}}
}

// authorization answers what our account may do. The simulator's own says that everyone may do everything.
type authorization struct {
	*simulator.AuthorizationManager
	lab *VCenter
}

// HasPrivilegeOnEntities is called by the simulator.
func (a *authorization) HasPrivilegeOnEntities(ctx *simulator.Context, r *types.HasPrivilegeOnEntities) soap.HasFault {
	if r.SessionId != ctx.Session.Key {
		return &methods.HasPrivilegeOnEntitiesBody{Fault_: simulator.Fault("", new(types.NotFound))}
	}
	var all []types.EntityPrivilege
	for _, entity := range r.Entity {
		one := types.EntityPrivilege{Entity: entity}
		for _, privilege := range r.PrivId {
			one.PrivAvailability = append(one.PrivAvailability, types.PrivilegeAvailability{
				PrivId: privilege, IsGranted: a.lab.mayDo(privilege, entity),
			})
		}
		all = append(all, one)
	}
	return &methods.HasPrivilegeOnEntitiesBody{Res: &types.HasPrivilegeOnEntitiesResponse{Returnval: all}}
}

// mayDo says whether our account has a privilege on an object. To be asked uses none.
func (v *VCenter) mayDo(privilege string, on types.ManagedObjectReference) bool {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	for method, lacking := range v.role.lacks {
		of := func(need privileges.Need) bool { return need.Method == method && need.Privilege == privilege }
		if lacking == privilege && slices.ContainsFunc(privileges.Needs, of) {
			return false
		}
	}
	used := maps.Clone(v.role.used)
	defer func() { v.role.used = used }()
	return v.granted(privilege, on)
}
