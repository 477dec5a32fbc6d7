package frontdoor

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/soap"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/privileges"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/hypervisor"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
	"github.com/capwin/cluster-api-provider-windows/test/suites/frontdoor/linuxvm"
)

// TestRightsOfLinux: a Linux machine lives with the account of docs/vcenter.md, from its clone to its end, and uses all that the
// page lists for it.
func TestRightsOfLinux(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	w := &world{T: t, dir: t.TempDir(), begin: time.Now()}
	w.binaries = expect.Got(servers.Ensure(t.Context(), t.Output()))(t)
	w.vsphere = w.startVSphere()
	w.vsphere.door = w.vsphere.Open()
	w.Cleanup(w.vsphere.door.Close)
	w.background(func(ctx context.Context) {
		expect.Fine(t, hypervisor.Run(ctx, w.vsphere.VCenter, func(ctx context.Context, vm *hypervisor.VM) {
			hardware := expect.Got(vm.Hardware(ctx))(t)
			expect.Fine(t, vm.SetNetwork(ctx, "m", []guest.Adapter{{MAC: hardware.MACs[0], Addresses: []string{"198.51.100.130"}}}))
		}))
	})
	m := w.linuxAlone()
	owner := w.vsphere.Owner(t)
	owner.Permit(w.permissionsOfLinux(owner)...)

	w.shell(m, "kubectl apply -f - <<END\n"+w.linuxMachine()+"END\n")
	w.until("the machine to be provisioned", func() (any, bool) {
		said := w.shell(m, "kubectl get machine m -o jsonpath='{.status.initialization.infrastructureProvisioned} {.status.addresses}'")
		return said + w.shell(m, "kubectl get vspherecluster,vspheremachine,vspherevm -o yaml"), strings.HasPrefix(said, "true")
	})
	w.shell(m, "kubectl delete machine m --timeout=2m")
	expect.Same(t, "VMs after the machine", []string{linuxTemplate}, owner.VMs())

	var used []string
	for one := range owner.Used() {
		if !strings.HasPrefix(one.Privilege, "System.") {
			used = append(used, one.Privilege)
		}
	}
	slices.Sort(used)
	all := vcenter.PrivilegesOn(vcenter.LinuxNeeds,
		privileges.Folder, privileges.VM, privileges.Template, privileges.Pool, privileges.Datastore, privileges.Networks)
	expect.Same(t, "privileges that the provider uses", all, slices.Compact(used))
	w.tell("%s: a Linux machine lives with these %d privileges", w.played(), len(all))
}

// linuxAlone is a management cluster without our provider.
func (w *world) linuxAlone() *management {
	w.Helper()
	m := &management{Management: expect.Got(servers.StartManagement(w.Context(), servers.ManagementOptions{
		Binaries: w.binaries, Dir: filepath.Join(w.dir, "management"),
	}))(w)}
	w.Cleanup(func() { expect.Fine(w, m.Stop()) })
	expect.OK(w, servers.InstallCAPI(w.Context(), m.Management, servers.CAPIOptions{CoreOnly: true}))
	expect.OK(w, w.installCAPV(w.Context(), m.Management))
	// Cluster API finds the kinds that a contract's label names.
	w.shell(m, "kubectl label customresourcedefinitions --all --overwrite clusterctl.cluster.x-k8s.io=")
	scheme := clientgoscheme.Scheme
	expect.OK(w, clusterv1.AddToScheme(scheme))
	m.client = expect.Got(client.New(m.Config, client.Options{Scheme: scheme}))(w)
	if w.vsphere.capv == "" {
		providers := &linuxvm.Manager{Client: m.client, VMs: &linuxvm.VMs{Progress: w.Output()}, VSphere: true}
		m.stop = w.background(providers.Run)
	}
	return m
}

// permissionsOfLinux are those of the first layout of docs/vcenter.md for Linux machines alone.
func (w *world) permissionsOfLinux(o *vcenter.Owner) []vcenter.Permission {
	w.Helper()
	ctx, finder := w.Context(), find.NewFinder(o.Client)
	const dc = "/" + vcenter.Datacenter
	pool, _ := strings.CutSuffix(vcenter.ResourcePool, "/Resources")
	on := func(privileges []string, propagate bool, path string) vcenter.Permission {
		found := expect.Got(finder.ManagedObjectList(ctx, path))(w)
		expect.Same(w, "objects at "+path, 1, len(found))
		return vcenter.Permission{On: found[0].Object.Reference(), Privileges: privileges, Propagate: propagate}
	}
	places := vcenter.PrivilegesOn(vcenter.LinuxNeeds,
		privileges.Template, privileges.Pool, privileges.Datastore, privileges.Networks)
	return []vcenter.Permission{
		{On: o.Client.ServiceContent.RootFolder},
		on(nil, true, dc),
		on(vcenter.PrivilegesOn(vcenter.LinuxNeeds, privileges.Folder, privileges.VM), true, dc+"/vm/"+vcenter.Folder),
		on(places, false, dc+"/vm/"+vcenter.Folder+"/"+linuxTemplate), on(places, false, dc+"/host/"+pool),
		on(places, false, dc+"/datastore/LocalDS_0"), on(places, false, dc+"/network/VM Network"),
	}
}

// linuxMachine is a machine as the flavors make it, with bootstrap data that nothing runs.
func (w *world) linuxMachine() string {
	w.Helper()
	text := `apiVersion: v1
kind: Secret
metadata: {name: demo, namespace: default}
stringData: {username: USER, password: PASSWORD}
---
apiVersion: v1
kind: Secret
metadata: {name: data, namespace: default}
type: cluster.x-k8s.io/secret
stringData: {value: "#cloud-config", format: cloud-config}
---
` + w.clusterOnVSphere("demo") + `---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: m, namespace: default, labels: {cluster.x-k8s.io/cluster-name: demo}}
spec:
  clusterName: demo
  version: v1.36.3
  bootstrap: {dataSecretName: data}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachine, name: m}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereMachine
metadata: {name: m, namespace: default, labels: {cluster.x-k8s.io/cluster-name: demo}}
spec:
  server: SERVER
  thumbprint: THUMBPRINT
  cloneMode: linkedClone
  datacenter: DC0
  datastore: LocalDS_0
  folder: windows
  resourcePool: DC0_C0/Resources
  template: ubuntu-2404-kube-v1.36.3
  network: {devices: [{networkName: VM Network, dhcp4: true}]}
  diskGiB: 25
  memoryMiB: 8192
  numCPUs: 2
  os: Linux
  powerOffMode: trySoft
`
	return strings.NewReplacer("USER", vcenter.Username, "PASSWORD", vcenter.Password,
		"SERVER", w.vsphere.door.Listener.Addr().String(),
		"THUMBPRINT", soap.ThumbprintSHA256(w.vsphere.door.Certificate())).Replace(text)
}
