package network

import (
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// profile is what a CNI needs in a network mode, and what it leaves behind at a reboot. docs/networks.md has the same table for
// people; a test compares.
type profile struct {
	mode bootstrapv1.NetworkMode
	cni  bootstrapv1.CNI

	// hnsNetwork is the name of the HNS network of the pods, unless the user writes another one. Empty: only the CNI knows it.
	hnsNetwork string
	// external is the network that is made before the join. The first network puts a vSwitch on the interface, which
	// cuts all connections, so no CNI should make it under a kubelet that has just joined. Empty: the CNI makes its
	// own, whatever we do before.
	external string
	// base is the network with which the CNI puts the vSwitch on the adapter after the join, where that drops what we have set.
	base string
	// file has the configuration of the CNI, and config writes it. Empty: the DaemonSet of the CNI does.
	file   string
	config func(*Network) plan.Tree
	// booted: what a reboot leaves must be removed before the kubelet starts.
	booted bool
	// taken is the last number of an address of the pod CIDR that host-local must not assign, because the CNI's daemon uses it.
	taken string
	// sourceVIP is how kube-proxy gets its own address in a VXLAN.
	sourceVIP sourceVIP
	// azureOnly: the CNI works only there. dual: it supports IPv6 beside IPv4.
	azureOnly, dual bool
	// programs of the CNI that nobody brings later, and features of Windows that it uses.
	programs, features []string
	// ports are those that the CNI's own daemons use.
	ports []opening
}

// sourceVIP is where the address comes from that kube-proxy needs for itself in an overlay; empty in other modes.
type sourceVIP string

const (
	// vipReserved: an address of the Node's pod CIDR that host-local does not assign.
	vipReserved sourceVIP = "reserved"
	// vipOfCNI: the address of an endpoint that the CNI makes when it runs; kube-proxy waits for that.
	vipOfCNI sourceVIP = "endpoint"
)

// Ports of VXLAN, of Geneve and of BGP.
const (
	vxlanPort = "4789"
	// vxlanNumber is vxlanPort for those who calculate.
	vxlanNumber = 4789
	genevePort  = "6081"
	bgpPort     = "179"
)

// profiles are all modes and CNIs that work together.
var profiles = []profile{
	// flanneld makes cbr0 on any adapter, and its endpoint cbr0_ep has the second address (flannel-io/flannel
	// cdf76059, pkg/backend/hostgw/hostgw_windows.go).
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIFlannel, hnsNetwork: "cbr0", external: "External", booted: true,
		file: flannelFile, config: flannelConfig, taken: ".2",
		programs: []string{"flannel", "win-bridge", "host-local"},
	},
	// Calico removes all networks but nat at its first run and after each boot, and makes its own External (projectcalico/calico
	// 87c15906, node/windows-packaging/CalicoWindows/node/node-service.ps1). It routes by the service RemoteAccess.
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNICalico, hnsNetwork: "Calico", base: "External", booted: true,
		features: []string{"RemoteAccess", "Routing", "RSAT-RemoteAccess-PowerShell"},
		ports:    []opening{{"bgp", "TCP", bgpPort}},
	},
	{
		mode: bootstrapv1.NetworkL2Bridge, cni: bootstrapv1.CNIAzure, hnsNetwork: "azure", external: "ext", booted: true,
		file: "10-azure.conflist", config: azureVNetConfig, azureOnly: true, dual: true,
		programs: []string{"azure-vnet", "azure-vnet-ipam"},
	},
	// flanneld names its interface to HNS, which refuses one that has a vSwitch already (flannel-io/flannel
	// cdf76059, pkg/backend/vxlan/device_windows.go): flannel.VNI must be the first network of the adapter.
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNIFlannel, hnsNetwork: "flannel.%d", base: "flannel.%d", booted: true,
		file: flannelFile, config: flannelConfig, sourceVIP: vipReserved,
		programs: []string{"flannel", "win-overlay", "host-local"}, ports: []opening{{"vxlan", "UDP", vxlanPort}},
	},
	{
		mode: bootstrapv1.NetworkOverlay, cni: bootstrapv1.CNICalico, hnsNetwork: "Calico", base: "External", booted: true,
		sourceVIP: vipOfCNI, ports: []opening{{"vxlan", "UDP", vxlanPort}},
	},
	// antrea-agent makes its network on the adapter of the node's address. Where Windows has moved the address to the vEthernet, it
	// sets neither routes nor name servers there (antrea-io/antrea v2.7.0, pkg/agent/util/net_windows.go, PrepareHNSNetwork).
	{
		mode: bootstrapv1.NetworkTransparent, cni: bootstrapv1.CNIAntrea, base: antreaNetwork, dual: true, booted: true,
		features: []string{"Hyper-V", "Hyper-V-PowerShell"},
		ports:    []opening{{"geneve", "UDP", genevePort}},
	},
	{mode: bootstrapv1.NetworkTransparent, dual: true},
	{mode: bootstrapv1.NetworkNone, dual: true},
}

// otherModes are drivers of HNS that no CNI uses, and why.
var otherModes = map[bootstrapv1.NetworkMode]string{
	"L2Tunnel": "Azure CNI no longer has L2Tunnel: since 2024 its azure-vnet makes an L2Bridge in every mode; use L2Bridge",
	"NAT": "NAT hides pods behind the address of their node, but Kubernetes requires that other nodes reach them; " +
		"use Overlay, or L2Bridge",
}

// profileOf finds the profile of a spec, or returns what works in its mode.
func profileOf(spec bootstrapv1.Network) (profile, error) {
	var modes []string
	for _, p := range profiles {
		if p.mode == spec.Mode && p.cni == spec.CNI {
			return p, nil
		}
		if p.mode == spec.Mode {
			modes = append(modes, cniName(p.cni))
		}
	}
	if reason, gone := otherModes[spec.Mode]; gone {
		return profile{}, step.Invalid(fieldNetwork+".mode", "%s", reason)
	}
	if len(modes) == 0 {
		return profile{}, step.Invalid(fieldNetwork+".mode",
			"%q is not valid; use L2Bridge, Overlay, Transparent or None", spec.Mode)
	}
	if spec.CNI == "" {
		return profile{}, step.Invalid(fieldNetwork+".cni", "must be set in mode %s; use %s", spec.Mode, step.OneOf(modes))
	}
	return profile{}, step.Invalid(fieldNetwork+".cni", "%s does not work in mode %s; use %s, or another mode",
		spec.CNI, spec.Mode, step.OneOf(modes))
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

// baseName of the network with which the CNI makes its vSwitch.
func (net *Network) baseName() string {
	if net.base == net.hnsNetwork {
		return net.podNetwork
	}
	return net.base
}

// choosesAdapter: spec.network.interface names the adapter of the vSwitch. Antrea takes that of the node's address.
func (p profile) choosesAdapter() bool {
	return p.external != "" || p.base != "" && p.cni != bootstrapv1.CNIAntrea
}

// written reports whether the spec decides what is in the CNI's configuration that we write.
func (p profile) written() bool { return p.config != nil }

// overlay reports whether pods are in a VXLAN.
func (p profile) overlay() bool { return p.mode == bootstrapv1.NetworkOverlay }
