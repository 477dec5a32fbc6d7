package vcenter

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Limited is a user whose role begins at the datacenter. In the inventory's root folder he has no right at all.
const Limited = "limited@vsphere.local"

// refusedRoot refuses a limited user the view of all that is in the root folder. A method needs its privilege on the object
// that it is about: here "System.View" on the container (vSphere Web Services API, ViewManager.CreateContainerView).
func (v *VCenter) refusedRoot(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	request, ok := method.Body.(*types.CreateContainerView)
	if !ok || ctx.Session.UserName != Limited || request.Container != v.model.ServiceContent.RootFolder {
		return nil
	}
	return &types.NoPermission{Object: &request.Container, PrivilegeId: "System.View"}
}
