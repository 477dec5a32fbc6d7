package vsphere

import (
	"path"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inspect"
)

// comfortable are the permissions of the page without which a machine lives as well: that on the vCenter itself, and Read-only on
// the cluster or host.
func comfortable(one permission) bool {
	return one.path == "/" || one.role == "ReadOnly" && strings.HasSuffix(one.On.Type, "ComputeResource")
}

// inspectedWith are the findings for an account with these permissions.
func inspectedWith(t *testing.T, v *stage, l layout, given []permission) map[string]inspect.Finding {
	t.Helper()
	v.permit(given)
	spec := *v.spec().VSphere
	spec.ResourcePool, spec.Datastore, spec.CoresPerSocket = l.pool, "LocalDS_0", 2
	spec.NetworkInterfaces = []infrav1.VSphereNetworkInterface{
		{Name: "node", Network: "DC0_DVPG0"}, {Name: "storage", Network: "DC0_DVPG0"},
	}
	return inspectedBy(t, v, v.Credentials(), spec)
}

// TestInspectLayouts: the check finds nothing to mend with the permissions of the page, and neither with the smaller layout, in
// which the account sees neither the vCenter itself nor the cluster.
func TestInspectLayouts(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		for name, leaves := range map[string]func(permission) bool{
			"all of the page":     func(permission) bool { return false },
			"without the vCenter": func(one permission) bool { return one.path == "/" },
			"without the cluster": func(one permission) bool { return comfortable(one) && one.path != "/" },
			"without both":        comfortable,
		} {
			t.Run(l.name+" "+name, func(t *testing.T) {
				t.Parallel()
				v := l.stage(t)
				wantOnly(t, inspectedWith(t, v, l, slices.DeleteFunc(permissionsOfPage(t, v, l), leaves)))
			})
		}
	}
}

// TestInspectPermissionMissing: each other permission of the page that is not given is told by the check of its object, and the
// checks of others do not fail for it.
func TestInspectPermissionMissing(t *testing.T) {
	t.Parallel()
	for _, l := range layouts {
		for i, one := range permissionsOfPage(t, l.stage(t), l) {
			if comfortable(one) {
				continue
			}
			t.Run(l.name+" "+strings.Trim(one.path, "/"), func(t *testing.T) {
				t.Parallel()
				v := l.stage(t)
				found := inspectedWith(t, v, l, slices.Delete(permissionsOfPage(t, v, l), i, i+1))
				wanted := checksOf(one)
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
				f := found["privileges on resourcePool"]
				if f.Result == inspect.Failed && !strings.Contains(f.Text, " on "+l.giveOn(one)+": add this to") {
					t.Errorf("people read: %s", f.Text)
				}
			})
		}
	}
}

// checksOf the object of a permission.
func checksOf(one permission) []string {
	network := []string{"networkInterfaces[0].network", "networkInterfaces[1].network"}
	return map[string][]string{
		"Datacenter": {"datacenter"}, "Folder": {"folder"}, "ResourcePool": {"resourcePool"}, "VirtualMachine": {"image.template"},
		"ComputeResource": {"resourcePool"}, "ClusterComputeResource": {"resourcePool"},
		"Datastore": {"datastore"}, "DistributedVirtualPortgroup": network, "DistributedVirtualSwitch": network,
	}[one.On.Type]
}

// giveOn is how the check names the object on which the privilege for the pool can be given.
func (l layout) giveOn(one permission) string {
	if l.pool == ownPool {
		return `"` + l.pool + `" (` + one.On.String() + ")"
	}
	return `"` + path.Dir(l.pool) + `" (` + one.On.String() + "), because a root pool has the permissions of its cluster or host"
}
