package network

import (
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// kube-proxy as a Windows service of the node, of the node's version: no image of it is published that serves another CNI than
// Calico. Its login is the kubelet's. It knows no network that comes later, so nothing starts it before the CNI has made its own.

const (
	proxyService    = "kube-proxy"
	proxyKubeconfig = step.KubeProxyFolder + `\kubeconfig.conf`
	factProxy       = "kubeProxyVersion"
	factSourceVIP   = "sourceVIP"
)

// kubeProxy makes the service. It depends on the kubelet, so that Windows stops it first.
func (net *Network) kubeProxy() []plan.Step {
	if !net.proxied {
		return nil
	}
	return append(net.proxyProgram(), service(proxyService, net.proxyCommand(), "kubelet")...)
}

// proxyProgram must be there before the node joins, and of the Machine's minor version: kube-proxy may be older than the API
// server by three, but which of its settings it knows follows from that version.
func (net *Network) proxyProgram() []plan.Step {
	wanted := fmt.Sprintf("1.%d", net.minor)
	return []plan.Step{
		program("kube-proxy-program", step.KubeProxyProgram, "the service kube-proxy"),
		&plan.Fact{
			Common: plan.Common{Name: "kube-proxy-version", Reason: step.ReasonImageVersionMismatch, TimeoutSeconds: 60, Attempts: 3},
			Argv:   plan.Texts(step.KubeProxyProgram, "--version"), Match: `v(\d+\.\d+)\.`, Set: factProxy,
			Say: plan.Text(step.KubeProxyProgram + " does not print its version"),
		},
		&plan.Check{
			Common: plan.Common{Name: "kube-proxy-of-image", Reason: step.ReasonImageVersionMismatch},
			Test:   plan.Test{Fact: factProxy, Is: plan.Text(wanted)},
			Say:    plan.Say("the image has kube-proxy ", factProxy, ", the Machine wants "+wanted),
		},
	}
}

// proxyCommand is as the kubelet's: without --windows-service Windows would take the service for one that hangs.
func (net *Network) proxyCommand() []string {
	command := []string{step.LogProgram, `--log-file=` + step.KubeProxyLogs + `\kube-proxy.log`}
	if net.rotates {
		command = append(command, "--log-file-size=50Mi", "--log-file-age=168h")
	}
	return append(command, step.KubeProxyProgram, "--windows-service", "--config="+step.KubeProxyFile)
}

// startProxy waits for what kube-proxy would exit without or run wrong: the pods' network and, where the CNI makes it, the
// endpoint whose address is the source VIP (projectcalico/calico 87c15906, cni-plugin/pkg/dataplane/windows: NETWORK_ep).
func (net *Network) startProxy() []plan.Step {
	if !net.proxied {
		return nil
	}
	steps := []plan.Step{net.awaitNetwork("kube-proxy-network", net.podNetwork)}
	if net.sourceVIP == vipOfCNI {
		steps = append(steps, &plan.HNSEndpoint{
			Common:  plan.Common{Name: "kube-proxy-endpoint", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 120},
			Network: plan.Text(net.podNetwork), Endpoint: plan.Text(net.podNetwork + "_ep"), Wait: true, Set: factSourceVIP,
		})
	}
	return append(steps,
		copyOfKubeconfig("kube-proxy-kubeconfig", proxyKubeconfig),
		nodeFile("kube-proxy-configuration", plan.Text(step.KubeProxyFile), net.proxyText),
		serviceState(proxyService, plan.ServiceRunning),
	)
}

// proxyConfig is a KubeProxyConfiguration. It names the Node because kube-proxy removes the endpoints of a node that
// it does not find.
func (net *Network) proxyConfig() plan.Tree {
	winkernel := map[string]any{"networkName": net.podNetwork, "enableDSR": net.dsr}
	switch net.sourceVIP {
	case vipReserved:
		winkernel["sourceVip"] = inJSON(sourceVIPOf)
	case vipOfCNI:
		winkernel["sourceVip"] = inJSON(plan.FromFact(factSourceVIP))
	}
	// An internal load balancer of Azure asks its own address for health: kube-proxy sends that to the host by the endpoint of the
	// CNI's daemon, and does nothing where there is none (kubernetes v1.36.3, pkg/proxy/winkernel/proxier.go).
	if net.onAzure && !net.overlay() && !net.azureOnly {
		winkernel["forwardHealthCheckVip"], winkernel["rootHnsEndpointName"] = true, net.podNetwork+"_ep"
	}
	config := plan.Tree{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "kernelspace",
		"clientConnection":   map[string]any{"kubeconfig": proxyKubeconfig},
		"hostnameOverride":   net.nodeName,
		"healthzBindAddress": "0.0.0.0:" + proxyHealthPort,
		"metricsBindAddress": "127.0.0.1:10249",
		"winkernel":          winkernel,
	}
	if len(net.pods) > 0 { // with AzureCNI and Calico they may not be known, of which kube-proxy only complains
		config["clusterCIDR"] = net.pods.String()
	}
	// kube-proxy exits at enableDSR if the gate is off. The gate is named only then, because later versions no longer
	// know it. The gate for VXLAN, WinOverlay, is on in all versions.
	if net.dsr && net.gated {
		config["featureGates"] = map[string]any{DSRGate: true}
	}
	return config
}

// DSRGate belongs to kube-proxy and to the kubelet: both have the same table of gates.
const DSRGate = "WinDSR"
