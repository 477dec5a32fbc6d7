package bootstrap_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	specNetwork   = "WindowsBootstrapConfig spec.network"
	podsField     = "Cluster spec.clusterNetwork.pods.cidrBlocks"
	servicesField = "Cluster spec.clusterNetwork.services.cidrBlocks"
)

// Parts of a spec's network.

func exceptions(cidrs ...string) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.ExceptionCIDRs = cidrs })
}

func clusterDNS(address string) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.ClusterDNS = address })
}

func nodePorts(first, last int32) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.NodePorts = bootstrapv1.Ports{First: first, Last: last} })
}

func dynamicPorts(first, last int32) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.DynamicPorts = bootstrapv1.Ports{First: first, Last: last} })
}

func opening(rules string) change { return spec("network: {firewall: [" + rules + "]}") }

func withName(name string) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.HNSNetworkName = name })
}

func withInterface(name string) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.Interface = name })
}

func withDomain(domain string) change {
	return func(in *bootstrap.Input) { in.Cluster.Spec.ClusterNetwork.ServiceDomain = domain }
}

func withDSR(dsr string) change {
	return spec(`network: {kubeProxy: {dsr: '` + dsr + `'}}`)
}

func TestNetworkTakes(t *testing.T) {
	for _, test := range []struct {
		reason string
		change change
	}{
		{"a CNI of one's own may do IPv6", inNetwork("None", "", withRanges([]string{"fd00:1::/56"}, nil))},
		{"Calico knows its pods itself", inNetwork("Overlay", "Calico", withRanges(nil, nil))},
		{
			"AzureCNI's pods are in the virtual network",
			inNetwork("L2Bridge", "AzureCNI", onAzure, vnet, withRanges(nil, []string{"10.96.0.0/16"}), withPods(255)),
		},
		{"nothing is put in order at a start", inNetwork("None", "", kubelet(`start: AutomaticDelayed`))},
		{"the largest VNI", inNetwork("Overlay", "Flannel", withVNI(1<<24-1))},
		{"dynamic ports before the node ports", inNetwork("None", "", nodePorts(30000, 65400), dynamicPorts(1025, 29999))},
		{"one node port", inNetwork("None", "", nodePorts(30000, 0))},
		{"an API server by name may have any address", inNetwork("Overlay", "Flannel", withEndpoint("api.example.com", 6443))},
		{
			"flanneld has an address, although the user says the kubelet's",
			inNetwork("Overlay", "Flannel", withArg("node-ip", "0.0.0.0")),
		},
		{"a bridge translates what pods send to machines", inNetwork("L2Bridge", "Flannel", withRanges(
			[]string{"10.0.0.0/16"}, []string{"10.96.0.0/12"}))},
		{"DNS at another address", inNetwork("L2Bridge", "Flannel", dualStack, clusterDNS("10.96.0.53"))},
	} {
		_, err := bootstrap.Render(plainInput(t, test.change))
		expect.Says(t, test.reason, err, "")
	}
}

func TestWarnings(t *testing.T) {
	const nsx = "under NSX the hosts of vSphere use that port themselves"
	const block = "Calico gives a Windows node one block of addresses, which has 60 for pods with the default blockSize of 26, " +
		"and spec.kubelet.maxPods is 110"
	mine := exceptions("10.0.0.0/24")
	for _, test := range []struct {
		name   string
		change change
		want   []string // a word of each, in order
	}{
		{"nothing said", nil, nil},
		{"none", inNetwork("None", "", dualStack), nil},
		{"VXLAN", inNetwork("Overlay", "Calico"), []string{block, nsx}},
		{"VXLAN on Azure", inNetwork("Overlay", "Calico", onAzure), []string{block}},
		{"an address of Calico's block for each pod", inNetwork("Overlay", "Calico", onAzure, withPods(60)), nil},
		{"a block that is known", inNetwork("Overlay", "Calico", onAzure, withBlock("a", 25)), nil},
		{
			"a block that is known, and too small", inNetwork("Overlay", "Calico", onAzure, withPods(60), withBlock("a", 27)),
			[]string{"which has 28 for pods in the pool a with blockSize 27"},
		},
		{"VXLAN by Flannel", inNetwork("Overlay", "Flannel", mine, withKubeProxy), []string{nsx}},
		{"no exceptions", inNetwork("L2Bridge", "Flannel"), []string{"one subnet"}},
		{"the subnet is known", inNetwork("L2Bridge", "Flannel", withAdapters(staticAdapter("10.20.0.5/24"))), []string{"one subnet"}},
		{"no exceptions in VXLAN", inNetwork("Overlay", "Flannel"), []string{nsx}},
		{"one subnet", inNetwork("L2Bridge", "Flannel", mine), []string{"all nodes must be in one subnet"}},
		{"one of two, to Flannel", inNetwork("L2Bridge", "Flannel", mine, twoByDHCP), []string{"one subnet", "use any free adapter"}},
		{
			"one of two, to Calico", inNetwork("L2Bridge", "Calico", onAzureWith("node", "storage")),
			[]string{block, "needs a route table entry", "may use any free adapter"},
		},
		{
			"one of two, by subnet", inNetwork("L2Bridge", "AzureCNI", mine, onAzureWith("node", "storage")),
			[]string{"0 secondary addresses"},
		},
		{"one of two, in VXLAN", inNetwork("Overlay", "Flannel", onAzureWith("node", "storage")), nil},
		{"route tables", inNetwork("L2Bridge", "Calico", onAzure), []string{block, "needs a route table entry"}},
		{
			"addresses", inNetwork("L2Bridge", "AzureCNI", onAzure, mine, dualStack),
			[]string{"the machine has 0 secondary addresses for 110 pods"},
		},
		{
			"too few addresses", inNetwork("L2Bridge", "AzureCNI", onAzure, mine, withSecondary(29), withPods(30)),
			[]string{"the machine has 29 secondary addresses for 30 pods"},
		},
		{"an address for each pod", inNetwork("L2Bridge", "AzureCNI", onAzure, mine, withSecondary(30), withPods(30)), nil},
		{
			"half of dual-stack", inNetwork("L2Bridge", "Calico", dualStack),
			[]string{block, "one subnet", "gives pods on Windows IPv4 addresses only"},
		},
		{
			"Open vSwitch", inNetwork("Transparent", "Antrea", dualStack),
			[]string{"such as Open vSwitch", "Prepare-AntreaAgent.ps1", "nested virtualization"},
		},
		{
			"Open vSwitch with Hyper-V", inNetwork("Transparent", "Antrea", dualStack, withNested(infrav1.NestedVirtualizationEnabled)),
			[]string{"such as Open vSwitch", "Prepare-AntreaAgent.ps1"},
		},
		{"a CNI that is not known", inNetwork("Transparent", ""), []string{"such as Open vSwitch", "forged transmits"}},
		{"no DSR", inNetwork("Overlay", "Flannel", mine, withDSR("Disabled")), []string{nsx, "without DSR"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := render(t, plainInput(t, test.change)).Warnings()
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("%q, want %q", got, test.want)
			}
			for _, warning := range got {
				if !strings.HasPrefix(warning, specNetwork+": ") {
					t.Errorf("%q does not say of what it speaks", warning)
				}
			}
		})
	}
}

// A version whose kube-proxy does not start in pods is told with the user data, before there is a VM.
func TestKubeProxyInPodsOfLaterVersions(t *testing.T) {
	const says = specNetwork + ": the published images of kube-proxy for Windows do not start with Kubernetes 1.38"
	for name, c := range map[string]struct {
		change change
		told   bool
	}{
		"the last that starts":    {all(inNetwork("Overlay", "Calico", onAzure), ofVersion("v1.37.2")), false},
		"the first that does not": {all(inNetwork("Overlay", "Calico", onAzure), ofVersion("v1.38.0")), true},
		"a DaemonSet by wish": {
			all(inNetwork("Overlay", "Flannel", spec(`network: {kubeProxy: {run: DaemonSet}}`)), ofVersion("v1.38.0")), true,
		},
		"a service": {
			all(inNetwork("Overlay", "Calico", spec(`network: {kubeProxy: {run: Service}}`)), ofVersion("v1.38.0")), false,
		},
	} {
		told := slices.ContainsFunc(render(t, plainInput(t, c.change)).Warnings(), func(warning string) bool {
			return strings.HasPrefix(warning, says)
		})
		expect.Same(t, name, c.told, told)
	}
}

// What stays on the disk in clear names no token, and leaves the kubelet running whatever fails.
func TestEveryBootEndsWithTheKubelet(t *testing.T) {
	for _, golden := range networkGoldens {
		boot := render(t, plainInput(t, golden.change)).Plan().EveryBoot
		if len(boot) == 0 {
			continue
		}
		started := 0
		for _, step := range boot[0].Steps {
			if state, ok := step.(*plan.ServiceState); ok && state.Service == "kubelet" && state.State == plan.ServiceRunning {
				started++
				continue
			}
			if !step.Base().Optional && waits(&plan.Plan{EveryBoot: boot}) {
				t.Errorf("%s: %s would keep the kubelet from starting", golden.name, step.Base().Name)
			}
		}
		if waits := waits(&plan.Plan{EveryBoot: boot}); waits != (started == 1) || started > 1 {
			t.Errorf("%s: the kubelet waits %t, and is started %d times", golden.name, waits, started)
		}
	}
}

// The kubelet gets the address of each start also where no network is put in order.
func TestAddressAtEachStart(t *testing.T) {
	scripts := spec(`custom: {everyBoot: [{name: a, content: a}]}`)
	restart := "node-address kubelet-command kubelet-command-without-address kubelet-address kubelet-restarted"
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"no network":             {all(), restart},
		"no network, on Azure":   {onAzure, restart},
		"scripts":                {scripts, "kubelet-waits run-a node-address kubelet-service kubelet-goes-on"},
		"an address of a pool":   {withAdapters(staticAdapter("10.0.0.5/24")), ""},
		"one that the user says": {kubelet(`extraArgs: [{name: node-ip, value: 0.0.0.0}]`), ""},
	} {
		var got []string
		for _, phase := range render(t, plainInput(t, test.change)).Plan().EveryBoot {
			for _, step := range phase.Steps {
				got = append(got, step.Base().Name)
			}
		}
		expect.Same(t, name, test.want, strings.Join(got, " "))
	}
}

// The service manager starts an automatic service before any task can look at the network: where one does, the last that
// a bootstrap does is to take the kubelet's start from Windows, and to see that it runs.
func TestWindowsDoesNotStartTheKubelet(t *testing.T) {
	for _, golden := range networkGoldens {
		p := render(t, plainInput(t, golden.change)).Plan()
		last := p.Phases[len(p.Phases)-1].Steps
		var argv []string
		if len(last) > 1 {
			if run, ok := last[len(last)-2].(*plan.Run); ok {
				argv = shown(run.Argv)
			}
		}
		state, ok := last[len(last)-1].(*plan.ServiceState)
		runs := ok && state.Service == "kubelet" && state.State == plan.ServiceRunning && !state.Optional
		onDemand := slices.Equal(argv, []string{"sc.exe", "config", "kubelet", "start=", "demand"})
		if booted := waits(p); (runs && onDemand) != booted {
			t.Errorf("%s: every boot %t, but the bootstrap ends with %q, the kubelet running %t", golden.name, booted, argv, runs)
		}
	}
}

// waits tells whether later starts begin without the kubelet.
func waits(p *plan.Plan) bool {
	return len(p.EveryBoot) > 0 && p.EveryBoot[0].Steps[0].Base().Name == "kubelet-waits"
}

// A restart in the middle of a bootstrap runs no everyBoot: until the last script has run Windows starts the kubelet.
func TestScriptsMayRestart(t *testing.T) {
	script := spec(`custom: {postJoin: [{name: drivers, content: exit 3010}]}`)
	p := render(t, plainInput(t, inNetwork("Overlay", "Calico", script))).Plan()
	want := []string{"write-drivers", "run-drivers", "kubelet-starts-last", "kubelet-goes-on"}
	expect.Same(t, "the last steps", want, names(p, p.Phases[len(p.Phases)-1].Name))
}

// HNS of Server 2019 fails at exceptions with the same first address.
func TestExceptions(t *testing.T) {
	const both = "10.244.0.0/16 10.96.0.0/12"
	for _, test := range []struct {
		name   string
		change change
		want   string
	}{
		{"the machine's by DHCP", inNetwork("L2Bridge", "Flannel"), both + " <machineSubnet>"},
		{"the machine's by DHCP on Azure", inNetwork("L2Bridge", "Flannel", onAzure), both + " <machineSubnet>"},
		{"the machine's by DHCP beside VXLAN", inNetwork("Overlay", "Flannel"), both},
		{"more", inNetwork("L2Bridge", "Flannel", exceptions("192.168.0.0/24")), both + " 192.168.0.0/24"},
		{"the machine's", inNetwork("L2Bridge", "Flannel", withAdapters(staticAdapter("192.168.7.5/22"))), both + " 192.168.4.0/22"},
		{
			"the machine's of IPv4", inNetwork("L2Bridge", "Flannel", withAdapters(staticAdapter("10.20.0.5/24", "fd00::5/64"))),
			both + " 10.20.0.0/24",
		},
		{
			"another adapter's",
			inNetwork("L2Bridge", "Flannel", withInterface("node"),
				withAdapters(vmAdapter{}, numbered(staticAdapter("10.20.0.5/24"), 2))),
			both + " <machineSubnet>",
		},
		{"the machine's beside VXLAN", inNetwork("Overlay", "Flannel", withAdapters(staticAdapter("10.20.0.5/24"))), both},
		{"the broadest", inNetwork("L2Bridge", "Flannel", exceptions("10.0.0.0/16", "10.0.0.0/8", "10.0.0.0/24")), "10.0.0.0/8"},
		{
			"twice", inNetwork("L2Bridge", "Flannel", exceptions("10.20.0.0/24"), withAdapters(staticAdapter("10.20.0.5/24"))),
			both + " 10.20.0.0/24",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := expect.Got(json.Marshal(render(t, plainInput(t, test.change)).Plan()))(t)
			text := strings.ReplaceAll(string(plan), `\"`, `"`)
			want := `"Exceptions":["` + strings.ReplaceAll(test.want, " ", `","`) + `"]`
			want = strings.ReplaceAll(want, "<machineSubnet>", `",{"fact":"machineSubnet"},"`)
			if _, found, _ := strings.Cut(text, `"Exceptions":`); !strings.Contains(text, want) {
				t.Errorf("no %s, but %.120s", want, found)
			}
		})
	}
}
