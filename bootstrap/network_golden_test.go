package bootstrap_test

import (
	"path/filepath"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// networkGoldens are every mode with every CNI that is allowed. test/sim/agent runs their plans.
var networkGoldens = []goldenCase{
	{"network-l2bridge-flannel", "host-gw on vSphere", inNetwork("L2Bridge", "Flannel")},
	{"network-l2bridge-calico", "Calico writes its own configuration", inNetwork("L2Bridge", "Calico")},
	{"network-l2bridge-all-fields", "all that can be said", inNetwork("L2Bridge", "Flannel", withEveryField)},
	{"network-l2bridge-dual-stack", "only IPv4 is translated", inNetwork("L2Bridge", "Flannel", dualStack, withKubeProxy)},
	{"network-overlay-flannel", "VXLAN", inNetwork("Overlay", "Flannel")},
	{
		"cni-programs", "the script of docs/images.md, which test/upstream/powershell runs, unpacks before the programs are looked for",
		all(inNetwork("Overlay", "Flannel"), documented("images.md", "custom:\n")),
	},
	{"network-overlay-flannel-kube-proxy", "an address is reserved", inNetwork("Overlay", "Flannel", withKubeProxy, withVNI(5000))},
	{
		"kube-proxy-1.30", "Direct Server Return is behind a gate",
		inNetwork("Overlay", "Flannel", withKubeProxy, ofVersion("v1.30.14")),
	},
	{"kube-proxy-1.33", "the gate is on", inNetwork("L2Bridge", "Flannel", withKubeProxy, ofVersion("v1.33.13"))},
	{"kube-proxy-calico", "its source VIP is the address of Calico's endpoint", inNetwork("Overlay", "Calico", withKubeProxy)},
	{"flannel-external", "pods bring flanneld and kube-proxy", inNetwork("Overlay", "Flannel", spec(
		`network: {kubeProxy: {run: DaemonSet}, flannel: {run: External}}`))},
	{
		"network-l2bridge-flannel-static", "the machine's subnet is known",
		inNetwork("L2Bridge", "Flannel", withAdapters(staticAdapter("10.0.0.5/24"))),
	},
	{"network-overlay-calico", "VXLAN by Calico", inNetwork("Overlay", "Calico")},
	{
		"network-overlay-calico-static", "Calico's vSwitch drops routes and name servers at each start",
		inNetwork("Overlay", "Calico", withAdapters(staticAdapter("10.0.0.5/24"))),
	},
	{"network-transparent-antrea", "the CNI owns the network", inNetwork("Transparent", "Antrea", prepareAntrea)},
	{
		"network-transparent-antrea-static", "the CNI's vSwitch drops routes and name servers at each start, behind its own script",
		inNetwork("Transparent", "Antrea", prepareAntrea, withAdapters(staticAdapter("10.0.0.5/24"))),
	},
	{"network-transparent", "a CNI that we do not know owns the network", inNetwork("Transparent", "")},
	{"network-none", "ports only", inNetwork("None", "")},

	{"network-azure-l2bridge-azurecni", "addresses of the virtual network", inNetwork("L2Bridge", "AzureCNI", onAzure, vnet)},
	{
		"network-azure-l2bridge-azurecni-kube-proxy", "Direct Server Return needs no routes to Services",
		inNetwork("L2Bridge", "AzureCNI", onAzure, vnet, withKubeProxy),
	},
	{
		"network-azure-l2bridge-azurecni-several", "azure-vnet is told the adapter",
		inNetwork("L2Bridge", "AzureCNI", vnet, onAzureWith("node", "storage")),
	},
	{"network-azure-l2bridge-dual-stack", "AzureCNI has IPv6 too", inNetwork("L2Bridge", "AzureCNI", onAzure, vnet, dualStack)},
	{"network-azure-l2bridge-flannel", "probes of load balancers", inNetwork("L2Bridge", "Flannel", onAzure, withKubeProxy)},
	{"network-azure-l2bridge-calico", "route tables are the user's", inNetwork("L2Bridge", "Calico", onAzure)},
	{"network-azure-overlay-flannel", "the cloud's addresses are kept", inNetwork("Overlay", "Flannel", onAzure, withKubeProxy)},
	{"network-azure-overlay-calico", "the cloud's addresses are kept", inNetwork("Overlay", "Calico", onAzure)},
	{"network-azure-none", "ports only", inNetwork("None", "", onAzure)},
}

// inNetwork is a plain cluster with pods and services, and a network of the mode.
func inNetwork(mode bootstrapv1.NetworkMode, cni bootstrapv1.CNI, changes ...change) change {
	ranges := withRanges([]string{"10.244.0.0/16"}, []string{"10.96.0.0/12"})
	return all(ranges, withNetwork(func(n *bootstrapv1.Network) { n.Mode, n.CNI = mode, cni }), all(changes...))
}

// documented is a spec, as the first block of YAML in a page that begins so has it.
func documented(page, begin string) change {
	text := string(mustRead(filepath.Join("..", "docs", page)))
	for _, block := range strings.Split(text, "```yaml\n")[1:] {
		if block, _, _ = strings.Cut(block, "```\n"); strings.HasPrefix(block, begin) {
			return spec(block)
		}
	}
	panic(page + " has no YAML that begins with " + begin)
}

// prepareAntrea has Antrea's script run before each start of its agent, as docs/network-details.md demands.
var prepareAntrea = func() change {
	const script = `[{name: prepare-antrea, content: 'C:\k\antrea\Prepare-AntreaAgent.ps1 -RunOVSServices $false'}]`
	return spec(`custom: {preJoin: ` + script + `, everyBoot: ` + script + `}`)
}()

func withRanges(pods, services []string) change {
	return func(in *bootstrap.Input) {
		in.Cluster.Spec.ClusterNetwork = clusterv1.ClusterNetwork{
			Pods: clusterv1.NetworkRanges{CIDRBlocks: pods}, Services: clusterv1.NetworkRanges{CIDRBlocks: services},
		}
	}
}

func dualStack(in *bootstrap.Input) {
	withRanges([]string{"10.244.0.0/16", "fd00:10:244::/56"}, []string{"10.96.0.0/16", "fd00:10:96::/112"})(in)
}

func withNetwork(change func(*bootstrapv1.Network)) change {
	return func(in *bootstrap.Input) { change(&in.Config.Spec.Network) }
}

// vnet says the ranges of the virtual network, which AzureCNI needs.
var vnet = exceptions("10.128.0.0/9", "10.128.4.0/22")

func withVNI(vni int32) change {
	return withNetwork(func(n *bootstrapv1.Network) { n.VNI = vni })
}

func withKubeProxy(in *bootstrap.Input) {
	in.Config.Spec.Network.KubeProxy.Run = bootstrapv1.KubeProxyService
}

func withEveryField(in *bootstrap.Input) {
	in.Cluster.Spec.ClusterNetwork.ServiceDomain = "blue.example.com"
	spec(`network: {mode: L2Bridge, cni: Flannel, interface: Ethernet0 2, hnsNetworkName: pods,
		exceptionCIDRs: [192.168.10.0/24, 172.16.0.0/12], clusterDNS: 10.96.0.53,
		nodePorts: {first: 20000, last: 20999}, dynamicPorts: {first: 40000, last: 60000},
		firewall: [
			{name: metrics, protocol: TCP, ports: {first: 9182}},
			{name: games, protocol: UDP, ports: {first: 7000, last: 7100}}],
		kubeProxy: {run: Service, dsr: Disabled}}`)(in)
}

// Every pair that the API takes has a golden plan on each cloud that it may be on.
func TestEveryNetworkHasAGoldenPlan(t *testing.T) {
	type world struct {
		azure bool
		mode  bootstrapv1.NetworkMode
		cni   bootstrapv1.CNI
	}
	seen := map[world]bool{}
	for _, golden := range networkGoldens {
		in := plainInput(t, golden.change)
		seen[world{in.WindowsMachine.Spec.Azure != nil, in.Config.Spec.Network.Mode, in.Config.Spec.Network.CNI}] = true
	}
	allowed := 0
	for _, azure := range []bool{false, true} {
		for _, mode := range everyMode {
			for _, cni := range everyCNI {
				in := plainInput(t, inNetwork(mode, cni))
				if azure {
					onAzure(&in)
				}
				if cni == bootstrapv1.CNIAzure {
					vnet(&in)
				}
				_, err := bootstrap.Render(in)
				if err == nil {
					allowed++
				}
				if w := (world{azure, mode, cni}); seen[w] != (err == nil) {
					t.Errorf("%+v: golden plan %t, but: %v", w, seen[w], err)
				}
			}
		}
	}
	if allowed != 13 {
		t.Errorf("%d of %d combinations are allowed, 13 are known", allowed, 2*len(everyMode)*len(everyCNI))
	}
}

var (
	everyMode = []bootstrapv1.NetworkMode{"L2Bridge", "Overlay", "Transparent", "None"}
	everyCNI  = []bootstrapv1.CNI{"", "Flannel", "Calico", "AzureCNI", "Antrea"}
)
