// Package network is spec.network: what a CNI needs on a Windows node in each mode, and the addresses of its adapters.
//
// What goes together is a table in profiles.go; read.go, ports.go, cidr.go and adapters.go read and refuse, network.go,
// files.go and cleanup.go write the steps.
package network

import (
	"slices"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Steps are the network mode: what a CNI must find before the node joins, what of it can only be written when the Node has
// its pod CIDR, and what has to go at every boot. Without spec.network there is nothing to do.
func (net *Network) Steps() step.Part {
	if net.mode == "" {
		return step.Part{}
	}
	p := step.Part{EveryBoot: net.everyBoot()}
	p.Add(step.PhaseNetwork, slices.Concat(net.patchLevel(), net.cleanup(), net.openPorts(), net.aroundVSwitch())...)
	if net.needsPodCIDR() {
		p.Add(step.PhaseVerify, slices.Concat(net.podCIDR(), net.ownNetwork(), net.files())...)
	} else {
		p.Add(step.PhaseNetwork, net.files()...)
	}
	p.Add(step.PhasePostJoin, net.handOver()...)
	return p
}

// needsPodCIDR: host-local addresses, and what is reserved among them, are of the Node's own pod CIDR.
func (net *Network) needsPodCIDR() bool {
	return net.own || net.proxied && net.sourceVIP == vipReserved
}

// The facts that the Node's pod CIDR gives. It must be a /24, as the controller manager hands out by default: a plan can
// join texts, not count.
const (
	factPodPrefix  = "podPrefix"
	factPodCIDR    = "podCIDR"
	factPodGateway = "podGateway"
)

// Windows' and our own addresses in a pod CIDR: the plug-ins take the first or second for the gateway, the last is the
// source VIP of kube-proxy.
var (
	podCIDRValue = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".0/24"))
	podGateway   = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".1"))
	lastForPods  = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".253"))
	sourceVIPOf  = plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".254"))
)

// podCIDR asks the API server as the node itself. A tree takes whole facts only, so two are echoed together.
func (net *Network) podCIDR() []plan.Step {
	if !net.needsPodCIDR() {
		return nil
	}
	pause := 10
	steps := []plan.Step{&plan.Fact{
		Common: plan.Common{Name: "pod-cidr", Reason: step.ReasonPodCIDRMissing, TimeoutSeconds: 30, Attempts: 30, DelaySeconds: &pause},
		Argv:   step.AskForNode(net.nodeName, "{.spec.podCIDRs}"),
		Match:  `([0-9]+[.][0-9]+[.][0-9]+)[.]0/24`, Set: factPodPrefix,
		Say: plan.Text("the Node " + net.nodeName + " has no IPv4 pod CIDR of the size /24"),
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

// aroundVSwitch: of several adapters HNS takes any that is free, and an image may bring more than anybody has declared.
// route.exe and its columns of numbers are the same in every language; which adapter has the address it does not tell, so
// that the node can only warn.
func (net *Network) aroundVSwitch() []plan.Step {
	steps := net.vSwitch()
	if len(steps) == 0 || net.adapters.count > 0 || net.adapter != "" {
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
			plan.Say("the vSwitch has the address ", plan.FactManagementIP, ", the default route goes by "),
			plan.FromFact(factDefaultAddress)),
	}
	return slices.Concat([]plan.Step{before}, steps, []plan.Step{behind})
}

// vSwitch makes the external network and keeps the way to the cloud's own addresses, which Windows loses with it.
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

// externalRequest is a network that nobody uses, of addresses that nobody has: it is there for its vSwitch.
func (net *Network) externalRequest() plan.Tree {
	subnet := map[string]any{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}
	if net.overlay() {
		subnet["Policies"] = []any{map[string]any{"Type": "VSID", "VSID": 9999}}
	}
	return net.request(net.external, subnet)
}

// ownNetwork is the network of the pods where no daemon makes it.
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
	if net.adapter != "" {
		request["NetworkAdapterName"] = net.adapter
	}
	return request
}
