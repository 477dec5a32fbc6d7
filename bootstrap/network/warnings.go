package network

import (
	"fmt"
	"net/netip"
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// Warnings are what works only if others have done their part, which nobody can see from here.
func (net *Network) Warnings() []string {
	all := net.addressWarnings()
	if net.mode == "" {
		return all
	}
	for _, warning := range modeWarnings {
		if warning.holds(net) {
			all = append(all, fieldNetwork+": "+warning.say)
		}
	}
	return all
}

// addressWarnings are of what may come by DHCP, which nobody can see from here, and of what a CNI may take away: only behind
// a vSwitch that the plan makes are the addresses set once more.
func (net *Network) addressWarnings() []string {
	var all []string
	if len(net.adapters.addressed) > 0 && net.external == "" {
		all = append(all, adaptersField+": no vSwitch is made here; where the CNI puts one on an adapter with addresses of pools, "+
			"Windows loses its name servers and routes, which the CNI must set again")
	}
	if warning := net.firstAdapter(); warning != "" {
		all = append(all, adaptersField+warning)
	}
	return all
}

// firstAdapter is the one whose address the Node shows.
func (net *Network) firstAdapter() string {
	addresses := net.adapters.ofFirst()
	switch {
	case len(addresses) == 0 && net.adapters.count > 1:
		return ": the first of several has its address by DHCP: the cloud provider chooses which one the Node shows"
	case len(addresses) == 0:
		return ""
	}
	primary := net.podFamilies[0]
	if slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr().Is4() == primary }) {
		return ""
	}
	family := map[bool]string{true: "IPv4", false: "IPv6"}[primary]
	return fmt.Sprintf("[0]: its pools have no %s, which the pods have first: the node's must come by DHCP or router advertisements", family)
}

var modeWarnings = []struct {
	holds func(*Network) bool
	say   string
}{
	{
		func(net *Network) bool {
			return net.mode == bootstrapv1.NetworkL2Bridge && net.onAzure && net.cni != bootstrapv1.CNIAzure
		},
		"l2bridge on Azure needs a route table entry to each node's pod CIDR, and IP forwarding on its interface; " +
			"use mode overlay where nobody keeps them",
	},
	{
		func(net *Network) bool { return net.mode == bootstrapv1.NetworkL2Bridge && !net.onAzure },
		"l2bridge sends pods' packets into the machines' network as they are: all nodes must be in one subnet, or routers must know " +
			"the pod CIDRs",
	},
	{
		func(net *Network) bool { return net.azureOnly },
		"each pod takes an address of the subnet: the interface of the machine needs spec.kubelet.maxPods secondary addresses",
	},
	{
		func(net *Network) bool {
			return net.written() && !net.overlay() && !net.ownExceptions && len(net.machineSubnet()) == 0
		},
		"exceptionCIDRs is empty: pods reach machines beside the cluster's own pods and services with the node's address; " +
			"write the machines' subnet where they must see the pod's",
	},
	{
		func(net *Network) bool { return net.cni == bootstrapv1.CNIWinBridge },
		"WinBridge has no daemon: something of yours must make the endpoint of the host that is the pods' gateway, the second address " +
			"of the pod CIDR, and the routes between nodes",
	},
	{
		func(net *Network) bool { return net.cni == bootstrapv1.CNIWinOverlay },
		"WinOverlay has no daemon: something of yours must tell the VXLAN of this node where the pods of the others are",
	},
	{
		func(net *Network) bool { return net.mode == bootstrapv1.NetworkTransparent },
		"transparent leaves the network to the CNI: it or the image must bring its driver, such as Open vSwitch, and the port group of vSphere " +
			"must allow forged transmits and MAC changes",
	},
	{
		func(net *Network) bool { return net.pods.dual() && !net.dual },
		"the cluster is dual-stack, this CNI gives pods on Windows IPv4 only",
	},
	{
		func(net *Network) bool { return net.proxied && !net.dsr },
		"without DSR a Service takes up to 64 of the dynamic ports of each node, and loses the address of the client",
	},
}
