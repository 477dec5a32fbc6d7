package vsphere

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/inspect"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// readOnly are the methods that change nothing in a vCenter. A view belongs to its session.
var readOnly = []string{
	"RetrieveServiceContent", "Login", "Logout", "CurrentTime", "FindByInventoryPath", "RetrievePropertiesEx",
	"ContinueRetrievePropertiesEx", "CreateContainerView", "DestroyView", "HasPrivilegeOnEntities",
}

// inspectedBy returns the findings of the door, each by its check. Whatever is found, nothing is changed and no session stays.
func inspectedBy(t *testing.T, v *stage, credentials map[string][]byte, spec infrav1.VSphereVM) map[string]inspect.Finding {
	t.Helper()
	v.Count()
	found := expect.Got(Inspect(t.Context(), credentials, spec, 1, nil))(t)
	for method := range v.Count() {
		if !slices.Contains(readOnly, method) {
			t.Errorf("Inspect called %s", method)
		}
	}
	expect.Same(t, "sessions that stay", 0, len(v.Sessions()))
	all := map[string]inspect.Finding{}
	for _, f := range found {
		if strings.Contains(f.Text, vcenter.Password) {
			t.Errorf("%s shows the password", f.Check)
		}
		all[f.Check] = f
	}
	return all
}

func inspectedNetworks(names ...string) (all []infrav1.VSphereNetworkInterface) {
	for _, name := range names {
		all = append(all, infrav1.VSphereNetworkInterface{Name: "of-" + strings.ToLower(name), Network: name})
	}
	return all
}

// wantFinding compares one finding.
func wantFinding(t *testing.T, found map[string]inspect.Finding, check string, want inspect.Result, says string) {
	t.Helper()
	if f := found[check]; f.Result != want || !strings.Contains(f.Text, says) {
		t.Errorf("%s: %s %q, want %s and %q", check, f.Result, f.Text, want, says)
	}
}

// wantOnly says which checks did not end well; those that need one that failed are skipped, and are not listed.
func wantOnly(t *testing.T, found map[string]inspect.Finding, checks ...string) {
	t.Helper()
	for name, f := range found {
		bad := f.Result == inspect.Failed || f.Result == inspect.Warning
		if bad != slices.Contains(checks, name) {
			t.Errorf("%s: %s %q", name, f.Result, f.Text)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	spec := *v.spec().VSphere
	spec.Datastore = "LocalDS_0"
	spec.NetworkInterfaces = inspectedNetworks("DC0_DVPG0", "VM Network")
	v.Grant(privileges.All())
	found := inspectedBy(t, v, v.Credentials(), spec)
	for check, f := range found {
		if f.Result != inspect.OK && check != "inside the template" {
			t.Errorf("%s: %s %s", check, f.Result, f.Text)
		}
	}
	expect.Same(t, "checks", 31, len(found))
	wantFinding(t, found, "inside the template", inspect.Skipped, "docs/images.md")
	wantFinding(t, found, "version", inspect.OK, "vCenter 8.0.3")
	wantFinding(t, found, "network adapters", inspect.OK, "1 are added")
	wantFinding(t, found, "privileges on networkInterfaces[1].network", inspect.OK, "Network.Assign")
	wantFinding(t, found, "privileges on folder", inspect.OK, "VirtualMachine.Inventory.Delete")
	wantFinding(t, found, "privileges on datastore", inspect.OK, "Datastore.AllocateSpace")
}

// TestInspectLeavesItsSession: who inspects a vCenter that does not let him log out learns that the session stays there for a
// while, and has what was found.
func TestInspectLeavesItsSession(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method == "Logout" {
			vcenter.Abort()
		}
		next.ServeHTTP(w, r)
	})
	t.Cleanup(door.Close)
	found, err := Inspect(t.Context(), door.Credentials(), *v.spec().VSphere, 1, nil)
	expect.Says(t, "the end", err, "the vCenter does not answer")
	expect.Same(t, "it found something", true, len(found) > 20)
}

// TestInspectNoWayIn: what comes after a door that stays shut is skipped, and says which.
func TestInspectNoWayIn(t *testing.T) {
	closed := vcenter.New(t).Open()
	gone := closed.Credentials()
	closed.Close()
	v := newStage(t)
	wrong := func(key, value string) map[string][]byte {
		credentials := v.Credentials()
		credentials[key] = []byte(value)
		return credentials
	}
	for name, c := range map[string]struct {
		credentials map[string][]byte
		check, says string
		before      []string
	}{
		"no answer": {gone, "connection", "connection refused", nil},
		"thumbprint": {
			wrong("thumbprint", strings.Repeat("ab", 32)), "certificate", "correct server, ca.crt or thumbprint", []string{"connection"},
		},
		"password": {
			wrong("password", "secret-1234"), "login", "rejects the user name or password", []string{"connection", "certificate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := inspectedBy(t, v, c.credentials, *v.spec().VSphere)
			wantFinding(t, found, c.check, inspect.Failed, c.says)
			for check, f := range found {
				want := inspect.Skipped
				if slices.Contains(c.before, check) {
					want = inspect.OK
				}
				if check != c.check && f.Result != want {
					t.Errorf("%s: %s %q, want %s", check, f.Result, f.Text, want)
				}
				if strings.Contains(f.Text, "secret-1234") || strings.Contains(f.Text, "controller") {
					t.Errorf("people read: %s", f.Text)
				}
			}
		})
	}
	if calls := v.Count(); calls["Login"] > 0 {
		t.Errorf("calls afterwards: %v", calls)
	}
}

func TestInspectPlaces(t *testing.T) {
	t.Parallel()
	v := &stage{vcenter.New(t, vcenter.NSX).Owner(t), t}
	spec := *v.spec().VSphere
	spec.NetworkInterfaces = inspectedNetworks("DC0_NSX0", "VM Network")
	spec.Image.Template, spec.Folder = "no-such", "nowhere"
	group := v.Network("DistributedVirtualPortgroup", "DC0_DVPG0")
	v.Call(group, "DC0_NSX0")
	v.HostsHave(group, v.Network("OpaqueNetwork", "DC0_NSX0"))
	found := inspectedBy(t, v, v.Credentials(), spec)
	wantOnly(t, found, "image.template", "folder", "networkInterfaces[0].network")
	wantFinding(t, found, "image.template", inspect.Failed, `"no-such" is not in datacenter /DC0`)
	wantFinding(t, found, "networkInterfaces[0].network", inspect.Failed, "write which one, such as /DC0/network/DVS0/DC0_NSX0")
	wantFinding(t, found, "networkInterfaces[1].network", inspect.OK, "VM Network")
	wantFinding(t, found, "guest system", inspect.Skipped, `needs "template"`)
	wantFinding(t, found, "privileges on folder", inspect.Skipped, `needs "folder"`)
	wantFinding(t, found, "privileges on resourcePool", inspect.OK, "Resource.AssignVMToPool")

	spec.Datacenter = "elsewhere"
	found = inspectedBy(t, v, v.Credentials(), spec)
	wantOnly(t, found, "datacenter")
	wantFinding(t, found, "networkInterfaces[1].network", inspect.Skipped, `needs "resourcePool"`)
}

// TestInspectPrivileges: each privilege is missed on the object on which it is taken, and nowhere else.
func TestInspectPrivileges(t *testing.T) {
	t.Parallel()
	v := newPrivileged(t)
	spec := *v.spec().VSphere
	spec.NetworkInterfaces = inspectedNetworks("DC0_DVPG0", "VM Network")
	all := vcenter.Permission{On: v.Client.ServiceContent.RootFolder, Privileges: privileges.All(), Propagate: true}
	v.Permit(all)
	wantOnly(t, inspectedBy(t, v, v.Credentials(), spec))

	group := v.Network("DistributedVirtualPortgroup", "DC0_DVPG0")
	without := slices.DeleteFunc(privileges.All(), func(p string) bool { return p == "Network.Assign" })
	v.Permit(all, vcenter.Permission{On: group, Privileges: without})
	found := inspectedBy(t, v, v.Credentials(), spec)
	const check = "privileges on networkInterfaces[0].network"
	wantOnly(t, found, check)
	wantFinding(t, found, check, inspect.Failed, `the account lacks Network.Assign on "DC0_DVPG0" (`+group.String()+")")

	for kind, check := range map[string]string{
		privileges.Folder: "folder", privileges.VM: "folder", privileges.Template: "image.template", privileges.Pool: "resourcePool",
		privileges.Datastore: "the template's datastore",
	} {
		for _, privilege := range vcenter.PrivilegesOn(privileges.Needs, kind) {
			v.Permit(vcenter.Permission{
				On: all.On, Propagate: true, Privileges: slices.DeleteFunc(privileges.All(), func(p string) bool { return p == privilege }),
			})
			found := inspectedBy(t, v, v.Credentials(), spec)
			wantOnly(t, found, "privileges on "+check)
			wantFinding(t, found, "privileges on "+check, inspect.Failed, "the account lacks "+privilege+" on ")
		}
	}
}

// TestInspectSpares: a privilege that this spec and template do not take is not asked for.
func TestInspectSpares(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	spec := *v.spec().VSphere
	spec.CPUs, spec.MemoryMiB = 0, 0
	spared := []string{
		"VirtualMachine.Config.CPUCount", "VirtualMachine.Config.Memory", "VirtualMachine.Config.EditDevice", "VApp.ApplicationConfig",
		"VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Interact.DeviceConnection", "Network.Assign",
	}
	v.Grant(slices.DeleteFunc(privileges.All(), func(p string) bool { return slices.Contains(spared, p) }))
	wantOnly(t, inspectedBy(t, v, v.Credentials(), spec))
}

func TestInspectTemplate(t *testing.T) {
	v := newStage(t)
	ref := v.Template().Reference()
	spec := *v.spec().VSphere
	spec.NetworkInterfaces = inspectedNetworks("VM Network")
	store := v.Read(vcenter.Template, "datastore").Datastore[0]
	for _, c := range []struct {
		on           types.ManagedObjectReference
		path         string
		wrong, right any
		check, says  string
		result       inspect.Result
	}{
		{
			ref, "config.guestId", "ubuntu64Guest", "windows2019srvNext_64Guest",
			"guest system", `"ubuntu64Guest", which is not Windows`, inspect.Failed,
		},
		{
			ref, "config.tools", &types.ToolsConfigInfo{}, &types.ToolsConfigInfo{ToolsVersion: 12448},
			"VMware Tools", "install VMware Tools", inspect.Failed,
		},
		{ref, "config.template", false, true, "template", "convert it to a template", inspect.Warning},
		{store, "summary.freeSpace", int64(1), int64(1 << 40), "free space", "1B are free on LocalDS_0", inspect.Failed},
		{store, "summary.accessible", false, true, "free space", "no host reaches", inspect.Failed},
	} {
		t.Run(c.path, func(t *testing.T) {
			v.Update(c.on, types.PropertyChange{Name: c.path, Val: c.wrong})
			found := inspectedBy(t, v, v.Credentials(), spec)
			wantOnly(t, found, c.check)
			wantFinding(t, found, c.check, c.result, c.says)
			v.Update(c.on, types.PropertyChange{Name: c.path, Val: c.right})
		})
	}
	v.FormerLife(map[string]string{"guestinfo.userdata": "a secret of then"})
	found := inspectedBy(t, v, v.Credentials(), spec)
	wantOnly(t, found, "user data")
	wantFinding(t, found, "user data", inspect.Warning, "remove guestinfo.userdata")
	for _, f := range found {
		if strings.Contains(f.Text, "a secret of then") {
			t.Errorf("%s shows the user data", f.Check)
		}
	}
	devices := []types.BaseVirtualDevice{&types.VirtualDisk{CapacityInBytes: 1}, &types.VirtualTPM{}}
	v.Update(ref, types.PropertyChange{Name: "config.hardware.device", Val: devices},
		types.PropertyChange{Name: "snapshot", Val: &types.VirtualMachineSnapshotInfo{}})
	found = inspectedBy(t, v, v.Credentials(), spec)
	wantOnly(t, found, "user data", "disks", "snapshots")
	wantFinding(t, found, "encryption", inspect.OK, "so will each VM")
	wantFinding(t, found, "privileges on image.template", inspect.OK, "Cryptographer.Clone")
}
