package vsphere

import (
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inspect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
)

// comfortable are the permissions of the page without which a machine lives as well: that on the vCenter itself, and that on the
// cluster.
func comfortable(one permission) bool {
	return one.path == "/" || one.On.Type == "ClusterComputeResource"
}

// inspectedWith are the findings for an account with these permissions.
func inspectedWith(t *testing.T, v *stage, given []permission) map[string]inspect.Finding {
	t.Helper()
	var permits []vcenter.Permission
	for _, one := range given {
		permits = append(permits, one.Permission)
	}
	v.Permit(permits...)
	spec := *v.spec().VSphere
	spec.Datastore, spec.CoresPerSocket = "LocalDS_0", 2
	spec.NetworkInterfaces = []infrav1.VSphereNetworkInterface{
		{Name: "node", Network: "DC0_DVPG0"}, {Name: "storage", Network: "DC0_DVPG0"},
	}
	return inspectedBy(t, v, v.Credentials(), spec)
}

// TestInspectLayouts: the check finds nothing to mend with the permissions of the page, and neither with the smaller layout, in
// which the account sees neither the vCenter itself nor the cluster.
func TestInspectLayouts(t *testing.T) {
	for name, leaves := range map[string]func(permission) bool{
		"all of the page":     func(permission) bool { return false },
		"without the vCenter": func(one permission) bool { return one.path == "/" },
		"without the cluster": func(one permission) bool { return one.On.Type == "ClusterComputeResource" },
		"without both":        comfortable,
	} {
		t.Run(name, func(t *testing.T) {
			v := newPrivileged(t)
			wantOnly(t, inspectedWith(t, v, slices.DeleteFunc(permissionsOfPage(t, v), leaves)))
		})
	}
}

// TestInspectPermissionMissing: each other permission of the page that is not given is told by the check of its object, and the
// checks of others do not fail for it.
func TestInspectPermissionMissing(t *testing.T) {
	network := []string{"networkInterfaces[0].network", "networkInterfaces[1].network"}
	checks := map[string][]string{
		"Datacenter": {"datacenter"}, "Folder": {"folder"}, "ResourcePool": {"resourcePool"}, "VirtualMachine": {"image.template"},
		"Datastore": {"datastore"}, "DistributedVirtualPortgroup": network, "DistributedVirtualSwitch": network,
	}
	for i, one := range permissionsOfPage(t, newStage(t)) {
		if comfortable(one) {
			continue
		}
		t.Run(strings.Trim(one.path, "/"), func(t *testing.T) {
			v := newPrivileged(t)
			found := inspectedWith(t, v, slices.Delete(permissionsOfPage(t, v), i, i+1))
			wanted := checks[one.On.Type]
			for check, f := range found {
				about := slices.ContainsFunc(wanted, func(name string) bool { return strings.HasSuffix(check, name) })
				if f.Result == inspect.Failed && !about {
					t.Errorf("%s: %s", check, f.Text)
				}
			}
			told := slices.ContainsFunc(wanted, func(name string) bool {
				return found[name].Result == inspect.Failed || found["privileges on "+name].Result == inspect.Failed
			})
			if !told {
				t.Errorf("%s: nothing tells of it: %+v", one.On.Type, found)
			}
		})
	}
}
