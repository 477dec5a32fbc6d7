package vcenter

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// role is what our account lacks, by the methods that need it.
type role struct {
	mu    sync.Mutex
	lacks map[string]string
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

func (v *VCenter) forbidden(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	v.role.mu.Lock()
	defer v.role.mu.Unlock()
	privilege := v.role.lacks[method.Name]
	if privilege == "" || ctx.Session.UserName == hypervisor {
		return nil
	}
	return &types.NoPermission{Object: &method.This, PrivilegeId: privilege}
}
