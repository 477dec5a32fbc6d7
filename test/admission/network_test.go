package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var networkLimits = join(
	[]limit{
		empty("spec.network", map[string]any{"mode": "none"}),
		required("spec.network.mode"),
		oneOf("spec.network.mode", "overlay", "nat"),
		oneOf("spec.network.cni", "Flannel", "Cilium"),
		pattern("spec.network.interface", "vEthernet (Ethernet0 2) #1", `a"b`),
		pattern("spec.network.networkName", "flannel.4096", "two words"),
		{"spec.network.exceptionCIDRs", "maxItems", cidrs(32), cidrs(33), "must have at most 32 items"},
		{"spec.network.exceptionCIDRs", "minItems", cidrs(1), cidrs(0), "should have at least 1 items"},
		{"spec.network.firewall", "maxItems", openings(32), openings(33), "must have at most 32 items"},
		{"spec.network.firewall", "minItems", openings(1), openings(0), "should have at least 1 items"},
		required("spec.network.firewall[].name"),
		pattern("spec.network.firewall[].name", "a-1", "A"),
		required("spec.network.firewall[].protocol"),
		oneOf("spec.network.firewall[].protocol", "UDP", "ICMP"),
		required("spec.network.firewall[].ports"),
		empty("spec.network.kubeProxy", map[string]any{"configFile": "Managed"}),
		required("spec.network.kubeProxy.configFile"),
		oneOf("spec.network.kubeProxy.configFile", "Managed", "Mine"),
		oneOf("spec.network.kubeProxy.dsr", "Disabled", "true"),
	},
	between("spec.network.vni", 4096, 16777215),
	text("spec.network.interface", 64),
	text("spec.network.networkName", 63),
	[]limit{
		// Only CIDRs of IPv4 are taken, which are shorter.
		{"spec.network.exceptionCIDRs[]", "minLength", "0.0.0.0/0", "", "should be at least 1 chars long"},
		{"spec.network.exceptionCIDRs[]", "maxLength", "100.100.100.100/32", long(44), "may not be more than 43"},
	},
	ip("spec.network.clusterDNS", "", 39),
	text("spec.network.firewall[].name", 50),
	portLimits("spec.network.nodePorts", ports(1, 1), 1),
	portLimits("spec.network.dynamicPorts", ports(1025, 2000), 34000),
	portLimits("spec.network.firewall[].ports", ports(1, 1), 1),
)

func ports(first, last int64) map[string]any { return map[string]any{"first": first, "last": last} }

// portLimits of a field that takes certain ports, and a first one.
func portLimits(field string, good map[string]any, first int64) []limit {
	return []limit{
		empty(field, good),
		{field + ".first", "required", right, absent, "Required value"},
		{field + ".first", "minimum", first, int64(0), "should be greater than or equal to 1"},
		{field + ".first", "maximum", right, int64(65536), "should be less than or equal to 65535"},
		{field + ".last", "minimum", right, int64(0), "should be greater than or equal to 1"},
		{field + ".last", "maximum", right, int64(65536), "should be less than or equal to 65535"},
	}
}

func cidrs(count int) []any {
	all := []any{}
	for i := range count {
		all = append(all, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return all
}

func openings(count int) []any {
	all := []any{}
	for i := range count {
		all = append(all, map[string]any{"name": long(i + 1), "protocol": "TCP", "ports": map[string]any{"first": int64(80)}})
	}
	return all
}

// network replaces the whole of spec.network by one of the mode and cni, with a field more.
func network(mode, cni string, more map[string]any) map[string]any {
	fields := map[string]any{"mode": mode}
	if cni != "" {
		fields["cni"] = cni
	}
	maps.Copy(fields, more)
	return map[string]any{"spec.network": fields}
}

// pairs of mode and cni.
type pairs [][2]string

func (p pairs) with(more map[string]any) []map[string]any {
	edits := make([]map[string]any, 0, len(p))
	for _, pair := range p {
		edits = append(edits, network(pair[0], pair[1], more))
	}
	return edits
}

var (
	bare        = pairs{{"transparent", ""}, {"none", ""}}
	antrea      = pairs{{"transparent", "Antrea"}}
	flannel     = pairs{{"l2bridge", "Flannel"}, {"overlay", "Flannel"}}
	winBridge   = pairs{{"l2bridge", "WinBridge"}}
	winOverlay  = pairs{{"overlay", "WinOverlay"}}
	azureCNI    = pairs{{"l2bridge", "AzureCNI"}, {"l2tunnel", "AzureCNI"}}
	calico      = pairs{{"l2bridge", "Calico"}, {"overlay", "Calico"}}
	hybrid      = pairs{{"overlay", "OVNKubernetes"}}
	configured  = slices.Concat(flannel, winBridge, winOverlay, azureCNI)
	withNetwork = slices.Concat(configured, calico, hybrid)
)

var networkRules = []rule{
	{
		at: "spec.network", field: "spec.network.cni",
		message: "mode and cni do not go together; write l2bridge with Flannel, Calico, WinBridge or AzureCNI, l2tunnel " +
			"with AzureCNI, " +
			"overlay with Flannel, Calico, OVNKubernetes or WinOverlay, transparent with Antrea or without cni, or none without cni",
		accepted: slices.Concat(withNetwork, antrea, bare).with(nil),
		refused: pairs{
			{"l2bridge", ""},
			{"l2tunnel", ""},
			{"overlay", ""},
			{"none", "Flannel"},
			{"none", "Antrea"},
			{"transparent", "Flannel"},
			{"l2bridge", "OVNKubernetes"},
			{"l2bridge", "Antrea"},
			{"l2bridge", "WinOverlay"},
			{"l2tunnel", "Flannel"},
			{"overlay", "AzureCNI"},
			{"overlay", "WinBridge"},
			{"overlay", "Antrea"},
			{"transparent", "OVNKubernetes"},
		}.with(nil),
	},
	{
		at: "spec.network", field: "spec.network.vni",
		message: "vni is said here for Flannel and WinOverlay in mode overlay only; leave it out, other CNIs have it in " +
			"their own configuration",
		accepted: pairs{{"overlay", "Flannel"}, {"overlay", "WinOverlay"}}.with(map[string]any{"vni": int64(4096)}),
		refused: slices.Concat(bare, antrea, calico, hybrid, azureCNI,
			pairs{{"l2bridge", "Flannel"}}).with(map[string]any{"vni": int64(4096)}),
	},
	{
		at: "spec.network", field: "spec.network.interface",
		message:  "here the CNI chooses the interface itself; leave interface out and configure it there",
		accepted: slices.Concat(configured, calico).with(map[string]any{"interface": "Ethernet0"}),
		refused:  slices.Concat(bare, antrea, hybrid).with(map[string]any{"interface": "Ethernet0"}),
	},
	{
		at: "spec.network", field: "spec.network.networkName",
		message:  "networkName belongs to l2bridge, l2tunnel and overlay; leave it out",
		accepted: withNetwork.with(map[string]any{"networkName": "pods"}),
		refused:  slices.Concat(bare, antrea).with(map[string]any{"networkName": "pods"}),
	},
	{
		at: "spec.network", field: "spec.network.exceptionCIDRs",
		message:  "the configuration of this CNI is not written here; leave exceptionCIDRs out and write them there",
		accepted: configured.with(map[string]any{"exceptionCIDRs": []any{"10.0.0.0/8"}}),
		refused:  slices.Concat(bare, antrea, calico, hybrid).with(map[string]any{"exceptionCIDRs": []any{"10.0.0.0/8"}}),
	},
	{
		at: "spec.network", field: "spec.network.clusterDNS",
		message:  "the configuration of this CNI is not written here; leave clusterDNS out and write it there",
		accepted: configured.with(map[string]any{"clusterDNS": "10.96.0.10"}),
		refused:  slices.Concat(bare, antrea, calico, hybrid).with(map[string]any{"clusterDNS": "10.96.0.10"}),
	},
	{
		at: "spec.network", field: "spec.network.kubeProxy",
		message: "a kube-proxy of this mode and cni cannot be configured before its CNI runs, or is not needed; leave " +
			"kubeProxy out, its DaemonSet brings what it needs",
		accepted: slices.Concat(configured, pairs{{"l2bridge", "Calico"}}).with(managed),
		refused:  slices.Concat(bare, antrea, hybrid, pairs{{"overlay", "Calico"}}).with(managed),
	},
	ordered("spec.network.nodePorts", 80), ordered("spec.network.dynamicPorts", 40000), ordered("spec.network.firewall[].ports", 80),
	{
		at: "spec.network.exceptionCIDRs[]", field: "spec.network.exceptionCIDRs[0]",
		message: "write a CIDR of IPv4 in its usual form without bits behind its prefix, such as 10.20.0.0/16; addresses " +
			"of IPv6 are never translated",
		accepted: edits("spec.network.exceptionCIDRs[]", "0.0.0.0/0", "10.0.0.0/8", "10.0.0.1/32"),
		refused: edits("spec.network.exceptionCIDRs[]", "10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "fd00::/8", "::ffff:10.0.0.0/104",
			"all"),
	},
	{
		at: "spec.network.clusterDNS", field: "spec.network.clusterDNS",
		message:  "write an IP address in its usual form, such as 10.96.0.10",
		accepted: edits("spec.network.clusterDNS", "10.96.0.10", "fd00::a"),
		refused: edits("spec.network.clusterDNS", "kube-dns", "10.96.0.10/32", "10.96.0.256", "010.96.0.10", "FD00::A",
			"::ffff:10.96.0.10", "fe80::1%eth0"),
	},
	{
		at: "spec.network.dynamicPorts", field: "spec.network.dynamicPorts",
		message:  "Windows takes 255 ports or more, from 1025 on; write first and last, such as 34000 and 65535",
		accepted: edits("spec.network.dynamicPorts", ports(1025, 1279), ports(65281, 65535)),
		refused:  edits("spec.network.dynamicPorts", ports(1024, 2000), ports(1025, 1278), map[string]any{"first": int64(40000)}),
	},
	{
		at: "spec.network", field: "spec.network.dynamicPorts",
		message: "dynamicPorts overlap the nodePorts, which are 30000 to 32767 when left out; write ports before or behind them",
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
		message: "there is no room for dynamicPorts behind these nodePorts; write dynamicPorts before them",
		accepted: []map[string]any{
			aside(ports(30000, 65280), absent), aside(ports(30000, 65535), ports(1025, 29999)),
			aside(map[string]any{"first": int64(65280)}, absent),
		},
		refused: []map[string]any{aside(ports(30000, 65281), absent), aside(map[string]any{"first": int64(65281)}, absent)},
	},
	{
		at: "spec.network.firewall[].name", field: "spec.network.firewall[0].name",
		message:  "a rule of this name is made for the node already; write another name",
		accepted: edits("spec.network.firewall[].name", "nodeports", "vxlan-2"),
		refused:  edits("spec.network.firewall[].name", "nodeports-tcp", "nodeports-udp", "kube-proxy-health", "vxlan", "geneve"),
	},
}

// edits write one value each.
func edits(field string, values ...any) []map[string]any {
	all := make([]map[string]any, 0, len(values))
	for _, value := range values {
		all = append(all, map[string]any{field: value})
	}
	return all
}

// aside are nodePorts with the dynamicPorts beside them.
func aside(nodePorts, dynamicPorts any) map[string]any {
	return map[string]any{"spec.network.nodePorts": nodePorts, "spec.network.dynamicPorts": dynamicPorts}
}

var managed = map[string]any{"kubeProxy": map[string]any{"configFile": "Managed"}}

// ordered ports from a first one on, which may be a single one but for the dynamicPorts.
func ordered(field string, first int64) rule {
	accepted := edits(field, ports(first, first+300))
	if !strings.HasSuffix(field, ".dynamicPorts") {
		accepted = append(accepted, edits(field, ports(first, first), map[string]any{"first": first})...)
	}
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]") + ".last",
		message:  "last is below first; write a last port that is not, or leave last out for a single port",
		accepted: accepted, refused: edits(field, ports(first+1, first)),
	}
}
