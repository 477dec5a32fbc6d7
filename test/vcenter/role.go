package vcenter

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// role is what our account may do.
type role struct {
	mu    sync.Mutex
	lacks map[string]string // privileges by the methods that need them
	has   []string          // nil: all
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

func (v *VCenter) forbidden(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	if ctx.Session.UserName == hypervisor {
		return nil
	}
	if privilege := v.role.lacks[method.Name]; privilege != "" {
		return denied(privilege, method.This)
	}
	if v.role.has == nil {
		return nil
	}
	all := takenBy(method)
	if len(all) == 0 {
		return denied("whatever "+method.Name+" takes: it is not in Needs", method.This)
	}
	for _, one := range all {
		if !slices.Contains(v.role.has, one.privilege) {
			return denied(one.privilege, one.on)
		}
	}
	return nil
}

// denied is the fault of a vCenter. Since vSphere 8.0 it lists what is missing, too.
func denied(privilege string, on types.ManagedObjectReference) *types.NoPermission {
	return &types.NoPermission{Object: &on, PrivilegeId: privilege, MissingPrivileges: []types.NoPermissionEntityPrivileges{
		{Entity: on, PrivilegeIds: []string{privilege}},
	}}
}
