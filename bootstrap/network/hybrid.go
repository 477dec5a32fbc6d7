package network

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// OVN-Kubernetes' hybrid overlay makes its networks, and nothing else: it has neither a CNI configuration for Windows nor an
// address for kube-proxy. What follows is what OpenShift's operator does beside it (openshift/windows-machine-config-operator
// 91d9a232, pkg/nodeconfig/payload/payload.go).

const (
	vipEndpoint      = "VIPEndpoint"
	factEndpoint     = "vipEndpoint"
	factHybridSubnet = "hybridSubnet"
)

// hybridOverlay comes once the kubelet runs, because the node's subnet is known by then: OVN-Kubernetes notes it at the Node.
func (net *Network) hybridOverlay() []plan.Step {
	network := net.awaitNetwork("hybrid-overlay", net.podNetwork)
	network.SetSubnet = factHybridSubnet
	return append([]plan.Step{
		network,
		&plan.HNSEndpoint{
			Common:  plan.Common{Name: "source-vip", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 120, Attempts: 3},
			Network: plan.Text(net.podNetwork), Endpoint: plan.Text(vipEndpoint), Set: factEndpoint,
		},
	}, net.files()...)
}

// hybridConfig is for win-overlay, with the subnet and the address that the hybrid overlay has chosen. Pods reach Services with
// their own addresses, all else with the node's.
func hybridConfig(net *Network) plan.Tree {
	policies := []any{endpointPolicy("OutBoundNAT", map[string]any{"Exceptions": anys(net.services.four().texts())})}
	for _, services := range net.services.four().texts() {
		policies = append(policies, endpointPolicy("SDNRoute", map[string]any{"DestinationPrefix": services, "NeedEncap": true}))
	}
	provider := map[string]any{"ProviderAddress": inJSON(plan.FromFact(plan.FactManagementIP))}
	return plan.Tree{
		"cniVersion": cniVersion, "name": net.podNetwork, "type": "win-overlay", "apiVersion": 2, "capabilities": capabilities(),
		"ipam":     map[string]any{"type": "host-local", "subnet": inJSON(plan.FromFact(factHybridSubnet))},
		"policies": append(policies, endpointPolicy("ProviderAddress", provider)),
	}
}
