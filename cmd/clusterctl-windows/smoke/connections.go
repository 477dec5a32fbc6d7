package smoke

import "context"

// place is where a connection comes from, and the first part of the name of the pod that tries it.
type place string

const (
	linuxClient   place = "linux-client"
	windowsClient place = "windows-client"
	windowsHost   place = "windows-host"
)

var places = []place{linuxClient, windowsHost, windowsClient}

// kind is a connection, and the name of the container that tries it.
type kind string

const (
	linuxToPod       kind = "linux-to-pod"
	linuxToService   kind = "linux-to-service"
	linuxToNodePort  kind = "linux-to-nodeport"
	hostToPod        kind = "host-to-pod"
	hostToService    kind = "host-to-service"
	windowsToPod     kind = "windows-to-pod"
	windowsToService kind = "windows-to-service"
	windowsToName    kind = "windows-to-name"
	windowsOutwards  kind = "windows-outwards"
)

// addresses are HOST:PORT of what is connected to; empty for what is not there.
type addresses struct {
	windowsPod, windowsService, nodePort string
	linuxPod, linuxService, linuxName    string
	outwards                             string
}

// connection is one that is tried on each Windows Node.
type connection struct {
	kind   kind
	name   string
	source place
	target func(addresses) string
	// requires is the connection that this one needs, by cause as in help: if that one fails, it is the one to mend.
	requires map[cause]kind
	// help shows where to look if this fails although the required connection holds, by cause; the empty cause is for all others.
	help map[cause]string
}

const (
	helpNetwork = "packets of pods do not pass between this node and the Linux nodes: look at the CNI's pods on both, let UDP " +
		"4789 (VXLAN) or the CNI's own port pass between nodes, and compare the settings with docs/networks.md, \"What you apply\""
	helpKubeProxy = "kube-proxy does not work on this node: see whether its service or its pod runs there, and whether its " +
		"log misses an HNS network; docs/networks.md, \"kube-proxy\", lists who runs it with your CNI"
	helpNoEndpoint = "the Service has no endpoint, or its pod does not listen: kubectl get endpointslices shows which pods it has"
)

// connections are those of a first look at a new Windows node: each way in and out that a workload has.
var connections = []connection{
	{
		kind: linuxToPod, name: "Linux pod to Windows pod", source: linuxClient,
		target: func(a addresses) string { return a.windowsPod },
		help:   map[cause]string{"": helpNetwork},
	},
	{
		kind: linuxToService, name: "Linux pod to Service of Windows pod", source: linuxClient,
		requires: map[cause]kind{"": linuxToPod},
		target:   func(a addresses) string { return a.windowsService },
		help: map[cause]string{
			"":      "kube-proxy of the Linux node does not work: kubectl -n kube-system get pods -l k8s-app=kube-proxy -o wide",
			refused: helpNoEndpoint,
		},
	},
	{
		kind: linuxToNodePort, name: "Linux pod to NodePort of Windows node", source: linuxClient,
		requires: map[cause]kind{"": linuxToPod},
		target:   func(a addresses) string { return a.nodePort },
		help: map[cause]string{
			"": helpKubeProxy + "; or a firewall or security group keeps TCP 30000-32767 from the node",
		},
	},
	{
		kind: hostToPod, name: "Windows host to Windows pod", source: windowsHost,
		target: func(a addresses) string { return a.windowsPod },
		help: map[cause]string{
			"": "the node does not reach its own pod: the host has no endpoint in the pods' HNS network, which the CNI or a script of " +
				"yours makes; see docs/networks.md, \"What you apply\"",
		},
	},
	{
		kind: hostToService, name: "Windows host to Service of Windows pod", source: windowsHost,
		requires: map[cause]kind{"": hostToPod},
		target:   func(a addresses) string { return a.windowsService },
		help:     map[cause]string{"": helpKubeProxy},
	},
	{
		kind: windowsToPod, name: "Windows pod to Linux pod", source: windowsClient,
		target: func(a addresses) string { return a.linuxPod },
		help:   map[cause]string{"": helpNetwork},
	},
	{
		kind: windowsToService, name: "Windows pod to Service of Linux pod", source: windowsClient,
		requires: map[cause]kind{"": windowsToPod},
		target:   func(a addresses) string { return a.linuxService },
		help:     map[cause]string{"": helpKubeProxy},
	},
	{
		kind: windowsToName, name: "Windows pod to name of a Service", source: windowsClient,
		requires: map[cause]kind{"": windowsToService},
		target:   func(a addresses) string { return a.linuxName },
		help: map[cause]string{
			"": "the name is found, its address is not reached: " + helpKubeProxy,
			noName: "the cluster's DNS does not answer this node's pods: see that kubectl -n kube-system get pods,services -l " +
				"k8s-app=kube-dns shows a Service with the kubelet's clusterDNS as address and pods that are Ready, and that UDP 53 " +
				"passes; a Windows pod appends its own namespace and nothing else (docs/windows-nodes.md, \"DNS\")",
		},
	},
	{
		kind: windowsOutwards, name: "Windows pod outwards", source: windowsClient, requires: map[cause]kind{noName: windowsToName},
		target: func(a addresses) string { return a.outwards },
		help: map[cause]string{
			"": "pods get no answer from outside: the CNI must translate their addresses to the node's, which exceptionCIDRs of " +
				"spec.network prevents for what it lists, and firewalls must let the node out; --outwards names another server, or none",
			refused: "the server answers, but nothing listens on this port: write another --outwards HOST:PORT",
			noName: "no DNS server of the cluster has this name: write another --outwards HOST:PORT, or let CoreDNS forward names " +
				"that are not the cluster's",
		},
	},
}

// question is what the API server asks the kubelet of a Windows Node for, once.
type question struct {
	name string
	// ofPod is set if it is about the server pod.
	ofPod bool
	ask   func(*asker, context.Context) (text string, err error)
}

var questions = []question{
	{"exec in the Windows pod", true, (*asker).exec},
	{"logs of the Windows pod", true, (*asker).logs},
	{"metrics of the Windows node", false, (*asker).stats},
}
