package vsphere

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/wait"
)

// permission is one that the page's commands give.
type permission struct {
	vcenter.Permission
	role, path string
}

// permissionsOfPage carries out the commands of docs/vcenter.md as govc does: role.create and permissions.set.
func permissionsOfPage(t *testing.T, v *stage) (all []permission) {
	t.Helper()
	page := string(expect.Got(os.ReadFile(filepath.Join("..", "..", "..", "docs", "vcenter.md")))(t))
	_, page, _ = strings.Cut(page, "\n## With govc\n")
	_, page, _ = strings.Cut(page, "\nThen make the roles, and give them:\n\n```sh\n")
	commands, _, _ := strings.Cut(page, "```")
	roles := map[string][]string{"ReadOnly": nil}
	for line := range strings.Lines(strings.ReplaceAll(commands, "\\\n", " ")) {
		switch words := permissionWords(line); {
		case words[0] == "export":
		case words[1] == "role.create":
			roles[words[2]] = words[3:]
		case words[1] == "permissions.set":
			all = append(all, permissionsSet(t, v, roles, words[2:])...)
		default:
			t.Fatalf("the page has another command: %s", line)
		}
	}
	return all
}

func permissionWords(line string) (words []string) {
	names := map[string]string{
		"VSPHERE_DATACENTER": vcenter.Datacenter, "VSPHERE_FOLDER": vcenter.Folder, "VSPHERE_USERNAME": vcenter.Username,
		"VSPHERE_RESOURCE_POOL": vcenter.ResourcePool, "VSPHERE_WINDOWS_TEMPLATE": vcenter.Template, "TEMPLATES": ".",
		"VSPHERE_DATASTORE": "LocalDS_0", "VSPHERE_NETWORK": "DC0_DVPG0", "VSPHERE_SWITCH": "DVS0", "CLUSTER_OF_HOSTS": "DC0_C0",
	}
	for word := range strings.FieldsSeq(line) {
		words = append(words, os.Expand(strings.Trim(word, `"`), func(name string) string { return names[name] }))
	}
	return words
}

func permissionsSet(t *testing.T, v *stage, roles map[string][]string, words []string) (all []permission) {
	t.Helper()
	var one permission
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-principal":
			i++
			expect.Same(t, "principal", vcenter.Username, words[i])
		case "-role":
			i++
			one.role = words[i]
			of, made := roles[one.role]
			expect.Same(t, "the role was made: "+one.role, true, made)
			one.Privileges = of
		case "-propagate=true", "-propagate=false":
			one.Propagate = words[i] == "-propagate=true"
		default:
			one.path = path.Clean(words[i])
			one.On = objectAt(t, v, one.path)
			all = append(all, one)
		}
	}
	return all
}

func objectAt(t *testing.T, v *stage, place string) types.ManagedObjectReference {
	t.Helper()
	if place == "/" {
		return v.Client.ServiceContent.RootFolder
	}
	found := expect.Got(object.NewSearchIndex(v.Client).FindByInventoryPath(t.Context(), place))(t)
	if found == nil {
		t.Fatalf("the vCenter has no %s", place)
	}
	return found.Reference()
}

// permittedLife is privilegedLife in one network, and the life of a VM that its clone did not switch on.
func permittedLife(t *testing.T, v *stage, given []permission) error {
	t.Helper()
	late := v.machine("late")
	v.cloneBy(late, late.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	var permits []vcenter.Permission
	for _, one := range given {
		permits = append(permits, one.Permission)
	}
	v.Permit(permits...)
	if err := privilegedLife(t, v); err != nil {
		return err
	}
	a := v.account()
	later := tasksClock(a)
	if _, err := a.Ensure(t.Context(), late); err != nil {
		return err
	}
	later(pushTime)
	var failed error
	wait.Until(t, "the late VM to run", func() (any, bool) {
		var vm cloud.VM
		vm, failed = a.Ensure(t.Context(), late)
		return vm, failed != nil || vm.State == cloud.Running
	})
	return failed
}

// TestPermissionsOfPage: with the roles and permissions that the page's commands give, a machine lives its whole life, and the
// VMs of machines that are gone are found. Each permission and each privilege is used, on the kind of object that the list says.
func TestPermissionsOfPage(t *testing.T) {
	v := newPrivileged(t)
	given := permissionsOfPage(t, v)
	expect.OK(t, permittedLife(t, v, given))
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

// permissionsUnseen is what people read of an object that the vCenter does not find for the account.
var permissionsUnseen = map[string]string{
	"Datacenter": `datacenter "DC0" is not in the vCenter`, "Folder": `folder "windows" is not in datacenter /DC0`,
	"ResourcePool":   `resourcePool "DC0_C0/Resources" is not in datacenter /DC0`,
	"VirtualMachine": `image.template "windows-2022-v1.36.3" is not in datacenter /DC0`,
	"Datastore":      `datastore "LocalDS_0" is not in datacenter /DC0`,
}

// TestPermissionMissing: without one of the permissions, a machine fails with a sentence that names the object, and the
// privilege if the account may see the object, or if it is asked for by its reference. Two are for comfort: without that on the
// vCenter itself, folders are watched one by one; without that on the cluster, networks are looked for in the whole datacenter.
func TestPermissionMissing(t *testing.T) {
	for i, one := range permissionsOfPage(t, newStage(t)) {
		t.Run(strings.Trim(one.path, "/"), func(t *testing.T) {
			v := newPrivileged(t)
			err := permittedLife(t, v, slices.Delete(permissionsOfPage(t, v), i, i+1))
			if one.path == "/" || one.On.Type == "ClusterComputeResource" {
				expect.OK(t, err)
				return
			}
			if says := permissionsUnseen[one.On.Type]; says != "" {
				expect.Says(t, "the machine", err, "spec.vsphere."+says+", or the vCenter account may not see it")
				return
			}
			cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
			needed := append([]string{"System.Read"}, one.Privileges...)
			on := " on " + one.On.Type + " " + one.On.Value
			if !slices.ContainsFunc(needed, func(p string) bool { return strings.Contains(err.Error(), "the privilege "+p+on) }) {
				t.Errorf("people read: %v", err)
			}
		})
	}
}
