package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Warnings are about what works only if others do their part, which cannot be checked here.
func (net *Network) Warnings() []string {
	warnings := net.addressWarnings()
	if net.mode == "" {
		return warnings
	}
	for _, warning := range modeWarnings {
		if warning.holds(net) {
			warnings = append(warnings, fieldNetwork+": "+warning.say)
		}
	}
	return warnings
}

// addressWarnings are about addresses that may come by DHCP, and about settings that a CNI may drop: only behind a
// vSwitch that we make are they set again.
func (net *Network) addressWarnings() []string {
	var warnings []string
	if len(net.Adapters.addressed()) > 0 && net.external == "" && net.base == "" {
		warnings = append(warnings,
			adaptersField+": this provider makes no vSwitch in this mode; if the CNI puts one on an adapter with addresses from pools, "+
				"Windows loses the adapter's name servers and routes, and the CNI must set them again")
	}
	if warning := net.firstAdapter(); warning != "" {
		warnings = append(warnings, adaptersField+warning)
	}
	if warning := cmp.Or(net.addressesOfPods(), net.podsWithoutAddress()); warning != "" {
		warnings = append(warnings, fieldNetwork+": "+warning)
	}
	return warnings
}

// addressesOfPods warns where pods take addresses of Azure's subnet and the first adapter has too few.
func (net *Network) addressesOfPods() string {
	count := 0
	if len(net.Adapters) > 0 {
		count = net.Adapters[0].secondary
	}
	if !net.azureOnly || count >= net.MaxPods {
		return ""
	}
	return fmt.Sprintf("each pod takes an address of the subnet, and the machine has %d secondary addresses for %d pods; set "+
		"spec.azure.networkInterfaces[0].secondaryAddresses of the WindowsMachine to the number of spec.kubelet.maxPods",
		count, net.MaxPods)
}

// podsWithoutAddress warns where the pods take addresses of Calico's block.
func (net *Network) podsWithoutAddress() string {
	if net.cni != bootstrapv1.CNICalico {
		return ""
	}
	return net.Block.Lack(net.MaxPods)
}

// firstAdapter warns about the adapter whose address the Node shows, unless the user has chosen it.
func (net *Network) firstAdapter() string {
	switch addresses := net.Adapters.ofFirst(); {
	case net.AddressGiven:
		return ""
	case len(addresses) > 0:
		return net.poolsLack(addresses)
	case len(net.Adapters) < 2 || net.OnAzure:
		return ""
	}
	const byDHCP = ": the first of several adapters gets its address by DHCP, so "
	ip := net.NodeIP()
	switch {
	case ip == nil:
		return byDHCP + "the cloud provider chooses which address the Node shows"
	case slices.Contains(ip, plan.Part{Fact: factNodeAddress}):
		return byDHCP + "the Node shows the address of Windows' default route; let only the first adapter have a gateway, or use " +
			"addressesFromPools"
	}
	return ""
}

// poolsLack returns the family of the pods that has no address among those of pools.
func (net *Network) poolsLack(addresses []netip.Prefix) string {
	lacks := func(four bool) bool {
		return !slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr().Is4() == four })
	}
	name := map[bool]string{true: "IPv4", false: "IPv6"}
	first, second := net.podFamilies[0], net.podFamilies[len(net.podFamilies)-1]
	switch {
	case lacks(first):
		return fmt.Sprintf("[0]: its pools have no %s address, the first family of the pods; the node must get one by DHCP or router "+
			"advertisements", name[first])
	case lacks(second):
		return fmt.Sprintf("[0]: its pools have no %s address, so the Node shows %s only; use a pool of each family",
			name[second], name[first])
	}
	return ""
}

// lacksGates is the first minor of Kubernetes without the gates that images of kube-proxy name (kubernetes pull request 142125).
const lacksGates = 38

var modeWarnings = []struct {
	holds func(*Network) bool
	say   string
}{
	{
		func(net *Network) bool {
			return net.mode == bootstrapv1.NetworkL2Bridge && net.OnAzure && net.cni != bootstrapv1.CNIAzure
		},
		"L2Bridge on Azure needs a route table entry to each node's pod CIDR, and IP forwarding on its interface; " +
			"use mode Overlay unless these are maintained",
	},
	{
		func(net *Network) bool { return net.mode == bootstrapv1.NetworkL2Bridge && !net.OnAzure },
		"L2Bridge sends pods' packets into the machines' network unchanged: all nodes must be in one subnet, or routers must know " +
			"the pod CIDRs",
	},
	{
		// See hostgw_windows.go and node-service.ps1, which profiles.go names.
		func(net *Network) bool {
			nameless := net.cni == bootstrapv1.CNIFlannel || net.cni == bootstrapv1.CNICalico
			return nameless && net.mode == bootstrapv1.NetworkL2Bridge && len(net.Adapters) > 1
		},
		"this CNI does not name the adapter of its network to HNS, so HNS may use any free adapter; " +
			"use a machine with one adapter, or mode Overlay",
	},
	{
		func(net *Network) bool { return net.mode == bootstrapv1.NetworkTransparent },
		"Transparent leaves the network to the CNI: it or the image must provide its driver, such as Open vSwitch",
	},
	{
		// Antrea sends what pods say with the MAC of the node's adapter, in tunnels and without (antrea-io/antrea pull request 3516).
		func(net *Network) bool { return net.mode == bootstrapv1.NetworkTransparent && net.cni == "" },
		"if this CNI sends packets with MAC addresses of pods, the port group of vSphere must allow forged transmits and MAC changes",
	},
	{
		func(net *Network) bool { return net.cni == bootstrapv1.CNIAntrea },
		"Antrea needs Windows' firewall turned off, which the bootstrap does, and its script Prepare-AntreaAgent.ps1 before each " +
			"start of its agent; run it in custom.preJoin and custom.everyBoot",
	},
	{
		func(net *Network) bool { return net.cni == bootstrapv1.CNIAntrea && !net.Nested },
		"Antrea uses Hyper-V, which Windows installs only where the VM has nested virtualization; set " +
			"spec.vsphere.nestedVirtualization of the WindowsMachine to Enabled, or use an image that has Hyper-V",
	},
	{
		func(net *Network) bool { return net.overlay() && !net.OnAzure },
		"the VXLAN has port 4789: under NSX the hosts of vSphere use that port themselves and drop the node's packets; there, use " +
			"mode L2Bridge",
	},
	{
		func(net *Network) bool { return net.pods.dual() && !net.dual },
		"the cluster is dual-stack, but this CNI gives pods on Windows IPv4 addresses only",
	},
	{
		// The start.ps1 of their images (kubernetes-sigs/sig-windows-tools, hostprocess).
		func(net *Network) bool { return net.proxyInPods && net.Minor >= lacksGates },
		"the published images of kube-proxy for Windows do not start with Kubernetes 1.38 or later, which no longer has the gates " +
			"WinDSR and WinOverlay that they name, and without kube-proxy no pod reaches a Service; use 1.37, set kubeProxy.run to " +
			"Service, or use an image of your own",
	},
	{
		func(net *Network) bool { return net.proxied && !net.dsr },
		"without DSR a Service takes up to 64 of the dynamic ports of each node, and pods do not see the client's address",
	},
}
