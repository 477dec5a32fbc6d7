package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// The defaults of ports, and their limits.
const (
	// firstDynamicPort is where the dynamic ports of images begin.
	firstDynamicPort = 34000
	lastPort         = 65535
	// fewestDynamicPorts is the smallest number that netsh accepts.
	fewestDynamicPorts = 255
)

var defaultNodePorts = bootstrapv1.Ports{First: 30000, Last: 32767}

// Ports of the kubelet, and of the health check of kube-proxy.
const (
	kubeletPort     = "10250"
	proxyHealthPort = "10256"
)

// ownRules are the names of our own firewall rules.
var ownRules = []string{"kubelet", "nodeports-tcp", "nodeports-udp", "kube-proxy-health", "vxlan", "geneve", "bgp"}

func (net *Network) readPorts() error {
	net.nodePorts = bothEnds(cmp.Or(net.Spec.NodePorts, defaultNodePorts))
	upper := bootstrapv1.Ports{First: max(firstDynamicPort, net.nodePorts.Last+1), Last: lastPort}
	net.dynamicPorts = bothEnds(cmp.Or(net.Spec.DynamicPorts, upper))
	const field = fieldNetwork + ".dynamicPorts"
	if err := goodPorts(fieldNetwork+".nodePorts", net.nodePorts); err != nil {
		return err
	}
	if net.nodePorts.Last+fewestDynamicPorts > lastPort && net.Spec.DynamicPorts == (bootstrapv1.Ports{}) {
		return step.Invalid(field,
			"too few ports are left after nodePorts, which end at %d; use ports below them", net.nodePorts.Last)
	}
	if err := goodPorts(field, net.dynamicPorts); err != nil {
		return err
	}
	dynamic := net.dynamicPorts
	if dynamic.First < 1025 || dynamic.Last-dynamic.First+1 < fewestDynamicPorts {
		return step.Invalid(field,
			"%s is not accepted by Windows; use at least %d ports, all above 1024", showPorts(dynamic), fewestDynamicPorts)
	}
	if dynamic.First <= net.nodePorts.Last && net.nodePorts.First <= dynamic.Last {
		return step.Invalid(field,
			"%s overlaps nodePorts %s; use ports below or above them", showPorts(dynamic), showPorts(net.nodePorts))
	}
	return nil
}

// bothEnds fills in the last port, which may be left out for a single port.
func bothEnds(ports bootstrapv1.Ports) bootstrapv1.Ports {
	ports.Last = cmp.Or(ports.Last, ports.First)
	return ports
}

func goodPorts(field string, ports bootstrapv1.Ports) error {
	if ports.First < 1 || ports.Last > lastPort || ports.First > ports.Last {
		return step.Invalid(field, "%s is not a range of ports; use first and last from 1 to %d", showPorts(ports), lastPort)
	}
	return nil
}

func (net *Network) readFirewall() error {
	const field = fieldNetwork + ".firewall"
	seen := map[string]bool{}
	for _, rule := range net.Spec.Firewall {
		if len(validation.IsDNS1123Label(rule.Name)) > 0 || slices.Contains(ownRules, rule.Name) || seen[rule.Name] {
			return step.Invalid(field,
				"name %q is not valid, is used twice, or is a name of the bootstrap; use lower-case letters, digits and '-', but not %s",
				rule.Name, strings.Join(ownRules, ", "))
		}
		seen[rule.Name] = true
		if rule.Protocol != "TCP" && rule.Protocol != "UDP" {
			return step.Invalid(field, "protocol %q of %s is not valid; use TCP or UDP", rule.Protocol, rule.Name)
		}
		rule.Ports = bothEnds(rule.Ports)
		if err := goodPorts(field, rule.Ports); err != nil {
			return err
		}
		net.firewall = append(net.firewall, rule)
	}
	return nil
}

// openPorts opens the ports by which others reach the node, and keeps Windows from using them itself. The kubelet's is open on
// every node: images of others than image-builder have no rule for it.
func (net *Network) openPorts() []plan.Step {
	var steps []plan.Step
	if net.mode != "" {
		steps = append(steps, net.moveDynamicPorts()...)
	}
	rules := []opening{{"kubelet", "TCP", kubeletPort}}
	if net.mode != "" && net.mode != bootstrapv1.NetworkNone {
		nodePorts := showPorts(net.nodePorts)
		rules = append(rules, opening{"nodeports-tcp", "TCP", nodePorts}, opening{"nodeports-udp", "UDP", nodePorts},
			opening{"kube-proxy-health", "TCP", proxyHealthPort})
	}
	rules = append(rules, net.ports...)
	for _, rule := range net.firewall {
		rules = append(rules, opening{rule.Name, rule.Protocol, showPorts(rule.Ports)})
	}
	for i, rule := range rules {
		steps = append(steps, rule.steps(fmt.Sprintf("firewall-%d-", i+1))...)
	}
	return steps
}

// opening is a rule of the firewall that lets everybody reach ports.
type opening struct{ name, protocol, ports string }

// steps make the rule anew, because netsh would add a second one of the same name. It ends with 1 where there is none to delete.
func (o opening) steps(name string) []plan.Step {
	netsh := func(verb string, ok []int, arguments ...string) plan.Step {
		argv := slices.Concat([]string{"netsh.exe", "advfirewall", "firewall", verb, "rule", "name=capwin-" + o.name}, arguments)
		run := step.Tool(name+verb, step.ReasonNetworkSettingsFailed, argv...)
		run.OkExitCodes = ok
		return run
	}
	return []plan.Step{
		netsh("delete", []int{0, 1}),
		netsh("add", nil, "dir=in", "action=allow", "protocol="+o.protocol, "localport="+o.ports),
	}
}

// moveDynamicPorts sets, for each family and protocol, the ports that Windows gives to connections. It does no harm to set them
// once more.
func (net *Network) moveDynamicPorts() []plan.Step {
	start := fmt.Sprintf("start=%d", net.dynamicPorts.First)
	count := fmt.Sprintf("num=%d", net.dynamicPorts.Last-net.dynamicPorts.First+1)
	var steps []plan.Step
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, protocol := range []string{"tcp", "udp"} {
			steps = append(steps, step.Tool("dynamic-ports-"+family+"-"+protocol, step.ReasonNetworkSettingsFailed,
				"netsh.exe", "interface", family, "set", "dynamicport", protocol, start, count))
		}
	}
	return steps
}

func showPorts(ports bootstrapv1.Ports) string {
	if ports.First == ports.Last {
		return fmt.Sprint(ports.First)
	}
	return fmt.Sprintf("%d-%d", ports.First, ports.Last)
}
