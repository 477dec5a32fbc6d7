package bootstrap_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// addressGoldens begin with "network" too where test/sim/agent runs them.
var addressGoldens = []goldenCase{
	{
		"network-none-static", "one adapter, an address of each family",
		inNetwork("None", "", withAdapters(staticAdapter("10.0.0.5/24", "fd00::5/64"))),
	},
	{"network-overlay-flannel-two-adapters", "the vSwitch takes addresses over, and they are looked at again", inNetwork(
		"Overlay", "Flannel", withInterface("storage"),
		withAdapters(staticAdapter("10.0.0.5/24"), withRoutes(numbered(staticAdapter("192.168.7.5/24"), 2))))},
	{
		"network-l2bridge-flannel-named", "the only adapter uses DHCP and has no MAC of ours, and still gets its name",
		inNetwork("L2Bridge", "Flannel", withAdapters(byDHCP)),
	},
	{"network-overlay-calico-two-adapters", "Calico looks for names of Windows, so the name is a fact", inNetwork(
		"Overlay", "Calico", withAdapters(numbered(byDHCP, 1), numbered(byDHCP, 2)))},
	{
		"addresses-behind-dhcp", "the second adapter has addresses, the first one's are DHCP's",
		withAdapters(byDHCP, numbered(staticAdapter("192.168.7.5/24"), 2)),
	},
	{"addresses-dual-stack", "the Node shows both families, in the order of the pods'", inNetwork(
		"None", "", dualStack, withAdapters(staticAdapter("fd00::5/64", "10.0.0.5/24"), byDHCP))},
}

// vmAdapter is an adapter as it is wanted and as it was found.
type vmAdapter struct {
	spec  infrav1.VSphereNetworkInterface
	found infrav1.MachineNetworkInterface
}

var byDHCP = vmAdapter{}

// staticAdapter has addresses whose networks have the first address for a gateway.
func staticAdapter(addresses ...string) vmAdapter {
	a := vmAdapter{
		spec:  infrav1.VSphereNetworkInterface{Nameservers: []string{"10.0.0.2", "fd00::2"}, MTU: 1450},
		found: infrav1.MachineNetworkInterface{MACAddress: "00:50:56:00:00:01"},
	}
	for _, address := range addresses {
		text, _, _ := strings.Cut(address, "/")
		a.spec.AddressesFromPools = append(a.spec.AddressesFromPools, infrav1.IPPoolReference{
			APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "pool",
		})
		a.found.Addresses = append(a.found.Addresses,
			infrav1.NetworkAddress{Address: address, Gateway: strings.TrimSuffix(text, "5") + "1"})
	}
	return a
}

// numbered gives the adapter the MAC of its place.
func numbered(a vmAdapter, number int) vmAdapter {
	a.found.MACAddress = "00:50:56:00:00:0" + strconv.Itoa(number)
	return a
}

func withRoutes(a vmAdapter) vmAdapter {
	a.spec.Routes = []infrav1.NetworkRoute{{To: "172.16.0.0/12", Via: "192.168.7.9"}, {To: "fd01::/16", Via: "fe80::9"}}
	return a
}

// withAdapters names the adapters. Of several, the controller gives a MAC to those by DHCP too.
func withAdapters(adapters ...vmAdapter) change {
	return func(in *bootstrap.Input) {
		for i, a := range adapters {
			spec, found := *a.spec.DeepCopy(), *a.found.DeepCopy()
			spec.Name = []string{"node", "storage", "backup"}[i]
			found.Name, spec.Network = spec.Name, "VM Network"
			if len(adapters) > 1 && found.MACAddress == "" {
				found.MACAddress = "00:50:56:28:00:0" + strconv.Itoa(i+1)
			}
			in.WindowsMachine.Spec.VSphere.NetworkInterfaces = append(in.WindowsMachine.Spec.VSphere.NetworkInterfaces, spec)
			in.WindowsMachine.Status.NetworkInterfaces = append(in.WindowsMachine.Status.NetworkInterfaces, found)
		}
	}
}

// withFound changes what was found for the first adapter.
func withFound(change func(*infrav1.MachineNetworkInterface)) change {
	return func(in *bootstrap.Input) { change(&in.WindowsMachine.Status.NetworkInterfaces[0]) }
}

// Adapters without addresses of pools change names alone: what they are on is the VM's matter.
func TestDHCPChangesNamesAlone(t *testing.T) {
	want := withoutNames(t, plainInput(t))
	for name, change := range map[string]change{
		"one":  withAdapters(byDHCP),
		"two":  withAdapters(byDHCP, byDHCP),
		"none": func(in *bootstrap.Input) { in.WindowsMachine.Status.NetworkInterfaces = nil },
		"left": func(in *bootstrap.Input) {
			in.WindowsMachine.Spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{}
		},
	} {
		expect.Same(t, name+": the plan", want, withoutNames(t, plainInput(t, change)))
	}
}

// withoutNames is a plan that gives no adapter a name.
func withoutNames(t *testing.T, in bootstrap.Input) string {
	t.Helper()
	p := render(t, in).Plan()
	for i := range p.Phases {
		p.Phases[i].Steps = slices.DeleteFunc(p.Phases[i].Steps, func(one plan.Step) bool {
			_, naming := one.(*plan.Adapter)
			return naming
		})
	}
	return string(expect.Got(json.Marshal(p))(t))
}

// The first gateway of a family makes the default route; a second one would share the traffic with it.
func TestOneDefaultRoute(t *testing.T) {
	p := render(t, plainInput(t, withAdapters(
		staticAdapter("10.0.0.5/24"), numbered(staticAdapter("192.168.7.5/24", "fd00::5/64"), 2), numbered(
			staticAdapter("fd01::5/64"), 3),
	))).Plan()
	var got []string
	for _, name := range []string{"addresses-1", "addresses-2", "addresses-3"} {
		got = append(got, strings.Join(append([]string{name}, shown(stepOf[*plan.Address](t, p, name).Gateways)...), " "))
	}
	expect.Same(t, "gateways", []string{"addresses-1 10.0.0.1", "addresses-2 fd00::1", "addresses-3"}, got)
}

func TestNodeIP(t *testing.T) {
	two := withAdapters(staticAdapter("10.0.0.5/24", "fd00::5/64"), byDHCP)
	for _, test := range []struct {
		name, reason string
		change       change
		want         string
	}{
		{"one adapter", "it may have addresses of pods later", withAdapters(staticAdapter("10.0.0.5/24")), "10.0.0.5"},
		{"the template's", "Windows knows its address", func(*bootstrap.Input) {}, "<nodeAddress>"},
		{"behind our vSwitch", "HNS knows its address", inNetwork("L2Bridge", "Flannel"), "<managementIP>"},
		{
			"another has our vSwitch", "the first is the node's",
			inNetwork("L2Bridge", "Flannel", twoByDHCP, withInterface("storage")), "<nodeAddress>",
		},
		{"both by DHCP", "Windows' default route tells of IPv4 only", inNetwork("None", "", dualStack), ""},
		{
			"both by DHCP, and no cloud provider", "the kubelet would look up the node's name, which may have addresses of pods",
			all(inNetwork("None", "", dualStack), kubelet("cloudProvider: None")), "<nodeAddress>",
		},
		{
			"IPv6 alone, and no cloud provider", "Windows' default route tells of IPv4 only",
			all(inNetwork("None", "", withRanges([]string{"fd00:1::/56"}, []string{"fd00:2::/112"})), kubelet("cloudProvider: None")), "",
		},
		{
			"the first family is DHCP's", "a cloud provider leaves out what the kubelet is not told",
			inNetwork("None", "", dualStack, withAdapters(staticAdapter("fd00::5/64"), byDHCP)), "",
		},
		{
			"the second family is DHCP's", "the first is the node's",
			inNetwork("None", "", dualStack, withAdapters(staticAdapter("10.0.0.5/24"))), "10.0.0.5",
		},
		{"two adapters", "the cluster says nothing of its pods", two, "10.0.0.5"},
		{"pods of IPv4", "IPv6 is of no use to them", inNetwork("None", "", two), "10.0.0.5"},
		{"pods of both", "the pods' first family is the Node's", inNetwork("None", "", dualStack, two), "10.0.0.5,fd00::5"},
		{
			"pods of IPv6", "so is the Node",
			inNetwork("None", "", withRanges([]string{"fd00:1::/56"}, []string{"fd00:2::/112"}), two), "fd00::5",
		},
		{
			"the first by DHCP", "Windows knows its address",
			withAdapters(byDHCP, numbered(staticAdapter("10.0.0.5/24"), 2)), "<nodeAddress>",
		},
		{"another family", "IPv4 is DHCP's", withAdapters(staticAdapter("fd00::5/64"), byDHCP), "<nodeAddress>"},
		{"the user's word", "it is there once", all(two, withArg("node-ip", "::")), "::"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			service := stepOf[*plan.Service](t, render(t, plainInput(t, test.change)).Plan(), "kubelet-service")
			for _, value := range shown(service.Command) {
				if ip, ok := strings.CutPrefix(value, "--node-ip="); ok {
					got = append(got, ip)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("node-ip is %q, want %q: %s", got, test.want, test.reason)
			}
		})
	}
}

// given is the first address that was found.
func given(address, gateway string) change {
	return withFound(func(n *infrav1.MachineNetworkInterface) {
		n.Addresses[0] = infrav1.NetworkAddress{Address: address, Gateway: gateway}
	})
}

func withMAC(address string) change {
	return withFound(func(n *infrav1.MachineNetworkInterface) { n.MACAddress = address })
}

// withWanted is more of what the first adapter is wanted to have, in YAML.
func withWanted(text string) change {
	return func(in *bootstrap.Input) {
		if err := yaml.UnmarshalStrict([]byte("{"+text+"}"), &in.WindowsMachine.Spec.VSphere.NetworkInterfaces[0]); err != nil {
			panic(text + ": " + err.Error())
		}
	}
}

func route(to, via string) change {
	return withWanted("routes: [{to: '" + to + "', via: '" + via + "'}]")
}

func TestAddressesRefused(t *testing.T) {
	one := withAdapters(staticAdapter("10.0.0.5/24"))
	const found, wanted = "WindowsMachine status.networkInterfaces[0]", "WindowsMachine spec.vsphere.networkInterfaces[0]"
	refuse(t, []mistake{
		{"no MAC", found, all(one, withMAC("")), `macAddress "" is not one that this provider assigns`},
		{"no MAC of one of two", found, all(twoByDHCP, withMAC("")), `macAddress "" is not one that this provider assigns`},
		{"odd name", wanted + ".name", all(one, withWanted(`name: 'a"b'`)), "is not valid, or another adapter has it"},
		{
			"a name twice", "WindowsMachine spec.vsphere.networkInterfaces[1].name", all(twoByDHCP, withWanted(`name: storage`)),
			`"storage" is not valid, or another adapter has it; use lowercase letters`,
		},
		{
			"a pod's name", wanted + ".name", all(one, withWanted(`name: flannel-vxlan`)),
			`"flannel-vxlan" looks like the name of a pod's adapter`,
		},
		{
			"that of Windows' NAT", wanted + ".name", all(one, withWanted(`name: nat`)),
			`VMware Tools would hide it; use another name, such as node`,
		},
		{"odd name on Azure", "WindowsMachine spec.azure.networkInterfaces[0].name", onAzureWith("Node"), `"Node" is not valid`},
		{
			"another maker's MAC", found, all(one, withMAC("02:00:00:00:00:01")),
			`"02:00:00:00:00:01" is not one that this provider assigns`,
		},
		{"IPv4 in IPv6", found, all(one, given("::ffff:10.0.0.5/120", "10.0.0.1")), "is not an address"},
		{"too small packets", wanted + ".mtu", all(one, withWanted(`mtu: 1279`)), "1279 is not valid; use 1280 to 9000"},
		{"too large packets", wanted + ".mtu", all(one, withWanted(`mtu: 9001`)), "9001 is not valid"},
		{"name server of a zone", wanted + ".nameservers", all(one, withWanted(`nameservers: ['fe80::2%eth0']`)), "is not an address"},
		{"no prefix", found, all(one, given("10.0.0.5", "10.0.0.1")), `"10.0.0.5" is not an address with a prefix length`},
		{
			"the whole world", found, all(one, given("10.0.0.5/0", "")),
			"10.0.0.5/0 has every address in its network; correct the pool that it comes from, then delete the Machine",
		},
		{"loopback", found, all(one, given("127.0.0.5/8", "")), "127.0.0.5/8 is not an address by which others"},
		{"link-local", found, all(one, given("fe80::5/64", "")), "fe80::5/64 is not an address by which others reach a node"},
		{"multicast", found, all(one, given("224.0.0.5/24", "")), "224.0.0.5/24 is not an address by which others"},
		{"the network", found, all(one, given("10.0.0.0/24", "")), "10.0.0.0/24 is the address of the network itself"},
		{"any router", found, all(one, given("fd00::/64", "")), "fd00::/64 is the address of the network itself"},
		{"everybody", found, all(one, given("10.0.0.255/24", "")), "10.0.0.255/24 is the broadcast address"},
		{"its own gateway", found, all(one, given("10.0.0.5/24", "10.0.0.5")), "10.0.0.5/24 is its own gateway"},
		{
			"gateway elsewhere", found, all(one, given("10.0.0.5/24", "10.0.1.1")),
			"gateway 10.0.1.1 is not in the network of 10.0.0.5/24",
		},
		{"gateway of another link", found, all(one, given("10.0.0.5/24", "169.254.0.1")), "gateway 169.254.0.1 is not in the network"},
		{
			"router of a zone", found, all(one, given("fd00::5/64", "fe80::1%eth0")),
			`gateway "fe80::1%eth0" is not valid for fd00::5/64`,
		},
		{"router elsewhere", found, all(one, given("fd00::5/64", "fd01::1")), "gateway fd01::1 is not in the network of fd00::5/64"},
		{
			"default route", wanted + ".routes", all(one, route("0.0.0.0/0", "10.0.0.9")),
			"0.0.0.0/0 is the default route, which comes from the gateway of the adapter's pool",
		},
		{"another form", found, all(one, given("FD00::5/64", "10.0.0.1")), `"FD00::5/64" is not an address`},
		{
			"gateway of another family", found, all(one, given("10.0.0.5/24", "fd00::1")),
			`gateway "fd00::1" is not valid for 10.0.0.5/24`,
		},
		{"gateway by name", found, all(one, given("10.0.0.5/24", "gw")), `gateway "gw" is not valid`},
		{"name server by name", wanted + ".nameservers", all(one, withWanted(`nameservers: ['dns']`)), `"dns" is not an address`},
		{"no CIDR", wanted + ".routes", all(one, route("10.9.0.1/16", "10.0.0.9")), "use 10.9.0.0/16"},
		{"neighbour of another family", wanted + ".routes", all(one, route("10.9.0.0/16", "fd00::9")), "an address of the same family"},
		{
			"far neighbour", wanted + ".routes", all(one, route("10.9.0.0/16", "10.0.1.9")),
			"10.0.1.9 is not in a network of the adapter, which has 10.0.0.5/24",
		},
	})
	for name, early := range map[string]change{
		"nothing yet":  func(in *bootstrap.Input) { in.WindowsMachine.Status.NetworkInterfaces = nil },
		"no addresses": withFound(func(n *infrav1.MachineNetworkInterface) { n.Addresses = nil }),
		"no MACs":      all(twoByDHCP, func(in *bootstrap.Input) { in.WindowsMachine.Status.NetworkInterfaces = nil }),
	} {
		in := plainInput(t, one, early)
		_, err := bootstrap.Render(in)
		if _, invalid := errors.AsType[*bootstrap.InvalidError](err); err == nil || invalid || bootstrap.Addressed(in.WindowsMachine) {
			t.Errorf("%s: got %v, want an error of the caller's", name, err)
		}
	}
}

func TestAddressWarnings(t *testing.T) {
	const byCNI, noIPv4 = "this provider makes no vSwitch in this mode", "its pools have no IPv4 address, the first family of"
	const byRoute, byCloud = "so the Node shows the address of Windows' default route", "so the cloud provider chooses which address"
	const noIPv6 = "its pools have no IPv6 address, so the Node shows IPv4 only"
	static, both := withAdapters(staticAdapter("10.0.0.5/24")), withAdapters(staticAdapter("10.0.0.5/24", "fd00::5/64"))
	six := withAdapters(staticAdapter("fd00::5/64"))
	for name, test := range map[string]struct {
		change change
		want   []string
	}{
		"one by DHCP":             {withAdapters(byDHCP), nil},
		"one with addresses":      {static, []string{byCNI}},
		"a vSwitch of ours":       {inNetwork("Overlay", "Flannel", static), nil},
		"Calico's vSwitch":        {inNetwork("Overlay", "Calico", static), nil},
		"another's, transparent":  {inNetwork("Transparent", "", static), []string{byCNI}},
		"no mode":                 {inNetwork("None", "", static), []string{byCNI}},
		"another's vSwitch, DHCP": {inNetwork("Transparent", "", withAdapters(byDHCP)), nil},
		"two by DHCP":             {withAdapters(byDHCP, byDHCP), []string{byRoute}},
		"behind a vSwitch, DHCP":  {inNetwork("L2Bridge", "Flannel", twoByDHCP), nil},
		"before a vSwitch, DHCP":  {inNetwork("L2Bridge", "Flannel", twoByDHCP, withInterface("storage")), []string{byRoute}},
		"two families by DHCP":    {inNetwork("None", "", dualStack, twoByDHCP), []string{byCloud}},
		"the user's address":      {all(twoByDHCP, withArg("node-ip", "0.0.0.0")), nil},
		"the first by DHCP":       {withAdapters(byDHCP, staticAdapter("10.0.0.5/24")), []string{byCNI, byRoute}},
		"both families of pools":  {inNetwork("None", "", dualStack, both), []string{byCNI}},
		"the first of two":        {inNetwork("None", "", dualStack, static), []string{byCNI, noIPv6}},
		"the second of two":       {inNetwork("None", "", dualStack, six), []string{byCNI, noIPv4}},
		"the first is IPv6":       {six, []string{byCNI, noIPv4}},
		"the second is by DHCP":   {withAdapters(staticAdapter("10.0.0.5/24"), byDHCP), []string{byCNI}},
	} {
		got := slices.DeleteFunc(render(t, plainInput(t, test.change)).Warnings(), func(warning string) bool {
			return !strings.HasPrefix(warning, "WindowsMachine spec.vsphere.networkInterfaces")
		})
		if !slices.EqualFunc(got, test.want, strings.Contains) {
			t.Errorf("%s: warnings %q, want %q", name, got, test.want)
		}
	}
}
