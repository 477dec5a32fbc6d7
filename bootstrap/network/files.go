package network

import (
	"encoding/json"
	"fmt"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	proxyFolder = `C:\var\lib\kube-proxy`
	proxyFile   = proxyFolder + `\config.conf`
)

// cniVersion is the newest that the plug-ins' own samples for Windows have: win-bridge and win-overlay answer no CHECK.
const cniVersion = "0.3.0"

// writeTexts makes the texts of files.
func (net *Network) writeTexts() error {
	var err error
	if net.written() {
		if net.cniText, err = jsonText(net.config(net)); err != nil {
			return fmt.Errorf("%s of %s: %w", net.file, net.nodeName, err)
		}
	}
	if net.proxied {
		if net.proxyText, err = jsonText(net.proxyConfig()); err != nil {
			return fmt.Errorf("kube-proxy configuration of %s: %w", net.nodeName, err)
		}
	}
	return nil
}

// files of the CNI and of kube-proxy. Nothing in them is secret.
func (net *Network) files() []plan.Step {
	var steps []plan.Step
	if net.written() {
		steps = append(steps, nodeFile("cni-configuration", plan.Text(step.CNIFolder+`\`+net.file), net.cniText))
	}
	if !net.proxied {
		return steps
	}
	if net.sourceVIP == vipReserved && !net.own {
		steps = append(steps, net.reservation())
	}
	return append(steps, nodeFile("kube-proxy-configuration", plan.Text(proxyFile), net.proxyText))
}

func nodeFile(name string, path, text plan.Value) plan.Step {
	return &plan.File{Common: plan.Common{Name: name, Reason: step.ReasonNodeFilesFailed}, Path: path, Text: text}
}

// reservation tells host-local, whose file is named like the address, that somebody has it: flannel hands out all of a
// pod CIDR, and an address that a pod has as well is the death of both.
func (net *Network) reservation() plan.Step {
	path := plan.Parts(plan.Text(cniState+`\`+net.podNetwork+`\`), sourceVIPOf)
	return nodeFile("source-vip", path, plan.Text("capwin-source-vip\r\neth0"))
}

// flannelConfig asks the plug-in flannel for what its daemon has found, and hands it on to a plug-in for Windows.
func flannelConfig(net *Network) plan.Tree {
	return plan.Tree{
		"cniVersion": cniVersion, "name": net.podNetwork, "type": "flannel",
		"capabilities": capabilities(), "delegate": map[string]any(net.plugin()),
	}
}

// hostLocalConfig is the plug-in for Windows itself. Of the Node's addresses it gives away neither the gateways, of which
// win-bridge takes the second and win-overlay the first, nor the source VIP.
func hostLocalConfig(net *Network) plan.Tree {
	config := net.plugin()
	config["cniVersion"], config["name"], config["capabilities"] = cniVersion, net.podNetwork, capabilities()
	config["ipam"] = map[string]any{"type": "host-local", "ranges": []any{[]any{map[string]any{
		"subnet":     inJSON(podCIDRValue),
		"rangeStart": inJSON(plan.Parts(plan.FromFact(factPodPrefix), plan.Text(".3"))),
		"rangeEnd":   inJSON(lastForPods),
	}}}}
	return config
}

func capabilities() map[string]any { return map[string]any{"portMappings": true, "dns": true} }

// plugin is win-bridge or win-overlay, by the interface of HNS that containerd's pods need.
func (net *Network) plugin() plan.Tree {
	node := inJSON(plan.Parts(plan.FromFact(plan.FactManagementIP), plan.Text("/32")))
	name, reachNode := "win-bridge", endpointPolicy("SDNRoute", map[string]any{"DestinationPrefix": node, "NeedEncap": true})
	if net.overlay() {
		name = "win-overlay"
		reachNode = endpointPolicy("ProviderAddress", map[string]any{"ProviderAddress": inJSON(plan.FromFact(plan.FactManagementIP))})
	}
	policies := []any{endpointPolicy("OutBoundNAT", map[string]any{"Exceptions": anys(net.exceptions.texts())})}
	for _, services := range net.services.four().texts() {
		policies = append(policies, endpointPolicy("SDNRoute", map[string]any{"DestinationPrefix": services, "NeedEncap": true}))
	}
	config := plan.Tree{
		"type": name, "apiVersion": 2, "policies": append(policies, reachNode),
		"dns": map[string]any{"nameservers": []any{net.dns}, "search": []any{"svc." + net.domain}},
	}
	if net.dsr {
		config["loopbackDSR"] = true
	}
	return config
}

func endpointPolicy(kind string, settings map[string]any) any {
	return map[string]any{"name": "EndpointPolicy", "value": map[string]any{"Type": kind, "Settings": settings}}
}

// azureVNetConfig is azure-vnet's, whose policies are of the older form. Pods must not ask the host agent, who tells secrets.
func azureVNetConfig(net *Network) plan.Tree {
	mode := "bridge"
	if net.mode == bootstrapv1.NetworkL2Tunnel {
		mode = "tunnel"
	}
	args := []any{azurePolicy("OutBoundNAT", map[string]any{"ExceptionList": anys(net.exceptions.texts())})}
	for _, services := range net.services.texts() {
		args = append(args, azurePolicy("ROUTE", map[string]any{"DestinationPrefix": services, "NeedEncap": true}))
	}
	for _, port := range []string{"80", "32526"} {
		args = append(args, azurePolicy("ACL", map[string]any{
			"Protocols": "6", "Action": "Block", "Direction": "Out", "RemoteAddresses": "168.63.129.16/32",
			"RemotePorts": port, "Priority": 200, "RuleType": "Switch",
		}))
	}
	for _, direction := range []string{"In", "Out"} {
		args = append(args, azurePolicy("ACL", map[string]any{"Action": "Allow", "Direction": direction, "Priority": 65500}))
	}
	plugin := map[string]any{
		"type": "azure-vnet", "mode": mode, "bridge": "azure0", "capabilities": capabilities(),
		"ipam":           map[string]any{"type": "azure-vnet-ipam"},
		"dns":            map[string]any{"Nameservers": []any{net.dns, "168.63.129.16"}, "Search": []any{"svc." + net.domain}},
		"AdditionalArgs": args,
	}
	if net.dsr {
		plugin["windowsSettings"] = map[string]any{"enableLoopbackDSR": true} // a pod reaches itself by its Service
	}
	return plan.Tree{"cniVersion": cniVersion, "name": net.podNetwork, "plugins": []any{plugin}}
}

func azurePolicy(kind string, value map[string]any) any {
	value["Type"] = kind
	return map[string]any{"Name": "EndpointPolicy", "Value": value}
}

// proxyConfig is a KubeProxyConfiguration. Its host name is the Node's: kube-proxy takes away the endpoints of a node
// that it does not find.
func (net *Network) proxyConfig() plan.Tree {
	winkernel := map[string]any{"networkName": net.podNetwork, "enableDSR": net.dsr}
	if net.sourceVIP == vipReserved {
		winkernel["sourceVip"] = inJSON(sourceVIPOf)
	}
	config := plan.Tree{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "kernelspace",
		"clientConnection":   map[string]any{"kubeconfig": proxyFolder + `\kubeconfig.conf`},
		"clusterCIDR":        net.pods.String(),
		"hostnameOverride":   net.nodeName,
		"healthzBindAddress": "0.0.0.0:" + proxyHealthPort,
		"metricsBindAddress": "127.0.0.1:10249",
		"winkernel":          winkernel,
	}
	// Without its gate kube-proxy exits at enableDSR. It is named only where it is off: a later kube-proxy forgets it. That of
	// VXLAN, WinOverlay, is on in all.
	if net.dsr && net.gated {
		config["featureGates"] = map[string]any{DSRGate: true}
	}
	return config
}

// DSRGate is kube-proxy's as well as the kubelet's: they have one table of gates.
const DSRGate = "WinDSR"

// factMark stands around the name of a fact in a text that becomes JSON. JSON writes it as factMarkInJSON, which no name, no
// CIDR and no path of ours has.
const (
	factMark       = "\x00"
	factMarkInJSON = `\u0000`
)

// inJSON is a Value as a leaf of what jsonText writes. Its facts must need no quoting, as addresses do not.
func inJSON(value plan.Value) string {
	var text strings.Builder
	for _, part := range value {
		if part.Fact != "" {
			text.WriteString(factMark + part.Fact + factMark)
			continue
		}
		text.WriteString(part.Text)
	}
	return text.String()
}

// jsonText writes a tree as a line of JSON whose marked facts become parts of the text. Equal trees give equal bytes.
func jsonText(tree plan.Tree) (plan.Value, error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	var value plan.Value
	for i, text := range strings.Split(string(data)+"\n", factMarkInJSON) {
		if i%2 == 0 {
			value = append(value, plan.Part{Text: text})
		} else {
			value = append(value, plan.Part{Fact: text})
		}
	}
	return value, nil
}

func anys(texts []string) []any {
	all := make([]any, 0, len(texts))
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
