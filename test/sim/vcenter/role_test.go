package vcenter

import (
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// roleAnswers says whether a user has a privilege on an object, as the vCenter tells that user.
func roleAnswers(t *testing.T, c *vim25.Client, privilege string, on types.ManagedObjectReference) (bool, error) {
	t.Helper()
	var manager mo.SessionManager
	expect.OK(t, property.DefaultCollector(c).RetrieveOne(t.Context(), *c.ServiceContent.SessionManager,
		[]string{"currentSession"}, &manager))
	answer, err := methods.HasPrivilegeOnEntities(t.Context(), c, &types.HasPrivilegeOnEntities{
		This: *c.ServiceContent.AuthorizationManager, SessionId: manager.CurrentSession.Key, PrivId: []string{privilege},
		Entity: []types.ManagedObjectReference{on},
	})
	if err != nil {
		return false, err
	}
	return answer.Returnval[0].PrivAvailability[0].IsGranted, nil
}

// TestPermit: the permission on an object counts before those above it, and of these the nearest that propagates.
func TestPermit(t *testing.T) {
	const privilege = "VirtualMachine.Inventory.Delete"
	o := New(t).Owner(t)
	c := o.loggedIn(t, Username)
	o.Occupy("vm")
	vm := o.VM("vm").Reference()
	folder, datacenter := o.FolderOf("vm").Reference(), o.model.Map().Any("Datacenter").Reference()
	none, all := []string{}, []string{privilege}
	for name, given := range map[string]struct {
		permits []Permission
		want    bool
	}{
		"on itself":               {[]Permission{{vm, all, false, false}}, true},
		"inherited":               {[]Permission{{datacenter, all, true, false}}, true},
		"not propagated":          {[]Permission{{vm, none, false, false}, {datacenter, all, false, false}}, false},
		"itself before inherited": {[]Permission{{vm, none, false, false}, {folder, all, true, false}}, false},
		"the nearest":             {[]Permission{{datacenter, all, true, false}, {folder, none, true, false}}, false},
		"past one of its own":     {[]Permission{{datacenter, all, true, false}, {folder, none, false, false}}, true},
	} {
		o.Permit(given.permits...)
		expect.Same(t, name, given.want, expect.Got(roleAnswers(t, c, privilege, vm))(t))
	}
	o.Permit(Permission{datacenter, all, false, false})
	if _, err := roleAnswers(t, c, privilege, vm); !soap.IsSoapFault(err) {
		t.Errorf("an object without a permission can be asked for: %v", err)
	}
	for used := range o.Used() {
		if used.Privilege == privilege {
			t.Errorf("it counts as used that %v was asked for", used)
		}
	}
}

// TestGoneBeforeDenied: a call to an object that is gone fails for that, not for a privilege that nobody can have on it.
func TestGoneBeforeDenied(t *testing.T) {
	o := New(t).Owner(t)
	o.Occupy("vm")
	vm := object.NewVirtualMachine(o.loggedIn(t, Username), o.VM("vm").Reference())
	o.Permit(Permission{On: o.Client.ServiceContent.RootFolder, Propagate: true})
	_, err := vm.PowerOff(t.Context())
	expect.Same(t, "a privilege is missing", true, fault.Is(err, new(types.NoPermission)))
	o.Remove("vm")
	_, err = vm.PowerOff(t.Context())
	expect.Same(t, "it is gone", true, fault.Is(err, new(types.ManagedObjectNotFound)))
}
