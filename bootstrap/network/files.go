package network

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// cniVersion is the newest that the plug-ins' own samples for Windows use: win-bridge and win-overlay do not
// implement CHECK.
const cniVersion = "0.3.0"

// writeTexts writes the configurations, once for all files that have them.
func (net *Network) writeTexts() error {
	var err error
	if net.config != nil {
		if net.cniText, err = jsonText(net.config(net)); err != nil {
			return fmt.Errorf("%s of %s: %w", net.file, net.NodeName, err)
		}
	}
	if net.proxied {
		if net.proxyText, err = jsonText(net.proxyConfig()); err != nil {
			return fmt.Errorf("kube-proxy configuration of %s: %w", net.NodeName, err)
		}
	}
	if net.flanneld {
		if net.netConfText, err = jsonText(net.netConf()); err != nil {
			return fmt.Errorf("flanneld configuration of %s: %w", net.NodeName, err)
		}
	}
	return nil
}

// files of the CNI: its configuration, and addresses that its pods must not get.
func (net *Network) files() []plan.Step {
	var steps []plan.Step
	if net.taken != "" {
		steps = append(steps, net.reservation("daemon-address", plan.Parts(plan.FromFact(factPodPrefix), plan.Text(net.taken))))
	}
	if net.proxied && net.sourceVIP == vipReserved {
		steps = append(steps, net.reservation("source-vip", sourceVIPOf))
	}
	if net.config != nil {
		steps = append(steps, nodeFile("cni-configuration", plan.Text(net.cniFile()), net.cniText))
	}
	return steps
}

func (net *Network) cniFile() string { return step.CNIFolder + `\` + net.file }

func nodeFile(name string, path, text plan.Value) plan.Step {
	return &plan.File{Common: plan.Common{Name: name, Reason: step.ReasonNodeFilesFailed}, Path: path, Text: text}
}

// reservation takes an address away from host-local, which marks it as used by a file of that name: flannel assigns the whole
// pod CIDR, but the source VIP and the address of its daemon's own endpoint must not go to a pod.
func (net *Network) reservation(name string, address plan.Value) plan.Step {
	path := plan.Parts(plan.Text(cniState+`\`+net.podNetwork+`\`), address)
	return nodeFile(name, path, plan.Text("capwin-"+name+"\r\neth0"))
}

// flannelConfig makes the plug-in flannel add what its daemon found, and delegate to a plug-in for Windows.
func flannelConfig(net *Network) plan.Tree {
	return plan.Tree{
		"cniVersion": cniVersion, "name": net.podNetwork, "type": "flannel",
		"capabilities": capabilities(), "delegate": map[string]any(net.plugin()),
	}
}

func capabilities() map[string]any { return map[string]any{"portMappings": true, "dns": true} }

// plugin is win-bridge or win-overlay, in the form for the HNS interface that containerd uses (apiVersion 2).
func (net *Network) plugin() plan.Tree {
	node := inJSON(plan.Parts(net.hostAddress(), plan.Text("/32")))
	name, reachNode := "win-bridge", endpointPolicy("SDNRoute", map[string]any{"DestinationPrefix": node, "NeedEncap": true})
	if net.overlay() {
		name = "win-overlay"
		reachNode = endpointPolicy("ProviderAddress", map[string]any{"ProviderAddress": inJSON(net.hostAddress())})
	}
	policies := []any{endpointPolicy("OutBoundNAT", map[string]any{"Exceptions": net.exceptionTexts()})}
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

// factMark surrounds the name of a fact in a text that becomes JSON. JSON writes it as factMarkInJSON, which appears
// in none of our names, CIDRs and paths.
const (
	factMark       = "\x00"
	factMarkInJSON = `\u0000`
)

// inJSON is a Value as a string for jsonText. The value of a fact must not need quoting; addresses do not.
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

// jsonText writes a tree as one line of JSON in which facts are parts of the text. Equal trees give equal bytes.
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
	values := make([]any, 0, len(texts))
	for _, text := range texts {
		values = append(values, text)
	}
	return values
}
