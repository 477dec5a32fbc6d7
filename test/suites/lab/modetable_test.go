package lab_test

import (
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/pods"
)

// mode is a network mode with its CNI, and what is there of both when a node has joined.
type mode struct {
	mode bootstrapv1.NetworkMode
	cni  bootstrapv1.CNI
	// daemons is the label by which the node asks for DaemonSets, programs are those that the image must have.
	daemons  string
	programs []string
	// configuration is the file that containerd finds, and ours tells that the plan has written it.
	configuration string
	ours          bool
	// network of the pods, external the one whose vSwitch the node talks by, if the plan made it, and theirs, if the CNI did; all as
	// HNS has them. endpoints are those besides the pods'.
	network, external, theirs, kind string
	endpoints                       []string
	// taken is the last number of an address that host-local must not assign.
	taken string
	// proxied modes have kube-proxy's configuration, those with a vip an address for it.
	proxied, vip bool
	// booted modes are put in order at every boot. dual: the pods have IPv6 as well.
	booted, dual bool
	// stale tells that what another CNI has left in the image is not ours to remove.
	stale bool
	// pooled nodes have the address of a pool, a name server and a route of the spec.
	pooled bool
}

// modes are all that vSphere carries.
var modes = []mode{
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIFlannel, daemons: pods.NoDaemons,
		programs:  []string{"flannel", "win-bridge", "host-local"},
		endpoints: []string{"cbr0_ep"}, taken: ".2",
		configuration: "10-flannel.conf", ours: true, network: "cbr0", external: "External", kind: "L2Bridge", proxied: true,
		booted: true,
	},
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, daemons: pods.CalicoBGP,
		configuration: "10-calico.conflist", network: "Calico", theirs: "External", kind: "L2Bridge", proxied: true, booted: true,
		endpoints: []string{"Calico_ep"},
	},
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, daemons: pods.CalicoBGP, pooled: true,
		configuration: "10-calico.conflist", network: "Calico", theirs: "External", kind: "L2Bridge", proxied: true, booted: true,
		endpoints: []string{"Calico_ep"},
	},
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIFlannel, daemons: pods.NoDaemons,
		programs:      []string{"flannel", "win-overlay", "host-local"},
		configuration: "10-flannel.conf", ours: true, network: "flannel.4096", kind: "Overlay", proxied: true,
		vip: true, booted: true,
	},
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNICalico, daemons: pods.CalicoVXLAN,
		configuration: "10-calico.conflist", network: "Calico", theirs: "External", kind: "Overlay", booted: true,
		endpoints: []string{"Calico_ep"},
	},
	{
		mode: bootstrapv1.NetworkTransparent, cni: bootstrapv1.CNIAntrea, daemons: pods.Antrea,
		configuration: "10-antrea.conflist", network: "antrea-hnsnetwork", kind: "Transparent", booted: true,
	},
	{mode: bootstrapv1.NetworkTransparent, configuration: cni.LabConf, stale: true},
	{mode: bootstrapv1.NetworkNone, configuration: cni.LabConf, stale: true},
}

func (m mode) pool() string {
	name := strings.ToLower(strings.Trim(string(m.mode)+"-"+string(m.cni), "-"))
	if m.pooled {
		name += "-pooled"
	}
	return name
}

// networks are those of its VM.
func (m mode) networks() string {
	if m.pooled {
		return pooledNetwork
	}
	return "[{name: node, network: VM Network}]"
}

// adapter is its name in Windows: that of the spec.
func (mode) adapter() string { return "node" }

func (m mode) config() *bootstrapv1.WindowsBootstrapConfigSpec {
	config := network(m.mode, m.cni)
	if m.daemons != "" {
		config.Node.Labels = map[string]bootstrapv1.LabelValue{pods.Daemons: bootstrapv1.LabelValue(m.daemons)}
	}
	if m.proxied {
		config.Network.KubeProxy.Run = bootstrapv1.KubeProxyService
	}
	if m.cni == bootstrapv1.CNIAzure {
		config.Network.ExceptionCIDRs = []string{"10.0.0.0/8"}
	}
	return &config
}
