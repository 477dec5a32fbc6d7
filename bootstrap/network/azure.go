package network

import (
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// Azure CNI, as AKS sets it up (Azure/AgentBaker 031ff735, staging/cse/windows/azurecnifunc.ps1).

// answersARP makes HNS answer for addresses outside of the virtual machine: Azure's network knows no ARP between pods. HNS reads
// the value when it starts.
func (net *Network) answersARP() []plan.Step {
	if !net.azureOnly {
		return nil
	}
	return net.settingOfHNS("remote-arp", "hns-restarted", plan.Registry{
		ValueName: "SDNRemoteArpMacAddress", Value: plan.Text("12-34-56-78-9a-bc"),
	}, nil)
}

// kubeconfigOfIPAM is where azure-vnet-ipamv6 looks for credentials: it takes addresses from the Node's IPv6 pod CIDR
// (Azure/azure-container-networking, ipam/ipv6Ipam.go). Those of the kubelet may read its own Node.
func (net *Network) kubeconfigOfIPAM() []plan.Step {
	if !net.azureOnly || !net.pods.dual() {
		return nil
	}
	return []plan.Step{copyOfKubeconfig("ipam-kubeconfig", step.ProgramsDirectory+`\config`)}
}

// azureVNetConfig is for azure-vnet, whose policies have the older form. Since 2024 it makes an L2Bridge, whatever mode is
// (Azure/azure-container-networking 8e8a5fde5).
func azureVNetConfig(net *Network) plan.Tree {
	plugin := map[string]any{
		"type": "azure-vnet", "mode": "bridge", "bridge": "azure0", "capabilities": capabilities(),
		"ipam":           map[string]any{"type": "azure-vnet-ipam"},
		"dns":            map[string]any{"Nameservers": []any{net.dns, "168.63.129.16"}, "Search": []any{"svc." + net.domain}},
		"AdditionalArgs": net.azurePolicies(),
	}
	if net.returnsDirectly() {
		plugin["windowsSettings"] = map[string]any{"enableLoopbackDSR": true} // a pod reaches itself by its Service
	}
	if len(net.Adapters) > 1 {
		// The adapter of the subnet has a vSwitch, and azure-vnet does not name such a one to HNS, which may then take another
		// (Azure/azure-container-networking, network/network_windows.go and pull request 4439).
		plugin["adapterName"] = net.adapter.name
	}
	if net.pods.dual() {
		plugin["ipv6Mode"] = "ipv6nat" // without it azure-vnet asks for IPv4 only (cni/network/invoker_azure.go)
	}
	return plan.Tree{"cniVersion": cniVersion, "name": net.podNetwork, "plugins": []any{plugin}}
}

// returnsDirectly: kube-proxy's own configuration has it only if we write it; its default is without.
func (net *Network) returnsDirectly() bool { return net.proxied && net.dsr }

// azurePolicies block the host agent, from which pods could read secrets. Services need a route only without Direct Server
// Return.
func (net *Network) azurePolicies() []any {
	args := []any{azurePolicy("OutBoundNAT", map[string]any{"ExceptionList": anys(net.exceptions.texts())})}
	if net.pods.dual() {
		six := append(net.pods.family(false), net.services.family(false)...)
		args = append(args, azurePolicy("OutBoundNAT", map[string]any{"ExceptionList": anys(six.texts())}))
	}
	if !net.returnsDirectly() {
		for _, services := range net.services.texts() {
			args = append(args, azurePolicy("ROUTE", map[string]any{"DestinationPrefix": services, "NeedEncap": true}))
		}
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
	return args
}

func azurePolicy(kind string, value map[string]any) any {
	value["Type"] = kind
	return map[string]any{"Name": "EndpointPolicy", "Value": value}
}
