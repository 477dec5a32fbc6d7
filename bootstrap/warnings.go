package bootstrap

import (
	"fmt"
	"reflect"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
)

// smallMemory is what Windows with the kubelet and containerd has little use of below.
const smallMemory = 8192

// warnings are what works only if others have done their part, which nobody can see from here.
func warnings(n *node) ([]string, error) {
	all := append(n.warnings(), addressWarnings(n)...)
	if reflect.ValueOf(n.spec.Network).IsZero() {
		return all, nil
	}
	net, err := readNetwork(n)
	if err != nil {
		return nil, err
	}
	for _, warning := range networkWarnings {
		if warning.holds(net) {
			all = append(all, fieldNetwork+": "+warning.say)
		}
	}
	return all, nil
}

// warnings of version, size and what was dared. What only the node knows of itself is asked there: see soundness.
func (n *node) warnings() []string {
	var all []string
	if n.minor > lastMinor {
		all = append(all, fmt.Sprintf("Machine spec.version: %s is newer than v1.%d, the newest whose kubelet is known here; it is taken to be like that one",
			n.version, lastMinor))
	}
	if n.minor < rotatingMinor {
		all = append(all, fmt.Sprintf("Machine spec.version: nothing rotates the kubelet's log before v1.%d: kubelet.log in %s grows until the disk is full; "+
			"use v1.%d or later, or stop the kubelet and delete the file before that", rotatingMinor, n.kubelet.logDirectory, rotatingMinor))
	}
	if n.memoryMiB > 0 && n.memoryMiB < smallMemory {
		all = append(all, fmt.Sprintf("WindowsMachine spec.vsphere.memoryMiB: %d is little, Windows and Kubernetes alone take some 3 GiB of it; write %d or more",
			n.memoryMiB, smallMemory))
	}
	if n.spec.Containerd.HyperVIsolation == bootstrapv1.HyperVIsolationEnabled {
		all = append(all, containerdField+".hyperVIsolation: the VM needs nested virtualization: on vSphere a template that exposes it, "+
			"on Azure a size that has it")
	}
	if n.spec.Reservations.LowMemory == bootstrapv1.LowMemoryAccepted {
		all = append(all, reservationsField+".lowMemory: a node with less than 2Gi for Windows and Kubernetes may stall, one with less for Pods runs few; give Pods memory limits")
	}
	if len(n.spec.Windows.NTPServers) > 0 && n.spec.Windows.Domain != (bootstrapv1.Domain{}) {
		all = append(all, windowsField+".ntpServers: a member of a domain takes its time from the domain, which replaces the list; leave it out")
	}
	return all
}

var networkWarnings = []struct {
	holds func(*network) bool
	say   string
}{
	{
		func(net *network) bool {
			return net.mode == bootstrapv1.NetworkL2Bridge && net.node.cloud.azure && net.cni != bootstrapv1.CNIAzure
		},
		"l2bridge on Azure needs a route table entry to each node's pod CIDR, and IP forwarding on its interface; " +
			"use mode overlay where nobody keeps them",
	},
	{
		func(net *network) bool { return net.mode == bootstrapv1.NetworkL2Bridge && !net.node.cloud.azure },
		"l2bridge sends pods' packets into the machines' network as they are: all nodes must be in one subnet, or routers must know " +
			"the pod CIDRs",
	},
	{
		func(net *network) bool { return net.azure },
		"each pod takes an address of the subnet: the interface of the machine needs spec.kubelet.maxPods secondary addresses",
	},
	{
		func(net *network) bool {
			return net.written() && !net.overlay() && len(net.spec.ExceptionCIDRs) == 0 && len(net.machineSubnet()) == 0
		},
		"exceptionCIDRs is empty: pods reach machines beside the cluster's own pods and services with the node's address; " +
			"write the machines' subnet where they must see the pod's",
	},
	{
		func(net *network) bool { return net.cni == bootstrapv1.CNIWinBridge },
		"WinBridge has no daemon: something of yours must make the endpoint of the host that is the pods' gateway, the second address " +
			"of the pod CIDR, and the routes between nodes",
	},
	{
		func(net *network) bool { return net.cni == bootstrapv1.CNIWinOverlay },
		"WinOverlay has no daemon: something of yours must tell the VXLAN of this node where the pods of the others are",
	},
	{
		func(net *network) bool { return net.mode == bootstrapv1.NetworkTransparent },
		"transparent leaves the network to the CNI: it or the image must bring its driver, such as Open vSwitch, and the port group of vSphere " +
			"must allow forged transmits and MAC changes",
	},
	{
		func(net *network) bool { return net.pods.dual() && !net.dual },
		"the cluster is dual-stack, this CNI gives pods on Windows IPv4 only",
	},
	{
		func(net *network) bool { return net.proxied() && !net.dsr() },
		"without DSR a Service takes up to 64 of the dynamic ports of each node, and loses the address of the client",
	},
}
