package vcenter

import (
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestComplexEntities: the parts that the documents list have the permissions of the whole, whether they propagate or not. What
// is beneath a part, and what is beside it, has only those that propagate.
func TestComplexEntities(t *testing.T) {
	const privilege = "Resource.AssignVMToPool"
	o := New(t, func(m *simulator.Model) { m.Host = 1 }).Owner(t)
	at := func(path string) types.ManagedObjectReference {
		return expect.Got(object.NewSearchIndex(o.Client).FindByInventoryPath(t.Context(), path))(t).Reference()
	}
	root := expect.Got(find.NewFinder(o.Client).ResourcePool(t.Context(), "/DC0/host/"+ResourcePool))(t)
	expect.Got(root.Create(t.Context(), "nodes", types.DefaultResourceConfigSpec()))(t)
	for part, whole := range map[string]string{
		"/DC0/host/DC0_C0/Resources": "/DC0/host/DC0_C0", "/DC0/host/DC0_H0/Resources": "/DC0/host/DC0_H0",
		"/DC0/host/DC0_H0/DC0_H0": "/DC0/host/DC0_H0", "/DC0/vm": "/DC0", "/DC0/host": "/DC0",
	} {
		expect.Same(t, "refused on "+part, true, fault.Is(o.set(t, at(part), false), new(types.InvalidArgument)))
		o.Permit(Permission{On: at(whole), Privileges: []string{privilege}})
		expect.Same(t, part, true, o.mayDo(privilege, at(part)))
	}
	for beside, whole := range map[string]string{
		"/DC0/host/DC0_C0/Resources/nodes": "/DC0/host/DC0_C0", "/DC0/host/DC0_C0/DC0_C0_H0": "/DC0/host/DC0_C0",
		"/DC0/network": "/DC0", "/DC0/datastore": "/DC0", "/DC0/host/DC0_C0": "/DC0",
	} {
		expect.OK(t, o.set(t, at(beside), false))
		for _, propagate := range []bool{false, true} {
			o.Permit(Permission{On: at(whole), Privileges: []string{privilege}, Propagate: propagate})
			expect.Same(t, beside, propagate, o.mayDo(privilege, at(beside)))
		}
	}
}

// TestSetEntityPermissions: a user has one permission on an object, the last that was set. Those of others stay.
func TestSetEntityPermissions(t *testing.T) {
	o := New(t).Owner(t)
	root := o.Client.ServiceContent.RootFolder
	before := len(expect.Got(object.NewAuthorizationManager(o.Client).RetrieveAllPermissions(t.Context()))(t))
	for _, propagate := range []bool{false, true} {
		expect.OK(t, o.set(t, root, propagate))
		all := expect.Got(object.NewAuthorizationManager(o.Client).RetrieveAllPermissions(t.Context()))(t)
		expect.Same(t, "permissions", before+1, len(all))
		for _, one := range all {
			if one.Principal == Username {
				expect.Same(t, "on", root, *one.Entity)
				expect.Same(t, "propagates", propagate, one.Propagate)
			}
		}
	}
}

// set a permission of our account's, with the role Read-only.
func (o *Owner) set(t *testing.T, on types.ManagedObjectReference, propagate bool) error {
	t.Helper()
	manager := object.NewAuthorizationManager(o.Client)
	roles := expect.Got(manager.RoleList(t.Context()))(t)
	return manager.SetEntityPermissions(t.Context(), on, []types.Permission{
		{Principal: Username, RoleId: roles.ByName("ReadOnly").RoleId, Propagate: propagate},
	})
}
