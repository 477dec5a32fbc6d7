// Package network is spec.network: what a CNI needs on a Windows node in each mode, and the addresses of its adapters.
//
// profiles.go is the table of modes and CNIs that work together. read.go, ports.go, cidr.go and adapters.go read and
// refuse; network.go, names.go, files.go and cleanup.go write the steps.
package network

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Steps prepare a node for its CNI: what must exist before the join, what can be written only when the Node has its
// pod CIDR, and what every boot cleans up. Without spec.network there are none.
func (net *Network) Steps() step.Part {
	if net.mode == "" {
		return step.Part{}
	}
	p := step.Part{EveryBoot: net.everyBoot()}
	p.Add(step.PhaseNetwork, slices.Concat(net.patchLevel(), net.cleanup(), net.openPorts())...)
	p.Add(step.PhaseNetwork, slices.Concat(net.nameAdapters(), net.aroundVSwitch())...)
	if net.needsPodCIDR() {
		p.Add(step.PhaseVerify, slices.Concat(net.podCIDR(), net.ownNetwork(), net.files())...)
	} else {
		p.Add(step.PhaseNetwork, net.files()...)
	}
	p.Add(step.PhasePostJoin, net.handOver()...)
	return p
}

// needsPodCIDR: the addresses of host-local, and those reserved from it, are in the pod CIDR of the Node.
func (net *Network) needsPodCIDR() bool {
	return net.own || net.proxied && net.sourceVIP == vipReserved
}

// Facts made of the Node's pod CIDR. It must be a /24, the default of the controller manager, because a plan can join
// texts but cannot calculate.
const (
	factPodPrefix  = "podPrefix"
	factPodCIDR    = "podCIDR"
	factPodGateway = "podGateway"
)

// Reserved addresses of a pod CIDR: plug-ins use the first or the second for the gateway, and the last is
// kube-proxy's source VIP.
var (
	podCIDRValue = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".0/24"))
	podGateway   = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".1"))
	lastForPods  = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".253"))
	sourceVIPOf  = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".254"))
)

// podCIDR asks the API server with the node's own credentials. A leaf of a tree is one whole fact, so echo joins
// facts and text to new facts.
func (net *Network) podCIDR() []plan.Step {
	if !net.needsPodCIDR() {
		return nil
	}
	pause := 10
	steps := []plan.Step{&plan.Fact{
		Common: plan.Common{
			Name: "pod-cidr", Reason: step.ReasonPodCIDRMissing, TimeoutSeconds: 30, Attempts: 30, DelaySeconds: &pause,
		},
		Argv:  step.AskForNode(net.nodeName, "{.spec.podCIDRs}"),
		Match: `([0-9]+[.][0-9]+[.][0-9]+)[.]0/24`, Set: factPodPrefix,
		Say: plan.Text("the Node " + net.nodeName + " has no IPv4 pod CIDR of size /24"),
	}}
	if net.own {
		steps = append(steps, echo("pod-subnet", podCIDRValue, factPodCIDR), echo("pod-gateway", podGateway, factPodGateway))
	}
	return steps
}

func echo(name string, value plan.Value, set string) plan.Step {
	return &plan.Fact{
		Common: plan.Common{Name: name, Reason: step.ReasonPodCIDRMissing},
		Argv:   append(plan.Texts("cmd.exe", "/d", "/c", "echo"), value), Match: `[0-9./]+`, Set: set,
		Say: plan.Parts(plan.Text("cmd.exe does not echo "), value),
	}
}

const factDefaultAddress = "defaultAddress"

// aroundVSwitch checks which adapter HNS has chosen: it takes any that is free, and an image may have more than the
// spec names. route.exe prints the same columns in every language but does not name the adapter, so the node can only
// warn.
func (net *Network) aroundVSwitch() []plan.Step {
	steps := net.vSwitch()
	if len(steps) == 0 || net.adapterOfVSwitch() != nil {
		return steps
	}
	const address = `\d+[.]\d+[.]\d+[.]\d+`
	before := &plan.Fact{
		Common: plan.Common{Name: "default-route", Reason: step.ReasonNetworkNotReady, Attempts: 6, Optional: true},
		Argv:   plan.Texts("route.exe", "print", "0.0.0.0"),
		Match:  `\s0[.]0[.]0[.]0\s+0[.]0[.]0[.]0\s+` + address + `\s+(` + address + `)`, Set: factDefaultAddress,
		Say: plan.Text("Windows has no default route"),
	}
	behind := &plan.Check{
		Common: plan.Common{
			Name: "vswitch-on-default-route", Reason: step.ReasonNetworkNotReady, Optional: true,
			When: &plan.Test{Fact: factDefaultAddress, IsNot: plan.Text("")},
		},
		Test: plan.Test{Fact: plan.FactManagementIP, Is: plan.FromFact(factDefaultAddress)},
		Say: plan.Parts(
			plan.Say("the vSwitch has the address ", plan.FactManagementIP, ", but the default route uses "),
			plan.FromFact(factDefaultAddress)),
	}
	return slices.Concat([]plan.Step{before}, steps, []plan.Step{behind})
}

// vSwitch makes the external network and restores the routes to the cloud's own addresses, which Windows drops with
// it.
func (net *Network) vSwitch() []plan.Step {
	if net.external == "" {
		return nil
	}
	steps := []plan.Step{&plan.HNSNetwork{
		Common:  plan.Common{Name: "external-network", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 180, Attempts: 3},
		Request: net.externalRequest(),
	}}
	steps = append(steps, net.adapters.behindVSwitch()...)
	if net.onAzure {
		steps = append(steps, &plan.Route{
			Common:       plan.Common{Name: "metadata-routes", Reason: step.ReasonNetworkNotReady, Attempts: 6},
			Destinations: plan.Texts("169.254.169.254/32", "168.63.129.16/32"),
		})
	}
	return steps
}

// externalRequest is a network with addresses that are never used: it exists for its vSwitch.
func (net *Network) externalRequest() plan.Tree {
	subnet := map[string]any{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}
	if net.overlay() {
		subnet["Policies"] = []any{map[string]any{"Type": "VSID", "VSID": 9999}}
	}
	return net.request(net.external, subnet)
}

// ownNetwork is the pods' network of CNIs without a daemon that would make it.
func (net *Network) ownNetwork() []plan.Step {
	if !net.own {
		return nil
	}
	subnet := map[string]any{"AddressPrefix": plan.FactLeaf(factPodCIDR), "GatewayAddress": plan.FactLeaf(factPodGateway)}
	if net.overlay() {
		subnet["Policies"] = []any{map[string]any{"Type": "VSID", "VSID": net.vni}}
	}
	return []plan.Step{&plan.HNSNetwork{
		Common:  plan.Common{Name: "pod-network", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 180, Attempts: 3},
		Request: net.request(net.podNetwork, subnet),
	}}
}

func (net *Network) request(name string, subnet map[string]any) plan.Tree {
	kind := "L2Bridge"
	if net.overlay() {
		kind = "Overlay"
	}
	request := plan.Tree{"Name": name, "Type": kind, "Subnets": []any{subnet}}
	if name := net.adapterOfVSwitch(); name != nil {
		request["NetworkAdapterName"] = name
	}
	return request
}
