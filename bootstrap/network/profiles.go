package network

import (
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// profile is what a CNI needs in a network mode, and what it leaves behind at a reboot.
type profile struct {
	mode bootstrapv1.NetworkMode
	cni  bootstrapv1.CNI

	// hnsNetwork is the name of the HNS network of the pods, unless the user writes another one. Empty: only the CNI knows it.
	hnsNetwork string
	// external is the network that is made before the join. The first network puts a vSwitch on the interface, which
	// cuts all connections, so no CNI should make it under a kubelet that has just joined. Empty: the CNI makes its
	// own.
	external string
	// file has the configuration of the CNI, and config writes it. Empty: the DaemonSet of the CNI does.
	file   string
	config func(*Network) plan.Tree
	// own: we also make the pods' network, from the Node's pod CIDR.
	own bool
	// booted: what a reboot leaves must be removed before the kubelet starts.
	booted bool
	// sourceVIP is how kube-proxy gets its own address in a VXLAN.
	sourceVIP sourceVIP
	// azureOnly: the CNI works only there. dual: it supports IPv6 beside IPv4.
	azureOnly, dual bool
}

// sourceVIP is where the address comes from that kube-proxy needs for itself in an overlay; empty in other modes.
type sourceVIP string

const (
	// vipReserved: an address of the Node's pod CIDR that host-local does not assign.
	vipReserved sourceVIP = "reserved"
	// vipOfCNI: the address of an endpoint that the CNI makes when it runs; its kube-proxy waits for that.
	vipOfCNI sourceVIP = "endpoint"
)

// profiles are all modes and CNIs that work together.
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
	// The hybrid overlay makes its base network itself, and finds it again after a reboot.
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

// profileOf finds the profile of a spec, or says what works in its mode.
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
		return profile{}, step.Invalid(fieldNetwork+".mode",
			"%q is not valid; use L2Bridge, L2Tunnel, Overlay, Transparent or None", spec.Mode)
	}
	if spec.CNI == "" {
		return profile{}, step.Invalid(fieldNetwork+".cni", "must be set in mode %s; use %s", spec.Mode, step.OneOf(with))
	}
	return profile{}, step.Invalid(fieldNetwork+".cni", "%s does not work in mode %s; use %s, or another mode",
		spec.CNI, spec.Mode, step.OneOf(with))
}

func cniName(cni bootstrapv1.CNI) string {
	if cni == "" {
		return "no cni"
	}
	return string(cni)
}

// podNetworkName of the pods' HNS network.
func (p profile) podNetworkName(spec bootstrapv1.Network) string {
	if spec.HNSNetworkName != "" {
		return spec.HNSNetworkName
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
