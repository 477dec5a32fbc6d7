package network

import (
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// profile is what a CNI needs in a network mode, and what it leaves behind.
type profile struct {
	mode bootstrapv1.NetworkMode
	cni  bootstrapv1.CNI

	// hnsNetwork is the name of the HNS network of the pods, unless the user writes another one. Empty: only the CNI knows it.
	hnsNetwork string
	// external is the network that is made before the join: the first one puts a vSwitch on the interface, which cuts all
	// connections, and no CNI should do so below a kubelet that has just joined. Empty: the CNI makes its own.
	external string
	// file holds the CNI's configuration, config makes it. Empty: the CNI's DaemonSet writes it.
	file   string
	config func(*Network) plan.Tree
	// own tells that we make the network of the pods as well, from the Node's pod CIDR.
	own bool
	// booted tells that what a reboot leaves of it has to go before the kubelet starts.
	booted bool
	// sourceVIP tells how kube-proxy comes to its address in a VXLAN.
	sourceVIP sourceVIP
	// azureOnly tells that it works nowhere else, dual that it takes IPv6 beside IPv4.
	azureOnly, dual bool
}

// sourceVIP is a way to the address that an overlay's kube-proxy needs for itself; empty: in other modes it needs none.
type sourceVIP string

const (
	// vipReserved: an address of the Node's pod CIDR that host-local is kept from.
	vipReserved sourceVIP = "reserved"
	// vipOfCNI: the address of an endpoint that the CNI makes once it runs; its kube-proxy waits for it.
	vipOfCNI sourceVIP = "endpoint"
)

// profiles are all that go together.
var profiles = []profile{
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIFlannel, hnsNetwork: "cbr0", external: "External", booted: true,
		file: "10-flannel.conf", config: flannelConfig,
	},
	{mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, hnsNetwork: "Calico", external: "External", booted: true},
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIWinBridge, hnsNetwork: "cbr0", external: "External", booted: true,
		file: "10-win-bridge.conf", config: hostLocalConfig, own: true,
	},
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIAzure, hnsNetwork: "azure", external: "ext", booted: true,
		file: "10-azure.conflist", config: azureVNetConfig, azureOnly: true, dual: true,
	},
	{
		mode: bootstrapv1.NetworkL2Tunnel, cni: bootstrapv1.CNIAzure, hnsNetwork: "azure", external: "ext", booted: true,
		file: "10-azure.conflist", config: azureVNetConfig, azureOnly: true, dual: true,
	},
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIFlannel, hnsNetwork: "flannel.%d", external: "External", booted: true,
		file: "10-flannel.conf", config: flannelConfig, sourceVIP: vipReserved,
	},
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNICalico, hnsNetwork: "Calico", external: "External", booted: true,
		sourceVIP: vipOfCNI,
	},
	// The hybrid overlay makes its base network itself, and finds its own again after a reboot.
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIOVNKubernetes, hnsNetwork: "OVNKubernetesHybridOverlayNetwork",
		sourceVIP: vipOfCNI,
	},
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIWinOverlay, hnsNetwork: "vxlan0", external: "External", booted: true,
		file: "10-win-overlay.conf", config: hostLocalConfig, own: true, sourceVIP: vipReserved,
	},
	{mode: bootstrapv1.NetworkTransparent, cni: bootstrapv1.CNIAntrea, dual: true},
	{mode: bootstrapv1.NetworkTransparent, dual: true},
	{mode: bootstrapv1.NetworkNone, dual: true},
}

// profileOf finds the profile, or says what goes with the mode.
func profileOf(spec bootstrapv1.Network) (profile, error) {
	var with []string
	for _, p := range profiles {
		if p.mode == spec.Mode && p.cni == spec.CNI {
			return p, nil
		}
		if p.mode == spec.Mode {
			with = append(with, cniName(p.cni))
		}
	}
	if len(with) == 0 {
		return profile{}, step.Invalid(fieldNetwork+".mode", "%q is none; write l2bridge, l2tunnel, overlay, transparent or none", spec.Mode)
	}
	return profile{}, step.Invalid(fieldNetwork+".cni", "%s does not go with mode %s; write %s, or another mode",
		cniName(spec.CNI), spec.Mode, strings.Join(with, " or "))
}

func cniName(cni bootstrapv1.CNI) string {
	if cni == "" {
		return "no cni"
	}
	return string(cni)
}

// podNetworkName of the pods' HNS network.
func (p profile) podNetworkName(spec bootstrapv1.Network) string {
	if spec.NetworkName != "" {
		return spec.NetworkName
	}
	if strings.Contains(p.hnsNetwork, "%d") {
		return fmt.Sprintf(p.hnsNetwork, vniOf(spec))
	}
	return p.hnsNetwork
}

// written tells whether we write the CNI's configuration.
func (p profile) written() bool { return p.config != nil }

// overlay tells whether pods are in a VXLAN.
func (p profile) overlay() bool { return p.mode == bootstrapv1.NetworkOverlay }
