package admission

import (
	"fmt"
	"slices"
	"testing"
)

const longestIP = "1111:1111:1111:1111:1111:1111:1111:1111"

// The functions up to poolAddress return list items that differ by their number.
func pool(i int) any {
	return map[string]any{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": fmt.Sprint("pool-", i)}
}

func adapterNumber(i int) any {
	return map[string]any{"name": fmt.Sprint("net-", i), "network": "VM Network"}
}

func macNumber(i int) any { return map[string]any{"name": fmt.Sprint("net-", i)} }

func route(i int) any { return map[string]any{"to": fmt.Sprintf("10.%d.0.0/16", i), "via": "10.0.0.9"} }

func nameserverAt(i int) any { return fmt.Sprint("10.0.0.", i) }

func poolAddress(i int) any { return map[string]any{"address": fmt.Sprintf("10.0.0.%d/24", i)} }

// from is a list with at least one item and at most a number of them.
func from(field string, most int, item func(int) any) []limit {
	return []limit{
		{field, "minItems", list(1, item), []any{}, "should have at least 1 items"},
		{field, "maxItems", list(most, item), list(most+1, item), fmt.Sprintf("must have at most %d items", most)},
	}
}

func list(times int, item func(int) any) []any {
	all := make([]any, times)
	for i := range all {
		all[i] = item(i)
	}
	return all
}

// upTo is a list that may be empty.
func upTo(field string, most int, item func(int) any) []limit { return from(field, most, item)[1:] }

// ip is a text that is an IP address, or a CIDR if prefix is a prefix length.
func ip(field, prefix string, most int) []limit {
	return []limit{
		{field, "minLength", "::" + prefix, "", "should be at least 1 chars long"},
		longest(field, longestIP+prefix, longestIP+prefix+"1", most),
	}
}

var adapterLimits = slices.Concat(
	upTo("spec.vsphere.networkInterfaces", 10, adapterNumber),
	[]limit{required("spec.vsphere.networkInterfaces[].name"), required("spec.vsphere.networkInterfaces[].network")},
	text("spec.vsphere.networkInterfaces[].name", 63),
	text("spec.vsphere.networkInterfaces[].network", 1024),
	upTo("spec.vsphere.networkInterfaces[].addressesFromPools", 4, pool),
	poolReference("spec.vsphere.networkInterfaces[].addressesFromPools[]"),
	upTo("spec.vsphere.networkInterfaces[].nameservers", 6, nameserverAt),
	ip("spec.vsphere.networkInterfaces[].nameservers[]", "", 39),
	upTo("spec.vsphere.networkInterfaces[].routes", 32, route),
	[]limit{required("spec.vsphere.networkInterfaces[].routes[].to"), required("spec.vsphere.networkInterfaces[].routes[].via")},
	[]limit{
		{"spec.vsphere.networkInterfaces[].routes[].to", "minLength", "10.9.0.0/16", "", "should be at least 1 chars long"},
		longest("spec.vsphere.networkInterfaces[].routes[].to", right, longestIP+"/1281", 43),
		{"spec.vsphere.networkInterfaces[].routes[].via", "minLength", "10.0.0.9", "", "should be at least 1 chars long"},
		longest("spec.vsphere.networkInterfaces[].routes[].via", right, longestIP+"1", 39),
	},
	between("spec.vsphere.networkInterfaces[].mtu", 1280, 9000),
)

func poolReference(path string) []limit {
	return slices.Concat(
		[]limit{
			required(path + ".apiGroup"), required(path + ".kind"), required(path + ".name"),
		},
		text(path+".apiGroup", 253), text(path+".kind", 63), text(path+".name", 253),
	)
}

var adapterStatusLimits = slices.Concat(
	upTo("status.networkInterfaces", 10, macNumber),
	[]limit{required("status.networkInterfaces[].name")},
	text("status.networkInterfaces[].name", 63),
	[]limit{
		{
			"status.networkInterfaces[].macAddress", "minLength", "00:50:56:00:00:05", "00:50:56:00:00:0",
			"should be at least 17 chars long",
		},
		longest("status.networkInterfaces[].macAddress", "00:50:56:00:00:05", "00:50:56:00:00:055", 17),
	},
	upTo("status.networkInterfaces[].addresses", 4, poolAddress),
	[]limit{required("status.networkInterfaces[].addresses[].address")},
	text("status.networkInterfaces[].addresses[].address", 43),
	text("status.networkInterfaces[].addresses[].gateway", 39),
)

const firstAdapter = "spec.vsphere.networkInterfaces[]"

// dhcp removes all settings that need pools, except those in changes.
func dhcp(changes map[string]any) map[string]any {
	for _, field := range []string{"addressesFromPools", "nameservers", "routes", "mtu"} {
		if _, has := changes[firstAdapter+"."+field]; !has {
			changes[firstAdapter+"."+field] = absent
		}
	}
	return changes
}

func routeOf(to, via string) map[string]any {
	return map[string]any{firstAdapter + ".routes": []any{map[string]any{"to": to, "via": via}}}
}

var (
	strayAddressing = rule{
		at: firstAdapter, field: "spec.vsphere.networkInterfaces[0].addressesFromPools",
		message: "nameservers, routes and mtu are only for an adapter with addressesFromPools; remove them: DHCP provides them",
		accepted: []map[string]any{
			{},
			dhcp(map[string]any{}),
			dhcp(map[string]any{
				firstAdapter + ".addressesFromPools": []any{}, firstAdapter + ".nameservers": []any{}, firstAdapter + ".routes": []any{},
			}),
		},
		refused: []map[string]any{
			dhcp(map[string]any{firstAdapter + ".nameservers": []any{"10.0.0.2"}}),
			dhcp(map[string]any{firstAdapter + ".routes": []any{route(1)}}),
			dhcp(map[string]any{firstAdapter + ".mtu": int64(1450)}),
			dhcp(map[string]any{firstAdapter + ".mtu": int64(1450), firstAdapter + ".addressesFromPools": []any{}}),
		},
	}
	nameserver = rule{
		at: firstAdapter + ".nameservers[]", field: "spec.vsphere.networkInterfaces[0].nameservers[0]",
		message:  "must be an IP address, such as 10.0.0.2",
		accepted: []map[string]any{{firstAdapter + ".nameservers[]": "fd00::2"}},
		refused:  edits(firstAdapter+".nameservers[]", "dns.example.com", "10.0.0.256"),
	}
	routeTo = rule{
		at: firstAdapter + ".routes[].to", field: "spec.vsphere.networkInterfaces[0].routes[0].to",
		message:  "must be a CIDR in canonical form with no bits set after the prefix, such as 10.20.0.0/16",
		accepted: []map[string]any{routeOf("10.0.0.0/8", "10.0.0.9"), routeOf("fd00::/8", "fd00::9")},
		refused: []map[string]any{
			routeOf("10.0.0.1/8", "10.0.0.9"), routeOf("10.0.0.0", "10.0.0.9"), routeOf("FD00::/8", "fd00::9"),
			routeOf("fd00:0::/32", "fd00::9"),
		},
	}
	routeDefault = rule{
		at: firstAdapter + ".routes[].to", field: "spec.vsphere.networkInterfaces[0].routes[0].to",
		message:  "the default route comes from the gateway of the adapter's pool; remove this route",
		accepted: []map[string]any{routeOf("0.0.0.0/1", "10.0.0.9")},
		refused:  []map[string]any{routeOf("0.0.0.0/0", "10.0.0.9"), routeOf("::/0", "fd00::9")},
	}
	routeVia = rule{
		at: firstAdapter + ".routes[].via", field: "spec.vsphere.networkInterfaces[0].routes[0].via",
		message:  "must be an IP address, such as 10.0.0.9",
		accepted: []map[string]any{routeOf("10.0.0.0/8", "10.0.0.8")},
		refused:  []map[string]any{routeOf("10.0.0.0/8", "router")},
	}
	routeFamily = rule{
		at: firstAdapter + ".routes[]", field: "spec.vsphere.networkInterfaces[0].routes[0].via",
		message:  "to and via must both be IPv4 or both IPv6",
		accepted: []map[string]any{routeOf("fd00::/8", "fd00::9")},
		refused:  []map[string]any{routeOf("fd00::/8", "10.0.0.9"), routeOf("10.0.0.0/8", "fd00::9")},
	}
)

// nameRules are about the name of an adapter, the same on both clouds.
func nameRules(adapter string) []rule {
	path, field := adapter+"[].name", adapter+"[0].name"
	return []rule{
		{
			at: path, field: field,
			message:  "must consist of lowercase letters, digits and '-', and must begin and end with a letter or digit, such as node",
			accepted: edits(path, "node", "a", "10g", "storage-2"),
			refused: edits(path, "Node", "node ", "-node", "node-", "Ethernet0 2", "vEthernet (Ethernet)", "node_1", "a.b", "n\nn",
				"br_1"),
		},
		{
			at: path, field: field,
			message: "must not be a number, nat or loopback, and must not begin with ethernet, veth, br, cali, flannel, docker or " +
				"antrea: Windows, CNIs and VMware Tools use such names themselves; use a name such as node",
			accepted: edits(path, "node-1", "nat-2", "my-ethernet", "external"),
			refused: edits(path, "7", "12", "nat", "loopback", "ethernet", "ethernet0", "vethernet-node", "veth", "br-int", "cali1",
				"flannel", "docker0", "antrea-gw0"),
		},
	}
}

var adapterRules = slices.Concat(nameRules("spec.vsphere.networkInterfaces"), nameRules("spec.azure.networkInterfaces"), []rule{
	poolRule("apiGroup", "must be an API group: lowercase letters, digits, '-' and '.', beginning and ending with a letter "+
		"or digit, such as ipam.cluster.x-k8s.io", "ipam.example.com", "ipam/example", "Ipam", "ipam..io"),
	poolRule("kind", "must be a kind: letters, digits and '-', beginning with a letter, such as InClusterIPPool",
		"Pool", "My.Pool", "1Pool"),
	poolRule("name", "must be the name of a pool: lowercase letters, digits, '-' and '.', beginning and ending with a letter "+
		"or digit, such as nodes", "pool.a", "Pool", "-a", "../a"),
	strayAddressing, nameserver, routeTo, routeDefault, routeVia, routeFamily,
	{
		at: firstAdapter + ".network", field: "spec.vsphere.networkInterfaces[0].network",
		message: "must be the name or inventory path of a network without control characters and without blanks at its ends, " +
			"such as VM Network",
		accepted: edits(firstAdapter+".network", "VM Network", "/dc/network/nodes", "Netz für Knoten", "a"),
		refused:  edits(firstAdapter+".network", " ", "nodes ", " nodes", "\n", "VM\tNetwork", "nodes\x7f", "nodes\u00a0"),
	},
})

// poolRule is that of a field of a reference to a pool, with a right value and wrong ones.
func poolRule(field, message, good string, wrong ...any) rule {
	path := firstAdapter + ".addressesFromPools[]." + field
	return rule{
		at: path, field: "spec.vsphere.networkInterfaces[0].addressesFromPools[0]." + field, message: message,
		accepted: edits(path, good), refused: edits(path, wrong...),
	}
}

// Two adapters cannot have one name, and their order is that of the list.
func TestAdaptersHaveOneNameEach(t *testing.T) {
	made := newObject("WindowsMachine")
	set(made.Object, "spec.vsphere.networkInterfaces", []any{adapterNumber(1), adapterNumber(1)})
	mustRefuse(t, create(t, made), "spec.vsphere.networkInterfaces[1]", "Duplicate value")
}
