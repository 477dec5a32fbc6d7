package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var networkLimits = slices.Concat(
	[]limit{
		oneOf("spec.network.mode", "Overlay", "L2Tunnel"),
		oneOf("spec.network.cni", "Flannel", "Cilium"),
		required("spec.network.firewall[].name"),
		required("spec.network.firewall[].protocol"),
		oneOf("spec.network.firewall[].protocol", "UDP", "ICMP"),
		required("spec.network.firewall[].ports"),
		oneOf("spec.network.kubeProxy.run", "Service", "Managed"),
		oneOf("spec.network.flannel.run", "External", "None"),
		atMost("spec.network.hnsNetworkName", 63),
		atMost("spec.network.interface", 64),
		oneOf("spec.network.kubeProxy.dsr", "Disabled", "true"),
	},
	upTo("spec.network.exceptionCIDRs", 32, func(i int) any { return fmt.Sprintf("10.%d.0.0/16", i) }),
	upTo("spec.network.firewall", 32, opened),
	between("spec.network.vni", 4096, 16777215),
	[]limit{
		// Only IPv4 CIDRs are accepted, which are shorter than the maximum.
		{"spec.network.exceptionCIDRs[]", "minLength", "0.0.0.0/0", "", "should be at least 1 chars long"},
		longest("spec.network.exceptionCIDRs[]", "100.100.100.100/32", long(44), 43),
	},
	ip("spec.network.clusterDNS", "", 39),
	text("spec.network.firewall[].name", 50),
	portLimits("spec.network.nodePorts", 1), portLimits("spec.network.dynamicPorts", 34000),
	portLimits("spec.network.firewall[].ports", 1),
)

// opened is a rule of the firewall; its name is longer by i.
func opened(i int) any {
	return map[string]any{"name": long(i + 1), "protocol": "TCP", "ports": map[string]any{"first": int64(80)}}
}

func ports(first, last int64) map[string]any { return map[string]any{"first": first, "last": last} }

// portLimits are the limits of a range of ports; first is a valid first port.
func portLimits(field string, first int64) []limit {
	return []limit{
		{field + ".first", "minimum", first, int64(0), "should be greater than or equal to 1"},
		{field + ".first", "maximum", right, int64(65536), "should be less than or equal to 65535"},
		{field + ".last", "minimum", right, int64(0), "should be greater than or equal to 1"},
		{field + ".last", "maximum", right, int64(65536), "should be less than or equal to 65535"},
	}
}

// network replaces spec.network by one with this mode and cni, and with more fields.
func network(mode, cni string, more map[string]any) map[string]any {
	fields := map[string]any{"mode": mode}
	if cni != "" {
		fields["cni"] = cni
	}
	maps.Copy(fields, more)
	return map[string]any{"spec.network": fields}
}

// pairs are modes, each with a cni.
type pairs [][2]string

func (p pairs) with(more map[string]any) []map[string]any {
	edits := make([]map[string]any, 0, len(p))
	for _, pair := range p {
		edits = append(edits, network(pair[0], pair[1], more))
	}
	return edits
}

var (
	bare        = pairs{{"Transparent", ""}, {"None", ""}}
	antrea      = pairs{{"Transparent", "Antrea"}}
	flannel     = pairs{{"L2Bridge", "Flannel"}, {"Overlay", "Flannel"}}
	azureCNI    = pairs{{"L2Bridge", "AzureCNI"}}
	calico      = pairs{{"L2Bridge", "Calico"}, {"Overlay", "Calico"}}
	configured  = slices.Concat(flannel, azureCNI)
	withNetwork = slices.Concat(configured, calico)
)

// only pairs that are allowed may have a field; others are refused with the message.
func only(allowed pairs, field string, value any, message string, refused ...pairs) rule {
	with := map[string]any{field: value}
	return rule{
		at: "spec.network", field: "spec.network." + field, message: message,
		accepted: allowed.with(with), refused: slices.Concat(refused...).with(with),
	}
}

var networkRules = []rule{
	{
		at: "spec.network", field: "spec.network.mode",
		message: "the other fields of network need a mode; set mode to L2Bridge, Overlay, Transparent or None",
		accepted: edits("spec.network", map[string]any{}, map[string]any{
			"nodePorts": map[string]any{}, "dynamicPorts": map[string]any{}, "kubeProxy": map[string]any{},
			"flannel":  map[string]any{},
			"firewall": []any{}, "exceptionCIDRs": []any{},
		}),
		refused: edits("spec.network",
			map[string]any{"cni": "Flannel"}, map[string]any{"interface": "node"}, map[string]any{"hnsNetworkName": "a"},
			map[string]any{"vni": int64(4096)},
			map[string]any{"exceptionCIDRs": []any{"10.0.0.0/8"}},
			map[string]any{"clusterDNS": "10.96.0.10"}, map[string]any{"nodePorts": ports(1, 2)},
			map[string]any{"dynamicPorts": ports(34000, 65535)}, map[string]any{"firewall": []any{opened(1)}},
			map[string]any{"kubeProxy": map[string]any{"run": "DaemonSet"}},
			map[string]any{"kubeProxy": map[string]any{"dsr": "Enabled"}},
			map[string]any{"cni": "Flannel", "flannel": map[string]any{"run": "External"}}),
	},
	{
		at: "spec.network.interface", field: "spec.network.interface",
		message: "must be the name of one of the machine's networkInterfaces, such as node, or Windows' own name of an adapter, " +
			"such as Ethernet0 2",
		accepted: edits("spec.network.interface", "node", "vEthernet (Ethernet0 2) #1", "a"),
		refused:  edits("spec.network.interface", "", `a"b`, " node", "node ", "no\nde"),
	},
	{
		at: "spec.network.hnsNetworkName", field: "spec.network.hnsNetworkName",
		message:  "must have letters, digits, '.', '_' and '-' only, and begin and end with a letter or digit, such as flannel.4096",
		accepted: edits("spec.network.hnsNetworkName", "flannel.4096", "a", "A_b-1"),
		refused:  edits("spec.network.hnsNetworkName", "", "two words", "-a", "a*", `a\b`),
	},
	{
		at: "spec.network.kubeProxy", field: "spec.network.kubeProxy.dsr",
		message: "dsr is a setting of the Windows service; set run: Service, or remove dsr",
		accepted: edits("spec.network.kubeProxy", map[string]any{}, map[string]any{"run": "None"},
			map[string]any{"run": "Service", "dsr": "Enabled"}),
		refused: edits("spec.network.kubeProxy", map[string]any{"run": "DaemonSet", "dsr": "Enabled"},
			map[string]any{"run": "None", "dsr": "Disabled"}),
	},
	{
		at: "spec.network.firewall[]", field: "spec.network.firewall[0].ports",
		message:  "set the first port that the rule opens, such as 9100",
		accepted: edits("spec.network.firewall[].ports", map[string]any{"first": int64(80)}),
		refused:  edits("spec.network.firewall[].ports", map[string]any{}),
	},
	needsFirst("spec.network.nodePorts", 80), needsFirst("spec.network.dynamicPorts", 40000),
	needsFirst("spec.network.firewall[].ports", 80),
	{
		at: "spec.network", field: "spec.network.cni",
		message: "mode and cni do not fit together; use L2Bridge with Flannel, Calico or AzureCNI, " +
			"Overlay with Flannel or Calico, Transparent with Antrea or no cni, or None with no cni",
		accepted: slices.Concat(withNetwork, antrea, bare).with(nil),
		refused: pairs{
			{"None", "Flannel"},
			{"None", "Antrea"},
			{"Transparent", "Flannel"},
			{"Transparent", "Calico"},
		}.with(nil),
	},
	{
		at: "spec.network", field: "spec.network.cni",
		message:  "mode and cni do not fit together; use L2Bridge with Flannel, Calico or AzureCNI, or Overlay with Flannel or Calico",
		accepted: slices.Concat(withNetwork, antrea, bare).with(nil),
		refused: pairs{
			{"L2Bridge", ""},
			{"L2Bridge", "Antrea"},
			{"Overlay", ""},
			{"Overlay", "AzureCNI"},
			{"Overlay", "Antrea"},
		}.with(nil),
	},
	only(pairs{{"Overlay", "Flannel"}}, "vni", int64(4096),
		"vni is for Flannel in mode Overlay only; remove it: other CNIs have it in their own configuration",
		bare, antrea, calico, azureCNI, pairs{{"L2Bridge", "Flannel"}}),
	only(slices.Concat(configured, calico), "interface", "Ethernet0",
		"with this mode and cni, the CNI chooses the interface itself; remove interface and configure it in the CNI",
		bare, antrea),
	only(withNetwork, "hnsNetworkName", "pods",
		"hnsNetworkName is for L2Bridge and Overlay only; remove it",
		bare, antrea),
	only(configured, "exceptionCIDRs", []any{"10.0.0.0/8"},
		"the bootstrap does not configure this CNI; remove exceptionCIDRs and configure them in the CNI",
		bare, antrea, calico),
	only(configured, "clusterDNS", "10.96.0.10",
		"the bootstrap does not configure this CNI; remove clusterDNS and configure it in the CNI",
		bare, antrea, calico),
	only(slices.Concat(configured, calico), "kubeProxy", map[string]any{"run": "Service"},
		"in this mode the CNI chooses the HNS network that kube-proxy needs; set kubeProxy.run to DaemonSet or None, "+
			"or use mode L2Bridge or Overlay",
		bare, antrea),
	only(configured, "kubeProxy", map[string]any{"dsr": "Disabled"},
		"dsr is a setting of the Windows service kube-proxy, which is not the default with this mode and cni; remove dsr, "+
			"or with Calico set run: Service",
		bare, antrea, calico),
	only(flannel, "flannel", map[string]any{"run": "External"},
		"only Flannel has it; remove it",
		bare, antrea, calico, azureCNI),
	ordered("spec.network.nodePorts", 80), ordered("spec.network.dynamicPorts", 40000), ordered("spec.network.firewall[].ports", 80),
	{
		at: "spec.network.exceptionCIDRs[]", field: "spec.network.exceptionCIDRs[0]",
		message: "must be an IPv4 CIDR in canonical form with no bits set after the prefix, such as 10.20.0.0/16; " +
			"IPv6 addresses are never translated",
		accepted: edits("spec.network.exceptionCIDRs[]", "0.0.0.0/0", "10.0.0.0/8", "10.0.0.1/32"),
		refused: edits("spec.network.exceptionCIDRs[]", "10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "fd00::/8",
			"::ffff:10.0.0.0/104", "all"),
	},
	{
		at: "spec.network.clusterDNS", field: "spec.network.clusterDNS",
		message:  "must be an IP address in canonical form, such as 10.96.0.10",
		accepted: edits("spec.network.clusterDNS", "10.96.0.10", "fd00::a"),
		refused: edits("spec.network.clusterDNS", "kube-dns", "10.96.0.10/32", "10.96.0.256", "010.96.0.10", "FD00::A",
			"::ffff:10.96.0.10", "fe80::1%eth0"),
	},
	{
		at: "spec.network.dynamicPorts", field: "spec.network.dynamicPorts",
		message:  "Windows needs at least 255 ports, and none below 1025; set first and last, such as 34000 and 65535",
		accepted: edits("spec.network.dynamicPorts", ports(1025, 1279), ports(65281, 65535)),
		refused:  edits("spec.network.dynamicPorts", ports(1024, 2000), ports(1025, 1278), map[string]any{"first": int64(40000)}),
	},
	{
		at: "spec.network", field: "spec.network.dynamicPorts",
		message: "dynamicPorts overlap nodePorts, which are 30000 to 32767 by default; use ports below or above them",
		accepted: []map[string]any{
			aside(absent, ports(32768, 65535)), aside(absent, ports(1025, 29999)), aside(absent, absent),
			aside(ports(40000, 41000), absent),
			aside(ports(40000, 41000), ports(30000, 39999)), aside(ports(40000, 41000), ports(41001, 65535)),
			aside(map[string]any{"first": int64(40000)}, ports(40001, 65535)),
		},
		refused: []map[string]any{
			aside(absent, ports(32767, 65535)), aside(absent, ports(1025, 30000)), aside(absent, ports(31000, 32000)),
			aside(absent, ports(1025, 65535)),
			aside(ports(40000, 41000), ports(41000, 65535)), aside(ports(40000, 41000), ports(1025, 40000)),
			aside(map[string]any{"first": int64(40000)}, ports(40000, 65535)),
		},
	},
	{
		at: "spec.network", field: "spec.network.dynamicPorts",
		message: "there is no room for dynamicPorts above these nodePorts; set dynamicPorts below them",
		accepted: []map[string]any{
			aside(ports(30000, 65280), absent), aside(ports(30000, 65535), ports(1025, 29999)),
			aside(map[string]any{"first": int64(65280)}, absent),
		},
		refused: []map[string]any{aside(ports(30000, 65281), absent), aside(map[string]any{"first": int64(65281)}, absent)},
	},
	{
		at: "spec.network.firewall[].name", field: "spec.network.firewall[0].name",
		message:  "the bootstrap already makes a rule of this name; use another name",
		accepted: edits("spec.network.firewall[].name", "nodeports", "vxlan-2"),
		refused: edits("spec.network.firewall[].name", "nodeports-tcp", "nodeports-udp", "kube-proxy-health", "vxlan", "geneve",
			"kubelet", "bgp"),
	},
}

// edits are several edits of one field, each with one of the values.
func edits(field string, values ...any) []map[string]any {
	all := make([]map[string]any, 0, len(values))
	for _, value := range values {
		all = append(all, map[string]any{field: value})
	}
	return all
}

// aside sets nodePorts and dynamicPorts.
func aside(nodePorts, dynamicPorts any) map[string]any {
	return map[string]any{"spec.network.nodePorts": nodePorts, "spec.network.dynamicPorts": dynamicPorts}
}

// ordered is the rule that last is not below first. A single port is valid, except for dynamicPorts.
func ordered(field string, first int64) rule {
	accepted := edits(field, ports(first, first+300))
	if !strings.HasSuffix(field, ".dynamicPorts") {
		accepted = append(accepted, edits(field, ports(first, first), map[string]any{"first": first})...)
	}
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]") + ".last",
		message:  "last must not be below first; raise last, or remove it for a single port",
		accepted: accepted, refused: edits(field, ports(first+1, first)),
	}
}

// needsFirst is the rule that last alone means nothing.
func needsFirst(field string, first int64) rule {
	accepted := edits(field, ports(first, first+300))
	if !strings.Contains(field, "firewall") {
		accepted = append(accepted, edits(field, map[string]any{})...)
	}
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]") + ".first",
		message:  "last needs a first port; set both, or first alone for a single port",
		accepted: accepted, refused: edits(field, map[string]any{"last": int64(50000)}),
	}
}
