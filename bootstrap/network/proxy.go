package network

import (
	"fmt"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
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
	proxyMetrics    = "127.0.0.1:10249"
)

// kubeProxy makes the service. It depends on the kubelet: whoever starts it starts the kubelet first, and whoever stops the
// kubelet by Windows' services, as the plan does, stops it first. A shutdown of Windows asks for no dependencies. A kubelet that
// ends its pods then has asked to be notified earlier than others; kube-proxy has not (kubernetes v1.36.3, pkg/windows/service),
// and stays up for them.
func (net *Network) kubeProxy() []plan.Step {
	if !net.proxied {
		return nil
	}
	return append(net.proxyProgram(), service(proxyService, net.proxyCommand(), "kubelet")...)
}

// proxyProgram must be there before the node joins, and of the Machine's minor version: kube-proxy may be older than the API
// server by three, but which of its settings it knows follows from that version.
func (net *Network) proxyProgram() []plan.Step {
	wanted := fmt.Sprintf("1.%d", net.Minor)
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
			Say:    plan.Say("the image has kube-proxy ", factProxy, ", the Machine needs "+wanted),
		},
	}
}

// proxyCommand is as the kubelet's: without --windows-service Windows would take the service for one that hangs.
func (net *Network) proxyCommand() []string {
	command := []string{step.LogProgram, `--log-file=` + step.KubeProxyLogs + `\kube-proxy.log`}
	if net.RotatesLogs {
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
	network := net.awaitNetwork("kube-proxy-network", net.podNetwork)
	if net.cni == bootstrapv1.CNIAzure {
		network.TimeoutSeconds = aWeek // azure-vnet makes it for the first pod, and a node without pods is well
	}
	if net.cni == bootstrapv1.CNIFlannel && net.overlay() {
		network.StillSeconds = stillRoutes
	}
	steps := []plan.Step{network}
	if net.sourceVIP == vipOfCNI {
		steps = append(steps, &plan.HNSEndpoint{
			Common:   plan.Common{Name: "kube-proxy-endpoint", Reason: step.ReasonNetworkNotReady, TimeoutSeconds: 120},
			Endpoint: plan.Text(net.podNetwork + "_ep"), Set: factSourceVIP,
		})
	}
	return append(steps,
		copyOfKubeconfig("kube-proxy-kubeconfig", proxyKubeconfig),
		nodeFile("kube-proxy-configuration", plan.Text(step.KubeProxyFile), net.proxyText),
		serviceState(proxyService, plan.ServiceRunning),
		proxyRules(),
	)
}

// stillRoutes: flanneld writes subnet.env, and only then gives HNS a RemoteSubnetRoute for each other node, one by one
// (flannel-io/flannel v0.28.9, pkg/backend/vxlan/vxlan_network_windows.go). kube-proxy waits 10 s, takes a pod that has no such
// route for one of this node, and never looks again (kubernetes v1.36.3, pkg/proxy/winkernel/proxier.go): it starts behind them.
const stillRoutes = 10

// proxyRules asks whether kube-proxy has set the rules of Services: a service that runs may end again and again, may not be let
// in by the API server, or may find no source VIP. It shows only the time of its last success (kubernetes v1.33.13 to v1.37.2,
// pkg/proxy/winkernel/proxier.go); its /healthz is well until a minute has passed.
func proxyRules() plan.Step {
	return &plan.Fact{
		Common: plan.Common{Name: "kube-proxy-rules", Reason: step.ReasonNodeServiceFailed, TimeoutSeconds: 30},
		Argv:   plan.Texts("curl.exe", "--silent", "--noproxy", "*", "http://"+proxyMetrics+"/metrics"),
		Match:  `kubeproxy_sync_proxy_rules_last_timestamp_seconds\S* [1-9]`, Set: "kubeProxyRules",
		Say: plan.Text("kube-proxy has not set the rules of Services; the end of " + step.KubeProxyLogs +
			`\kube-proxy.log has the cause`),
	}
}

// aWeek is the longest that a plan knows.
const aWeek = 7 * 24 * 3600

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
	if net.OnAzure && !net.overlay() && !net.azureOnly {
		winkernel["forwardHealthCheckVip"], winkernel["rootHnsEndpointName"] = true, net.podNetwork+"_ep"
	}
	config := plan.Tree{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "kernelspace",
		"clientConnection":   map[string]any{"kubeconfig": proxyKubeconfig},
		"hostnameOverride":   net.NodeName,
		"healthzBindAddress": "0.0.0.0:" + proxyHealthPort,
		"metricsBindAddress": proxyMetrics,
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
