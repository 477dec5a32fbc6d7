package preview

import (
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const vsphereFile = "testdata/vsphere.yaml"

// blocksOf are the blocks of YAML in a page that begin with a text.
func blocksOf(t *testing.T, page, begin string) []string {
	t.Helper()
	var found []string
	for _, block := range strings.Split(textOf(t, page), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.HasPrefix(block, begin) {
			found = append(found, block)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block that begins with %q", page, begin)
	}
	return found
}

// withAdapters is vsphereFile with these networkInterfaces.
func withAdapters(t *testing.T, networkInterfaces string) string {
	t.Helper()
	lines := strings.ReplaceAll(strings.TrimRight(networkInterfaces, "\n"), "\n", "\n        ")
	return edited(t, vsphereFile, "        datacenter: dc\n", "        datacenter: dc\n        "+lines+"\n")
}

func addressNote(adapter, address, gateway, pool string) string {
	return "the address " + address + ", gateway " + gateway + " and MAC of network interface " + adapter +
		", which come from InClusterIPPool " + pool
}

// TestAdaptersFromGit has adapters as their controller writes them to the status, before there is one.
func TestAdaptersFromGit(t *testing.T) {
	const pool = "addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}"
	const six = "---\napiVersion: ipam.cluster.x-k8s.io/v1alpha2\nkind: InClusterIPPool\nmetadata: {name: six}\nspec: "
	address := func(address, gateway string) infrav1.NetworkAddress {
		return infrav1.NetworkAddress{Address: address, Gateway: gateway}
	}
	dual := withAdapters(t, "networkInterfaces: [{name: node, network: a, "+pool+
		", {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: six}]}]")
	dualAdapters := []infrav1.MachineNetworkInterface{{
		Name: "node", MACAddress: "00:50:56:00:02:0a",
		Addresses: []infrav1.NetworkAddress{address("192.0.2.10/24", "192.0.2.1"), address("2001:db8::b/64", "2001:db8::1")},
	}}
	dualNotes := []string{
		addressNote("node", "192.0.2.10/24", "192.0.2.1", "nodes"), addressNote("node", "2001:db8::b/64", "2001:db8::1", "six"),
	}
	for name, c := range map[string]struct {
		text  string
		want  []infrav1.MachineNetworkInterface
		notes []string
	}{
		"one by DHCP": {withAdapters(t, "networkInterfaces: [{name: node, network: a}]"), nil, nil},
		"two by DHCP": {
			withAdapters(t, "networkInterfaces: [{name: node, network: a}, {name: storage, network: b}]"),
			[]infrav1.MachineNetworkInterface{{Name: "node"}, {Name: "storage"}},
			nil,
		},
		"the page's": {
			withAdapters(t, blocksOf(t, "../../../docs/networks.md", "networkInterfaces:")[0]),
			[]infrav1.MachineNetworkInterface{
				{
					Name: "node", MACAddress: "00:50:56:00:02:0a",
					Addresses: []infrav1.NetworkAddress{address("192.0.2.10/24", "192.0.2.1")},
				},
				{Name: "storage"},
			},
			[]string{addressNote("node", "192.0.2.10/24", "192.0.2.1", "nodes")},
		},
		"two from one pool": {
			withAdapters(t, "networkInterfaces: [{name: node, network: a, "+pool+"]}, {name: storage, network: b, "+pool+"]}]"),
			[]infrav1.MachineNetworkInterface{
				{
					Name: "node", MACAddress: "00:50:56:00:02:0a",
					Addresses: []infrav1.NetworkAddress{address("192.0.2.10/24", "192.0.2.1")},
				},
				{
					Name: "storage", MACAddress: "00:50:56:04:02:0b",
					Addresses: []infrav1.NetworkAddress{address("192.0.2.11/24", "192.0.2.1")},
				},
			},
			[]string{
				addressNote("node", "192.0.2.10/24", "192.0.2.1", "nodes"),
				addressNote("storage", "192.0.2.11/24", "192.0.2.1", "nodes"),
			},
		},
		"routes": { // their gateways are in the adapter's network
			withAdapters(t, "networkInterfaces: [{name: node, network: a, "+pool+"], routes: [{to: 10.9.0.0/16, via: 10.0.1.10}, "+
				"{to: 10.8.0.0/16, via: 10.0.0.1}]}]"),
			[]infrav1.MachineNetworkInterface{{
				Name: "node", MACAddress: "00:50:56:00:00:0a",
				Addresses: []infrav1.NetworkAddress{address("10.0.0.10/23", "10.0.0.2")},
			}},
			[]string{addressNote("node", "10.0.0.10/23", "10.0.0.2", "nodes")},
		},
		"IPv6, by its gateway": {
			dual + six + "{gateway: 'fd00::1', prefix: 64, addresses: ['fd00::10-fd00::20']}\n",
			dualAdapters, dualNotes,
		},
		"IPv6, by its addresses": {
			dual + six + "{prefix: 64, addresses: ['fd00::10-fd00::20']}\n",
			dualAdapters, dualNotes,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, notes := gathered(t, c.text)
			expect.Same(t, "notes", c.notes, notes)
			got := m.Windows.Status.NetworkInterfaces
			for i := range got {
				if len(got[i].Addresses) == 0 { // from the identity, whose range is another
					if !strings.HasPrefix(got[i].MACAddress, "00:50:56:2") && !strings.HasPrefix(got[i].MACAddress, "00:50:56:3") {
						t.Errorf("adapter %s has the MAC %q", got[i].Name, got[i].MACAddress)
					}
					got[i].MACAddress = ""
				}
			}
			expect.Same(t, "status", c.want, got)
			if c.want != nil && len(addressSteps(m)) != len(c.want) && name != "two by DHCP" && name != "the page's" {
				t.Errorf("the plan sets the addresses of %v", addressSteps(m))
			}
		})
	}
}

// addressSteps are the names of the steps that set addresses.
func addressSteps(m *Machine) []string {
	var names []string
	for _, phase := range m.Guest.Plan.Phases {
		for _, one := range phase.Steps {
			if _, ok := one.(*plan.Address); ok {
				names = append(names, one.Base().Name)
			}
		}
	}
	return names
}

// TestExportedAdapters: what a machine has in its status is what counts.
func TestExportedAdapters(t *testing.T) {
	const found = "status: {networkInterfaces: [{name: node, macAddress: '00:50:56:00:00:05', addresses: [{address: " +
		"10.0.0.5/24}]}]}\n"
	text := withAdapters(t, "networkInterfaces: [{name: node, network: a, addressesFromPools: [{apiGroup: "+
		"ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]}]") + machineOf("windows-1") + `---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: windows-1}
spec:
  identityRef: {kind: Secret, name: vcenter}
  vsphere:
    datacenter: dc
    image: {template: windows-2022}
    networkInterfaces:
    - {name: node, network: a, addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]}
` + found + configOf("")
	m, notes := gathered(t, text)
	expect.Same(t, "notes", []string(nil), notes)
	expect.Same(t, "address", "10.0.0.5/24", m.Windows.Status.NetworkInterfaces[0].Addresses[0].Address)
}

// machineOf is a Machine.
func machineOf(name string) string {
	return "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\nmetadata: {name: " + name + `}
spec:
  clusterName: blue
  version: v1.36.3
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: WindowsBootstrapConfig, name: windows-1}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: WindowsMachine, name: windows-1}
`
}

// configOf is the config of machineOf, with more in its metadata.
func configOf(meta string) string {
	return "---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: WindowsBootstrapConfig\nmetadata: {name: windows-1" + meta +
		"}\nspec: {bootstrapDeadlineSeconds: 1500}\n"
}

// TestNamesOfPlaces: a name that leads nowhere in any vCenter is refused without one, but for a machine that has its VM.
func TestNamesOfPlaces(t *testing.T) {
	const place, says = "        datacenter: dc\n", "use a name, a path from the datacenter such as vm/team-a/nodes"
	for name, c := range map[string]struct{ change, says string }{
		"names":               {"folder: nodes\n        resourcePool: '*/Resources'\n", ""},
		"a path":              {"folder: vm/team-a/nodes\n", ""},
		"a wildcard":          {"folder: v*/nodes\n", ""},
		"from another folder": {"folder: team-a/nodes\n", `spec.vsphere.folder "team-a/nodes" exists in no vCenter: ` + says},
		"upwards":             {"datastore: ../ssd1\n", `spec.vsphere.datastore "../ssd1" exists in no vCenter: use a name`},
		"a wrong wildcard":    {"folder: 'no['\n", says},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Gather(setOf(t, edited(t, vsphereFile, place, place+"        "+c.change)), "windows-1")
			if c.says == "" {
				expect.OK(t, err)
				return
			}
			expect.Says(t, "Gather", err, c.says)
		})
	}
	o := setOf(t, textOf(t, vsphereFile))
	m := expect.Got(Gather(o, "windows-1"))(t)
	m.Windows.Spec.VSphere.Folder = "team-a/nodes"
	expect.Says(t, "a new machine", m.fillIdentity(o), says)
	m.Owner.Spec.ProviderID = m.identity.ProviderID
	expect.OK(t, m.fillIdentity(o))
}
