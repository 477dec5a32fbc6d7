package vsphere

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// permittedLife is privilegedLife in one network, and the life of a VM that its clone did not switch on.
func permittedLife(t *testing.T, v *stage, l layout, given []permission) error {
	t.Helper()
	late := v.machine("late")
	late.Spec.VSphere.ResourcePool = l.pool
	v.cloneBy(late, late.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	v.permit(given)
	if err := privilegedLife(t, v, l.pool); err != nil {
		return err
	}
	a := v.account()
	later := stoppedClock(a)
	if _, err := a.Ensure(t.Context(), late); err != nil {
		return err
	}
	later(next.PushTime)
	var failed error
	wait.Until(t, "the late VM to run", func() (any, bool) {
		var vm cloud.VM
		vm, failed = a.Ensure(t.Context(), late)
		return vm, failed != nil || vm.State == cloud.Running
	})
	return failed
}

// permit gives our account these permissions and no others.
func (s *stage) permit(these []permission) {
	s.t.Helper()
	var permits []vcenter.Permission
	for _, one := range these {
		permits = append(permits, one.Permission)
	}
	s.Permit(permits...)
}

// TestPermissionsOfPage: with the roles and permissions that the page's commands give, a machine lives its whole life, and the
// VMs of machines that are gone are found. Each permission and each privilege is used, on the kind of object that the list says.
func TestPermissionsOfPage(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			v := l.stage(t)
			given := permissionsOfPage(t, v, l)
			expect.OK(t, permittedLife(t, v, l, given))
			a := v.account()
			watched(t, a)
			orphans, known := a.Marked()
			expect.Same(t, "VMs that may be orphans", 1, len(orphans))
			expect.Same(t, "all VMs are known", true, known)

			used, unused := v.Used(), permissionsGranted(given)
			for one := range used {
				for _, given := range given {
					if given.On == one.On {
						delete(unused, given.role+" "+one.Privilege)
						delete(unused, given.role+" on "+given.path)
					}
				}
			}
			expect.Same(t, "granted minus used", map[string]bool{}, unused)
			expect.Same(t, "used, by the kind of object", permissionsListed(), permissionsByKind(used))
		})
	}
}

// permissionsGranted are the privileges of each role, and the objects on which it is given.
func permissionsGranted(given []permission) map[string]bool {
	all := map[string]bool{}
	for _, one := range given {
		all[one.role+" on "+one.path] = true
		for _, privilege := range one.Privileges {
			all[one.role+" "+privilege] = true
		}
	}
	return all
}

func permissionsByKind(used map[vcenter.Used]bool) map[string]bool {
	all := map[string]bool{}
	for one := range used {
		if !strings.HasPrefix(one.Privilege, "System.") {
			all[one.Privilege+" on "+one.Kind] = true
		}
	}
	return all
}

// permissionsListed is what the list says.
func permissionsListed() map[string]bool {
	kinds := map[string]string{
		privileges.Folder: "Folder", privileges.VM: "VirtualMachine", privileges.Template: "VirtualMachine",
		privileges.Pool: "ResourcePool", privileges.Datastore: "Datastore", privileges.Networks: "DistributedVirtualPortgroup",
	}
	all := map[string]bool{}
	for _, need := range privileges.Needs {
		if !strings.HasPrefix(need.Privilege, "System.") {
			all[need.Privilege+" on "+kinds[need.On]] = true
		}
	}
	return all
}

// unseen is what people read of the object of a permission that the vCenter does not find for the account.
func (l layout) unseen(one permission) string {
	kind := one.On.Type
	if one.role == "capwin-places" && strings.HasSuffix(kind, "ComputeResource") {
		kind = "ResourcePool" // its root pool
	}
	if l.sees && kind != "Datacenter" {
		return ""
	}
	return map[string]string{
		"Datacenter": `datacenter "DC0" is not in the vCenter`, "Folder": `folder "windows" is not in datacenter /DC0`,
		"ResourcePool":   `resourcePool "` + l.pool + `" is not in datacenter /DC0`,
		"VirtualMachine": `image.template "windows-2022-v1.36.3" is not in datacenter /DC0`,
		"Datastore":      `datastore "LocalDS_0" is not in datacenter /DC0`,
	}[kind]
}

// TestPermissionMissing: without one of the permissions, a machine fails with a sentence that names the object, and the privilege
// if the account may see the object, or if it is asked for by its reference. Two are for comfort: without that on the vCenter
// itself, folders are watched one by one; without Read-only on the cluster, networks are looked for in the whole datacenter.
func TestPermissionMissing(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		for i, one := range permissionsOfPage(t, l.stage(t), l) {
			t.Run(l.name+" "+strings.Trim(one.path, "/"), func(t *testing.T) {
				t.Parallel()
				v := l.stage(t)
				err := permittedLife(t, v, l, slices.Delete(permissionsOfPage(t, v, l), i, i+1))
				if comfortable(one) {
					expect.OK(t, err)
					return
				}
				if says := l.unseen(one); says != "" {
					expect.Says(t, "the machine", err, "spec.vsphere."+says+", or the vCenter account may not see it")
					return
				}
				cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
				on := one.On
				if strings.HasSuffix(on.Type, "ComputeResource") {
					on = objectAt(t, v, "/DC0/host/"+l.pool)
				}
				needed := append([]string{"System.Read"}, one.Privileges...)
				names := func(p string) bool {
					return strings.Contains(err.Error(), "the privilege "+p+" on "+on.Type+" "+on.Value)
				}
				if !slices.ContainsFunc(needed, names) {
					t.Errorf("people read: %v", err)
				}
			})
		}
	}
}
