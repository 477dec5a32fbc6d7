// Package network is spec.network: what a CNI needs on a Windows node in each mode, and the addresses of its adapters.
//
// profiles.go is the table of modes and CNIs that work together. read.go, exceptions.go, ports.go, cidr.go and adapters.go read
// and refuse; network.go, names.go, files.go and cleanup.go write the steps, proxy.go, flanneld.go and services.go those of the
// services that the node itself has of its network.
package network

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Steps prepare a node for its CNI: what must exist before the join, what can be written only when the Node has its
// pod CIDR, and what every boot cleans up. Without spec.network there are only the kubelet's port and the node's address.
func (net *Network) Steps() step.Part {
	p := step.Part{EveryBoot: net.everyBoot(), AfterBoot: net.behindCNI(), Background: net.background()}
	p.Add(step.PhaseNetwork, slices.Concat(net.patchLevel(), net.useFeatures(), net.cleanup())...)
	p.Add(step.PhaseNetwork, slices.Concat(net.answersARP(), net.keepsStatic(), net.openPorts())...)
	p.Add(step.PhaseNetwork, slices.Concat(net.nameAdapters(), net.vSwitch())...)
	p.Add(step.PhaseNetwork, slices.Concat(net.measureSubnet(), net.nodeAddress())...)
	p.Add(step.PhaseKubelet, slices.Concat(net.lookForPrograms(), net.flannelService(), net.kubeProxy())...)
	if net.waitsForFlanneld() { // what the background needs, where a wrong one still fails the bootstrap
		p.Add(step.PhaseVerify, net.podCIDR()...)
	} else {
		p.Add(step.PhaseNetwork, net.files()...)
	}
	p.Add(step.PhaseVerify, net.kubeconfigOfIPAM()...)
	p.Add(step.PhasePostJoin, net.behindCNI()...)
	return p
}

// needsPodCIDR: the addresses of host-local, and those reserved from it, are in the pod CIDR of the Node.
func (net *Network) needsPodCIDR() bool {
	return net.taken != "" || net.proxied && net.sourceVIP == vipReserved
}

// factPodPrefix begins all addresses of the Node's pod CIDR. It must be a /24, the default of the controller manager, because a
// plan can join texts but cannot calculate.
const factPodPrefix = "podPrefix"

// sourceVIPOf is the last address of the pod CIDR, which is kube-proxy's.
var sourceVIPOf = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".254"))

// podCIDR asks the API server with the node's own credentials.
func (net *Network) podCIDR() []plan.Step {
	if !net.needsPodCIDR() {
		return nil
	}
	pause := 10
	return []plan.Step{&plan.Fact{
		Common: plan.Common{
			Name: "pod-cidr", Reason: step.ReasonPodCIDRMissing, TimeoutSeconds: 30, Attempts: 30, DelaySeconds: &pause,
		},
		Argv:  step.AskForNode(net.NodeName, "{.spec.podCIDRs}"),
		Match: `([0-9]+[.][0-9]+[.][0-9]+)[.]0/24`, Set: factPodPrefix,
		Say: plan.Text("the Node " + net.NodeName + " has no IPv4 pod CIDR of size /24"),
	}}
}

// keepsStatic: on Server 2019 the adapter of a new vSwitch starts with DHCP instead of the addresses that were set by hand, and
// HNS keeps the one that Windows then makes up (microsoft/SDN issue 498). This turns that off, as OpenShift has it
// (windows-machine-config-operator 0be4b9cc, docs/byoh-instance-pre-requisites.md), whoever makes the vSwitch.
func (net *Network) keepsStatic() []plan.Step {
	if len(net.Adapters.addressed()) == 0 {
		return nil
	}
	return net.settingOfHNS("static-addresses-stay", "hns-restarted-for-addresses", plan.Registry{
		ValueName: "DeviceLessNicDisabled", Type: plan.RegistryDWord, Value: plan.Text("1"),
	}, &plan.Test{Fact: plan.FactOSBuild, Is: plan.Text(step.Windows2019)})
}

// settingOfHNS is read by HNS when it starts.
func (net *Network) settingOfHNS(name, restart string, value plan.Registry, test *plan.Test) []plan.Step {
	value.Common = plan.Common{Name: name, Reason: step.ReasonNetworkSettingsFailed, When: test}
	value.Key = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\hns\State`
	restarted := step.ServiceState(restart, step.ReasonNetworkSettingsFailed, "hns", plan.ServiceRestarted)
	restarted.When = test
	return []plan.Step{&value, restarted}
}

// vSwitch makes the external network and restores what Windows drops with it.
func (net *Network) vSwitch() []plan.Step {
	if net.external == "" {
		return nil
	}
	steps := []plan.Step{&plan.HNSNetwork{
		Common:  plan.Common{Name: "external-network", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 180, Attempts: 3},
		Request: net.externalRequest(),
	}}
	return append(steps, net.restored("-behind-vswitch")...)
}

// restored are the addresses, routes and name servers of pools, and the routes to the cloud's own addresses: Windows drops them
// when an adapter gets a vSwitch, and when it loses one. Steps find an adapter by its MAC: Antrea renames the vEthernet.
func (net *Network) restored(suffix string) []plan.Step {
	steps := net.Adapters.repeated(suffix)
	if net.OnAzure {
		steps = append(steps, &plan.Route{
			Common:       plan.Common{Name: "metadata-routes" + suffix, Reason: step.ReasonNetworkNotReady, Attempts: 6},
			Destinations: plan.Texts("169.254.169.254/32", "168.63.129.16/32"),
		})
	}
	return steps
}

// awaitNetwork waits for a network that the CNI's daemon makes.
func (net *Network) awaitNetwork(name, network string) *plan.HNSNetwork {
	return &plan.HNSNetwork{
		Common:  plan.Common{Name: name, Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 600},
		Request: plan.Tree{"Name": network}, Wait: true,
	}
}

// waitsForCNI reports whether anything must be restored behind the vSwitch of the CNI.
func (net *Network) waitsForCNI() bool {
	return net.base != "" && (net.OnAzure || len(net.Adapters.addressed()) > 0)
}

// behindCNI waits for the vSwitch that the CNI's daemon makes once the kubelet runs, and restores what it drops. Nothing waits
// where DHCP brings all. A daemon that does not come is a warning: the node is not Ready either.
func (net *Network) behindCNI() []plan.Step {
	if !net.waitsForCNI() || net.flanneld { // flanneld is a service that starts later: see startFlanneld
		return nil
	}
	steps := append([]plan.Step{net.awaitNetwork("cni-vswitch", net.baseName())}, net.restored("-behind-cni")...)
	return optional(steps)
}

func optional(steps []plan.Step) []plan.Step {
	for _, s := range steps {
		s.Base().Optional = true
	}
	return steps
}

// externalRequest is a network with addresses that are never used: it exists for its vSwitch. They are of the shared address
// space (RFC 6598), because a cluster's pods may have those of 192.168.0.0/16.
func (net *Network) externalRequest() plan.Tree {
	subnets := []any{map[string]any{"AddressPrefix": "100.64.255.252/30", "GatewayAddress": "100.64.255.253"}}
	if net.twoFamilies() { // as AKS does; the numbers mean no more than those above
		subnets = append(subnets, map[string]any{"AddressPrefix": "192:168:255::0/127", "GatewayAddress": "192:168:255::1"})
	}
	return plan.Tree{
		"Name": net.external, "Type": "L2Bridge", "Subnets": subnets, "NetworkAdapterName": leaf(net.adapterName()),
	}
}
