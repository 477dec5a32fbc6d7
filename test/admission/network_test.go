package admission

import (
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
	text("spec.network.exceptionCIDRs[]", 43),
	text("spec.network.clusterDNS", 39),
	text("spec.network.firewall[].name", 50),
	portLimits("spec.network.nodePorts"),
	portLimits("spec.network.dynamicPorts"),
	portLimits("spec.network.firewall[].ports"),
)

func portLimits(field string) []limit {
	return []limit{
		empty(field, map[string]any{"first": int64(1)}),
		{field + ".first", "required", right, absent, "Required value"},
		{field + ".first", "minimum", int64(1), int64(0), "should be greater than or equal to 1"},
		{field + ".first", "maximum", right, int64(65536), "should be less than or equal to 65535"},
		{field + ".last", "minimum", right, int64(0), "should be greater than or equal to 1"},
		{field + ".last", "maximum", int64(65535), int64(65536), "should be less than or equal to 65535"},
	}
}

func cidrs(count int) []any {
	all := []any{}
	for i := range count {
		all = append(all, long(i+1))
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
		message: "mode and cni do not go together; write l2bridge with Flannel, Calico, WinBridge or AzureCNI, l2tunnel with AzureCNI, " +
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
		message:  "vni is said here for Flannel and WinOverlay in mode overlay only; leave it out, other CNIs have it in their own configuration",
		accepted: pairs{{"overlay", "Flannel"}, {"overlay", "WinOverlay"}}.with(map[string]any{"vni": int64(4096)}),
		refused:  slices.Concat(bare, antrea, calico, hybrid, azureCNI, pairs{{"l2bridge", "Flannel"}}).with(map[string]any{"vni": int64(4096)}),
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
		message: "a kube-proxy of this mode and cni cannot be configured before its CNI runs, or is not needed; leave kubeProxy out, its " +
			"DaemonSet brings what it needs",
		accepted: slices.Concat(configured, pairs{{"l2bridge", "Calico"}}).with(managed),
		refused:  slices.Concat(bare, antrea, hybrid, pairs{{"overlay", "Calico"}}).with(managed),
	},
	ordered("spec.network.nodePorts"), ordered("spec.network.dynamicPorts"), ordered("spec.network.firewall[].ports"),
}

var managed = map[string]any{"kubeProxy": map[string]any{"configFile": "Managed"}}

func ordered(field string) rule {
	ports := func(first, last int64) map[string]any {
		return map[string]any{field: map[string]any{"first": first, "last": last}}
	}
	return rule{
		at: field, field: strings.ReplaceAll(field, "[]", "[0]") + ".last",
		message:  "last is below first; write a last port that is not, or leave last out for a single port",
		accepted: []map[string]any{ports(80, 80), ports(80, 81), {field: map[string]any{"first": int64(80)}}},
		refused:  []map[string]any{ports(81, 80)},
	}
}
