package bootstrap_test

import (
	"testing"
)

// What cannot work names the field, the value and what to write instead, also where the API server was not asked.
func TestNetworkRefuses(t *testing.T) {
	const metrics = `{name: metrics, protocol: TCP, ports: {first: 9182}}`
	six, four := []string{"fd00:1::/56"}, []string{"10.244.0.0/16"}
	refuse(t, []mistake{
		{"odd mode", "network.mode", inNetwork("nat", ""), `"nat" is not valid; use L2Bridge, Overlay, Transparent or None`},
		{"NAT", "network.mode", inNetwork("NAT", ""), "but Kubernetes requires that other nodes reach them; use Overlay, or L2Bridge"},
		{"no mode", "network.mode", withVNI(4096), `"" is not valid`},
		{
			"overlay without CNI", "network.cni", inNetwork("Overlay", ""),
			"must be set in mode Overlay; use Flannel or Calico",
		},
		{"overlay by AzureCNI", "network.cni", inNetwork("Overlay", "AzureCNI", onAzure), "AzureCNI does not work in mode Overlay"},
		{
			"none with a CNI", "network.cni", inNetwork("None", "Calico"),
			"Calico does not work in mode None; use no cni, or another mode",
		},
		{"AzureCNI on vSphere", "network.cni", inNetwork("L2Bridge", "AzureCNI"), "works on Azure only, and the machine is on vSphere"},
		{
			"the tunnel of Azure", "network.mode", inNetwork("L2Tunnel", "AzureCNI", onAzure),
			"since 2024 its azure-vnet makes an L2Bridge in every mode; use L2Bridge",
		},
		{"transparent on Azure", "network.mode", inNetwork("Transparent", "Antrea", onAzure), "which Azure drops; use L2Bridge"},
		{
			"more pods than addresses", "kubelet.maxPods", inNetwork("L2Bridge", "AzureCNI", onAzure, withPods(256)),
			"256 pods cannot have an address each, because a network interface on Azure has 256; use 255 or less",
		},
		{
			"VNI for Calico", "network.vni", inNetwork("Overlay", "Calico", withVNI(4096)),
			"has no effect in mode Overlay with Calico; remove it",
		},
		{"VNI without VXLAN", "network.vni", inNetwork("L2Bridge", "Flannel", withVNI(4096)), "has no effect"},
		{
			"small VNI", "network.vni", inNetwork("Overlay", "Flannel", withVNI(4095)),
			"4095 is not accepted by Windows; use 4096 to 16777215",
		},
		{"large VNI", "network.vni", inNetwork("Overlay", "Flannel", withVNI(1<<24)), "is not accepted by Windows"},
		{"a CNI that was dropped", "network.cni", inNetwork("Overlay", "OVNKubernetes"), "use Flannel or Calico"},
		{"interface for none", "network.interface", inNetwork("None", "", withInterface("a")), "mode None with no cni; remove it"},
		{"name for Antrea", "network.hnsNetworkName", inNetwork("Transparent", "Antrea", withName("a")), "has no effect"},
		{
			"name with wildcard", "network.hnsNetworkName", inNetwork("L2Bridge", "Flannel", withName("*")),
			`"*" is not a name that every CNI accepts`,
		},
		{"name as path", "network.hnsNetworkName", inNetwork("L2Bridge", "Flannel", withName(`..\a`)), "is not a name"},
		{
			"interface with quotes", "network.interface", inNetwork("L2Bridge", "Flannel", withInterface(`a"b`)),
			"is not the name of an adapter; use one such as Ethernet0",
		},
		{"exceptions for Calico", "network.exceptionCIDRs", inNetwork("L2Bridge", "Calico", exceptions("10.0.0.0/8")), "has no effect"},
		{"DNS for Calico", "network.clusterDNS", inNetwork("L2Bridge", "Calico", clusterDNS("10.96.0.10")), "has no effect"},
		{
			"kube-proxy of Antrea", "network.kubeProxy.run", inNetwork("Transparent", "Antrea", withKubeProxy),
			"which the CNI chooses in mode Transparent; use DaemonSet or None",
		},
		{"kube-proxy in no network", "network.kubeProxy.run", inNetwork("None", "", withKubeProxy), "use DaemonSet or None"},
		{
			"kube-proxy of nobody", "network.kubeProxy.run",
			inNetwork("Overlay", "Flannel", spec(`network: {kubeProxy: {run: Pod}}`)), `"Pod" is not valid; use Service, DaemonSet`,
		},
		{
			"DSR of a DaemonSet", "network.kubeProxy.dsr", inNetwork("Overlay", "Calico", withDSR("Enabled")),
			"is a setting of the Windows service kube-proxy, which this node does not have; remove it, or set run: Service",
		},
		{
			"flanneld of nobody", "network.flannel.run",
			inNetwork("Overlay", "Flannel", spec(`network: {flannel: {run: DaemonSet}}`)), `"DaemonSet" is not valid; use Service or`,
		},
		{
			"flanneld of Calico", "network.flannel",
			inNetwork("Overlay", "Calico", spec(`network: {flannel: {run: External}}`)), "remove it: only Flannel has flanneld",
		},
		{
			"odd DSR", "network.kubeProxy.dsr", inNetwork("Overlay", "Flannel", withDSR("true")),
			`"true" is not valid; use Enabled or Disabled`,
		},

		{
			"no pods", podsField, inNetwork("Overlay", "Flannel", withRanges(nil, four)),
			"must not be empty, because the files of Flannel need it; use the CIDR of the cluster's pods",
		},
		{
			"no services", servicesField, inNetwork("Overlay", "Flannel", withRanges(four, nil)),
			"must not be empty, because the files of Flannel need it; use the CIDR of the cluster's Services",
		},
		{"odd pods", podsField, inNetwork("Overlay", "Calico", withRanges([]string{"10.244.0.0"}, nil)), `"10.244.0.0" is not a CIDR`},
		{
			"odd pods beside a proxy", "Cluster spec.clusterNetwork",
			inNetwork("None", "", ofWindows(`proxy: {http: 'http://p:1'}`), withRanges([]string{"10.244.0.0"}, nil)),
			`"10.244.0.0" is not a CIDR`,
		},
		{"odd services", servicesField, inNetwork("Overlay", "Calico", withRanges(nil, []string{"10.96.0.1/12"})), "use 10.96.0.0/12"},
		{
			"overlap", servicesField, inNetwork("Overlay", "Calico", withRanges(four, []string{"10.244.8.0/24"})),
			"10.244.8.0/24 overlaps the pods' 10.244.0.0/16",
		},
		{
			"IPv6 only", podsField, inNetwork("L2Bridge", "Calico", withRanges(six, nil)),
			"fd00:1::/56 is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR",
		},
		{"IPv6 only with Antrea", podsField, inNetwork("Transparent", "Antrea", withRanges(six, nil)), "is IPv6 only"},
		{
			"services of IPv6 only", servicesField, inNetwork("L2Bridge", "Flannel", withRanges(four, []string{"fd00:2::/112"})),
			"is IPv6 only",
		},
		{
			"dual-stack VXLAN", podsField, inNetwork("Overlay", "Flannel", dualStack),
			"Overlay on Windows carries IPv4 only; use an IPv4 CIDR only",
		},
		{
			"an API server among the pods", podsField, inNetwork("Overlay", "Calico", withRanges([]string{"10.0.0.0/16"}, nil)),
			"10.0.0.0/16 contains 10.0.0.10, the host of the Cluster's spec.controlPlaneEndpoint, which pods on Windows would not " +
				"reach; use a CIDR in which no machine has an address",
		},
		{
			"an API server among the Services", servicesField, inNetwork("Overlay", "Flannel", withRanges(four, []string{"10.0.0.0/24"})),
			"10.0.0.0/24 contains 10.0.0.10, the host",
		},
		{
			"a machine among the pods", podsField,
			inNetwork("Overlay", "Calico", withRanges([]string{"10.0.8.0/22"}, nil), withAdapters(staticAdapter("10.0.8.5/24"))),
			"10.0.8.0/22 contains 10.0.8.5, an address that its pool has given to this machine, which",
		},
		{
			"few services", servicesField, inNetwork("Overlay", "Flannel", withRanges(four, []string{"10.96.0.0/29"})),
			"10.96.0.0/29 has no tenth address",
		},
		{
			"odd domain", "Cluster spec.clusterNetwork.serviceDomain", inNetwork("Overlay", "Flannel", withDomain(`a"b`)),
			"is not a DNS name; use one such as cluster.local",
		},
		{
			"odd exception", "network.exceptionCIDRs", inNetwork("Overlay", "Flannel", exceptions("10.0.0.1/8")),
			`"10.0.0.1/8" is not a CIDR in canonical form; use 10.0.0.0/8`,
		},
		{"exception of IPv6", "network.exceptionCIDRs", inNetwork("L2Bridge", "Flannel", exceptions("fd00::/8")), "use IPv4 only"},
		{
			"AzureCNI without the virtual network", "network.exceptionCIDRs", inNetwork("L2Bridge", "AzureCNI", onAzure),
			"pods of AzureCNI have addresses of the virtual network",
		},
		{
			"a start that Windows delays", "kubelet.start", inNetwork("Overlay", "Calico", kubelet(`start: AutomaticDelayed`)),
			"AutomaticDelayed has no effect in mode Overlay with Calico",
		},
		{
			"DNS elsewhere", "network.clusterDNS", inNetwork("Overlay", "Flannel", clusterDNS("10.0.0.10")),
			`"10.0.0.10" is not an address in the Services' 10.96.0.0/12`,
		},
		{
			"DNS in another form", "network.clusterDNS", inNetwork("L2Bridge", "Flannel", dualStack, clusterDNS("FD00:10:96::A")),
			`"FD00:10:96::A" is not an address in the Services'`,
		},
		{"DNS by name", "network.clusterDNS", inNetwork("Overlay", "Flannel", clusterDNS("dns")), `"dns" is not an address`},

		{"ports the wrong way", "network.nodePorts", inNetwork("None", "", nodePorts(81, 80)), "81-80 is not a range of ports"},
		{
			"no ports", "network.nodePorts", inNetwork("None", "", nodePorts(-1, 80)),
			"is not a range of ports; use first and last from 1 to 65535",
		},
		{
			"few dynamic ports", "network.dynamicPorts", inNetwork("None", "", dynamicPorts(50000, 50100)),
			"50000-50100 is not accepted by Windows; use at least 255 ports",
		},
		{"low dynamic ports", "network.dynamicPorts", inNetwork("None", "", dynamicPorts(1000, 2000)), "all above 1024"},
		{"dynamic ports beyond", "network.dynamicPorts", inNetwork("None", "", dynamicPorts(60000, 70000)), "is not a range of ports"},
		{
			"overlap of ports", "network.dynamicPorts", inNetwork("None", "", dynamicPorts(32000, 65535)),
			"32000-65535 overlaps nodePorts 30000-32767; use ports below or above them",
		},
		{
			"no room for ports", "network.dynamicPorts", inNetwork("None", "", nodePorts(30000, 65400)),
			"too few ports are left after nodePorts, which end at 65400; use ports below them",
		},
		{"rule without name", "network.firewall", inNetwork("None", "", opening(`{protocol: TCP, ports: {first: 9182}}`)), `name ""`},
		{
			"rule twice", "network.firewall", inNetwork("None", "", opening(metrics+", "+metrics)),
			`name "metrics" is not valid, is used twice`,
		},
		{
			"our rule", "network.firewall", inNetwork("None", "", opening(`{name: vxlan, protocol: UDP, ports: {first: 9182}}`)),
			`is a name of the bootstrap`,
		},
		{
			"odd protocol", "network.firewall", inNetwork("None", "", opening(`{name: a, protocol: ICMP, ports: {first: 9182}}`)),
			`protocol "ICMP" of a is not valid; use TCP or UDP`,
		},
		{
			"rule without ports", "network.firewall", inNetwork("None", "", opening(`{name: a, protocol: TCP}`)),
			"is not a range of ports",
		},
	})
}
