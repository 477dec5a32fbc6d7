package bootstrap_test

import (
	"errors"
	"strings"
	"testing"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// What cannot work names the field, the value and what to write instead, also where the API server was not asked.
func TestNetworkRefuses(t *testing.T) {
	metrics := bootstrapv1.FirewallRule{Name: "metrics", Protocol: "TCP", Ports: bootstrapv1.Ports{First: 9182}}
	six, four := []string{"fd00:1::/56"}, []string{"10.244.0.0/16"}
	for _, test := range []struct {
		name        string
		changes     []func(*bootstrap.Input)
		field, want string
	}{
		{
			"NAT", inNetwork("nat", ""), specNetwork + ".mode",
			`"nat" is not valid; use l2bridge, l2tunnel, overlay, transparent or none`,
		},
		{"no mode", []func(*bootstrap.Input){withVNI(4096)}, specNetwork + ".mode", `"" is not valid`},
		{
			"overlay without CNI", inNetwork("overlay", ""), specNetwork + ".cni",
			"must be set in mode overlay; use Flannel, Calico, OVNKubernetes or",
		},
		{
			"overlay by AzureCNI", inNetwork("overlay", "AzureCNI", onAzure), specNetwork + ".cni",
			"AzureCNI does not work in mode overlay",
		},
		{
			"none with a CNI", inNetwork("none", "Calico"), specNetwork + ".cni",
			"Calico does not work in mode none; use no cni, or another mode",
		},
		{
			"AzureCNI on vSphere", inNetwork("l2bridge", "AzureCNI"), specNetwork + ".cni",
			"works on Azure only, and the machine is on vSphere",
		},
		{"l2tunnel on vSphere", inNetwork("l2tunnel", "AzureCNI"), specNetwork + ".cni", "works on Azure only"},
		{"transparent on Azure", inNetwork("transparent", "Antrea", onAzure), specNetwork + ".mode", "which Azure drops; use l2tunnel"},
		{
			"more pods than addresses", inNetwork("l2tunnel", "AzureCNI", onAzure, withPods(256)),
			"WindowsBootstrapConfig spec.kubelet.maxPods",
			"256 pods cannot have an address each, because a network interface on Azure has 256; use 255 or less",
		},
		{
			"VNI for Calico", inNetwork("overlay", "Calico", withVNI(4096)), specNetwork + ".vni",
			"has no effect in mode overlay with Calico; remove it",
		},
		{"VNI without VXLAN", inNetwork("l2bridge", "Flannel", withVNI(4096)), specNetwork + ".vni", "has no effect"},
		{
			"small VNI", inNetwork("overlay", "Flannel", withVNI(4095)), specNetwork + ".vni",
			"4095 is not accepted by Windows; use 4096 to 16777215",
		},
		{"large VNI", inNetwork("overlay", "Flannel", withVNI(1<<24)), specNetwork + ".vni", "is not accepted by Windows"},
		{"interface for OVN", inNetwork("overlay", "OVNKubernetes", withInterface("a")), specNetwork + ".interface", "has no effect"},
		{
			"interface for none", inNetwork("none", "", withInterface("a")), specNetwork + ".interface",
			"mode none with no cni; remove it",
		},
		{
			"name for Antrea", inNetwork("transparent", "Antrea", withNetwork(func(n *bootstrapv1.Network) { n.NetworkName = "a" })),
			specNetwork + ".networkName", "has no effect",
		},
		{
			"name with wildcard", inNetwork("l2bridge", "Flannel", withNetwork(func(n *bootstrapv1.Network) { n.NetworkName = "*" })),
			specNetwork + ".networkName", `"*" is not a name that every CNI accepts`,
		},
		{
			"name as path", inNetwork("l2bridge", "Flannel", withNetwork(func(n *bootstrapv1.Network) { n.NetworkName = `..\a` })),
			specNetwork + ".networkName", "is not a name",
		},
		{
			"interface with quotes", inNetwork("l2bridge", "Flannel", withInterface(`a"b`)), specNetwork + ".interface",
			"is not the name of an adapter; use one such as Ethernet0",
		},
		{
			"exceptions for Calico", inNetwork("l2bridge", "Calico", exceptions("10.0.0.0/8")), specNetwork + ".exceptionCIDRs",
			"has no effect",
		},
		{"DNS for Calico", inNetwork("l2bridge", "Calico", clusterDNS("10.96.0.10")), specNetwork + ".clusterDNS", "has no effect"},
		{"kube-proxy of Antrea", inNetwork("transparent", "Antrea", withKubeProxy), specNetwork + ".kubeProxy", "remove it"},
		{
			"kube-proxy of Calico's VXLAN", inNetwork("overlay", "Calico", withKubeProxy), specNetwork + ".kubeProxy",
			"that Calico makes later; remove it",
		},
		{
			"kube-proxy of OVN", inNetwork("overlay", "OVNKubernetes", withKubeProxy), specNetwork + ".kubeProxy",
			"that OVNKubernetes makes later",
		},
		{
			"kube-proxy of nobody",
			inNetwork("overlay", "Flannel", withNetwork(func(n *bootstrapv1.Network) { n.KubeProxy.DSR = "Enabled" })),
			specNetwork + ".kubeProxy.configFile", `"" is not valid; use Managed`,
		},
		{
			"odd DSR", inNetwork("overlay", "Flannel", withDSR("true")), specNetwork + ".kubeProxy.dsr",
			`"true" is not valid; use Enabled or Disabled`,
		},

		{
			"no pods", inNetwork("overlay", "Flannel", withRanges(nil, four)), podsField,
			"must not be empty, because the files of Flannel need it; use the CIDR of the cluster's pods",
		},
		{
			"no pods for kube-proxy", inNetwork("l2tunnel", "AzureCNI", onAzure, withRanges(nil, four), withKubeProxy), podsField,
			"must not be empty",
		},
		{
			"no services", inNetwork("overlay", "Flannel", withRanges(four, nil)), servicesField,
			"must not be empty, because the files of Flannel need it; use the CIDR of the cluster's Services",
		},
		{"odd pods", inNetwork("overlay", "Calico", withRanges([]string{"10.244.0.0"}, nil)), podsField, `"10.244.0.0" is not a CIDR`},
		{"odd services", inNetwork("overlay", "Calico", withRanges(nil, []string{"10.96.0.1/12"})), servicesField, "use 10.96.0.0/12"},
		{
			"overlap", inNetwork("overlay", "Calico", withRanges(four, []string{"10.244.8.0/24"})), servicesField,
			"10.244.8.0/24 overlaps the pods' 10.244.0.0/16",
		},
		{
			"IPv6 only", inNetwork("l2bridge", "Calico", withRanges(six, nil)), podsField,
			"fd00:1::/56 is IPv6 only, which pods on Windows do not support; add an IPv4 CIDR",
		},
		{"IPv6 only with Antrea", inNetwork("transparent", "Antrea", withRanges(six, nil)), podsField, "is IPv6 only"},
		{
			"services of IPv6 only", inNetwork("l2bridge", "Flannel", withRanges(four, []string{"fd00:2::/112"})), servicesField,
			"is IPv6 only",
		},
		{
			"dual-stack VXLAN", inNetwork("overlay", "Flannel", dualStack), podsField,
			"overlay on Windows carries IPv4 only; use an IPv4 CIDR only",
		},
		{
			"few services", inNetwork("overlay", "Flannel", withRanges(four, []string{"10.96.0.0/29"})), servicesField,
			"10.96.0.0/29 has no tenth address",
		},
		{
			"odd domain", inNetwork("overlay", "Flannel", withDomain(`a"b`)), "Cluster spec.clusterNetwork.serviceDomain",
			"is not a DNS name; use one such as cluster.local",
		},
		{
			"odd exception", inNetwork("overlay", "Flannel", exceptions("10.0.0.1/8")), specNetwork + ".exceptionCIDRs",
			`"10.0.0.1/8" is not a CIDR in canonical form; use 10.0.0.0/8`,
		},
		{
			"exception of IPv6", inNetwork("l2bridge", "Flannel", exceptions("fd00::/8")), specNetwork + ".exceptionCIDRs",
			"use IPv4 only",
		},
		{
			"AzureCNI without the virtual network", inNetwork("l2tunnel", "AzureCNI", onAzure), specNetwork + ".exceptionCIDRs",
			"pods of AzureCNI have addresses of the virtual network",
		},
		{
			"a start that Windows delays", inNetwork("overlay", "Calico", withKubelet(bootstrapv1.Kubelet{Start: "AutomaticDelayed"})),
			"WindowsBootstrapConfig spec.kubelet.start", "AutomaticDelayed has no effect in mode overlay with Calico",
		},
		{
			"DNS elsewhere", inNetwork("overlay", "Flannel", clusterDNS("10.0.0.10")), specNetwork + ".clusterDNS",
			`"10.0.0.10" is not an address in the Services' 10.96.0.0/12`,
		},
		{"DNS by name", inNetwork("overlay", "Flannel", clusterDNS("dns")), specNetwork + ".clusterDNS", `"dns" is not an address`},

		{"ports the wrong way", inNetwork("none", "", nodePorts(81, 80)), specNetwork + ".nodePorts", "81-80 is not a range of ports"},
		{
			"no ports", inNetwork("none", "", nodePorts(-1, 80)), specNetwork + ".nodePorts",
			"is not a range of ports; use first and last from 1 to 65535",
		},
		{
			"few dynamic ports", inNetwork("none", "", dynamicPorts(50000, 50100)), specNetwork + ".dynamicPorts",
			"50000-50100 is not accepted by Windows; use at least 255 ports",
		},
		{"low dynamic ports", inNetwork("none", "", dynamicPorts(1000, 2000)), specNetwork + ".dynamicPorts", "all above 1024"},
		{
			"dynamic ports beyond", inNetwork("none", "", dynamicPorts(60000, 70000)), specNetwork + ".dynamicPorts",
			"is not a range of ports",
		},
		{
			"overlap of ports", inNetwork("none", "", dynamicPorts(32000, 65535)), specNetwork + ".dynamicPorts",
			"32000-65535 overlaps nodePorts 30000-32767; use ports below or above them",
		},
		{
			"no room for ports", inNetwork("none", "", nodePorts(30000, 65400)), specNetwork + ".dynamicPorts",
			"too few ports are left after nodePorts, which end at 65400; use ports below them",
		},
		{
			"rule without name", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Protocol: "TCP", Ports: metrics.Ports})),
			specNetwork + ".firewall", `name ""`,
		},
		{
			"rule twice", inNetwork("none", "", opening(metrics, metrics)), specNetwork + ".firewall",
			`name "metrics" is not valid, is used twice`,
		},
		{
			"our rule", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Name: "vxlan", Protocol: "UDP", Ports: metrics.Ports})),
			specNetwork + ".firewall", `is a name of the bootstrap`,
		},
		{
			"odd protocol",
			inNetwork("none", "", opening(bootstrapv1.FirewallRule{Name: "a", Protocol: "ICMP", Ports: metrics.Ports})),
			specNetwork + ".firewall", `protocol "ICMP" of a is not valid; use TCP or UDP`,
		},
		{
			"rule without ports", inNetwork("none", "", opening(bootstrapv1.FirewallRule{Name: "a", Protocol: "TCP"})),
			specNetwork + ".firewall", "is not a range of ports",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := bootstrap.Render(plainInput(t, test.changes...))
			var refused *bootstrap.InvalidError
			if !errors.As(err, &refused) || refused.Field != test.field || !strings.Contains(refused.Message, test.want) {
				t.Errorf("%v, want %s: %s", err, test.field, test.want)
			}
		})
	}
}
