package admission

import (
	"fmt"
	"slices"
)

const longestIP = "1111:1111:1111:1111:1111:1111:1111:1111"

// The functions up to poolAddress return list items that differ by their number.
func pool(i int) any {
	return map[string]any{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": fmt.Sprint("pool-", i)}
}

func netNumber(i int) any { return map[string]any{"name": fmt.Sprint("net-", i)} }

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
	from("spec.vsphere.networks", 10, netNumber),
	[]limit{required("spec.vsphere.networks[].name")},
	text("spec.vsphere.networks[].name", 1024),
	from("spec.vsphere.networks[].addressesFromPools", 4, pool),
	poolReference("spec.vsphere.networks[].addressesFromPools[]"),
	from("spec.vsphere.networks[].nameservers", 6, nameserverAt),
	ip("spec.vsphere.networks[].nameservers[]", "", 39),
	from("spec.vsphere.networks[].routes", 32, route),
	[]limit{required("spec.vsphere.networks[].routes[].to"), required("spec.vsphere.networks[].routes[].via")},
	[]limit{
		{"spec.vsphere.networks[].routes[].to", "minLength", "10.9.0.0/16", "", "should be at least 1 chars long"},
		longest("spec.vsphere.networks[].routes[].to", right, longestIP+"/1281", 43),
		{"spec.vsphere.networks[].routes[].via", "minLength", "10.0.0.9", "", "should be at least 1 chars long"},
		longest("spec.vsphere.networks[].routes[].via", right, longestIP+"1", 39),
	},
	between("spec.vsphere.networks[].mtu", 1280, 9000),
)

func poolReference(at string) []limit {
	return slices.Concat(
		[]limit{
			required(at + ".apiGroup"), required(at + ".kind"), required(at + ".name"),
			pattern(at+".apiGroup", "ipam.example.com", "ipam/example"), pattern(at+".kind", "Pool", "My.Pool"),
			pattern(at+".name", "pool.a", "Pool"),
		},
		text(at+".apiGroup", 253), text(at+".kind", 63), text(at+".name", 253),
	)
}

var adapterStatusLimits = slices.Concat(
	upTo("status.networks", 10, netNumber),
	[]limit{required("status.networks[].name")},
	text("status.networks[].name", 1024),
	[]limit{
		{"status.networks[].macAddress", "minLength", "00:50:56:00:00:05", "00:50:56:00:00:0", "should be at least 17 chars long"},
		longest("status.networks[].macAddress", "00:50:56:00:00:05", "00:50:56:00:00:055", 17),
	},
	upTo("status.networks[].addresses", 4, poolAddress),
	[]limit{required("status.networks[].addresses[].address")},
	text("status.networks[].addresses[].address", 43),
	text("status.networks[].addresses[].gateway", 39),
)

const firstNetwork = "spec.vsphere.networks[]"

// dhcp removes all settings that need pools, except those in changes.
func dhcp(changes map[string]any) map[string]any {
	for _, field := range []string{"addressesFromPools", "nameservers", "routes", "mtu"} {
		if _, has := changes[firstNetwork+"."+field]; !has {
			changes[firstNetwork+"."+field] = absent
		}
	}
	return changes
}

func routeOf(to, via string) map[string]any {
	return map[string]any{firstNetwork + ".routes": []any{map[string]any{"to": to, "via": via}}}
}

var (
	strayAddressing = rule{
		at: firstNetwork, field: "spec.vsphere.networks[0].addressesFromPools",
		message:  "nameservers, routes and mtu are only for an adapter with addressesFromPools; remove them: DHCP provides them",
		accepted: []map[string]any{{}, dhcp(map[string]any{})},
		refused: []map[string]any{
			dhcp(map[string]any{firstNetwork + ".nameservers": []any{"10.0.0.2"}}),
			dhcp(map[string]any{firstNetwork + ".routes": []any{route(1)}}),
			dhcp(map[string]any{firstNetwork + ".mtu": int64(1450)}),
		},
	}
	nameserver = rule{
		at: firstNetwork + ".nameservers[]", field: "spec.vsphere.networks[0].nameservers[0]",
		message:  "must be an IP address, such as 10.0.0.2",
		accepted: []map[string]any{{firstNetwork + ".nameservers[]": "fd00::2"}},
		refused:  edits(firstNetwork+".nameservers[]", "dns.example.com", "10.0.0.256"),
	}
	routeTo = rule{
		at: firstNetwork + ".routes[].to", field: "spec.vsphere.networks[0].routes[0].to",
		message:  "must be a CIDR in canonical form with no bits set after the prefix, such as 10.20.0.0/16",
		accepted: []map[string]any{routeOf("10.0.0.0/8", "10.0.0.9"), routeOf("fd00::/8", "fd00::9")},
		refused: []map[string]any{
			routeOf("10.0.0.1/8", "10.0.0.9"), routeOf("10.0.0.0", "10.0.0.9"), routeOf("FD00::/8", "fd00::9"),
			routeOf("fd00:0::/32", "fd00::9"),
		},
	}
	routeDefault = rule{
		at: firstNetwork + ".routes[].to", field: "spec.vsphere.networks[0].routes[0].to",
		message:  "the default route comes from the gateway of the adapter's pool; remove this route",
		accepted: []map[string]any{routeOf("0.0.0.0/1", "10.0.0.9")},
		refused:  []map[string]any{routeOf("0.0.0.0/0", "10.0.0.9"), routeOf("::/0", "fd00::9")},
	}
	routeVia = rule{
		at: firstNetwork + ".routes[].via", field: "spec.vsphere.networks[0].routes[0].via",
		message:  "must be an IP address, such as 10.0.0.9",
		accepted: []map[string]any{routeOf("10.0.0.0/8", "10.0.0.8")},
		refused:  []map[string]any{routeOf("10.0.0.0/8", "router")},
	}
	routeFamily = rule{
		at: firstNetwork + ".routes[]", field: "spec.vsphere.networks[0].routes[0].via",
		message:  "to and via must both be IPv4 or both IPv6",
		accepted: []map[string]any{routeOf("fd00::/8", "fd00::9")},
		refused:  []map[string]any{routeOf("fd00::/8", "10.0.0.9"), routeOf("10.0.0.0/8", "fd00::9")},
	}
)
