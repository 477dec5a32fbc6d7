package twins

const (
	macA = "00-50-56-00-00-01"
	macB = "00-50-56-AB-CD-EF"
)

func (g *generator) mac() any {
	return pick(g, macA, macB, "005056000001", "00:50:56:ab:cd:ef", "00-50-56-FF-FF-FF")
}

func adapter(g *generator) tree {
	step := tree{}
	g.add(step, 60, "mac", g.mac())
	if g.chance(30) {
		step["set"] = g.set()
	} else {
		step["rename"] = pick[any](g, "Ethernet", "ethernet0", "Ethernet0", "Mgmt Netz ü", "[a]", []any{"nic-", tree{"fact": "cpus"}})
	}
	return step
}

func address(g *generator) tree {
	step := tree{"mac": g.mac(), "addresses": g.list(1, 2, func() any {
		return pick(g, "10.0.0.5/24", "10.0.0.6/24", "fd00::5/64", "FD00::5/64")
	})}
	g.add(step, 60, "gateways", pick(g, []any{"10.0.0.1"}, []any{"fe80::1"}, []any{"10.0.0.254", "fe80::1"}))
	g.add(step, 60, "dns", g.list(1, 2, func() any { return pick(g, "10.0.0.53", "10.0.0.54", "fd00::53") }))
	g.add(step, 40, "routes", g.list(1, 2, func() any {
		return tree{"to": pick(g, "10.9.0.0/16", "fd09::/32", "10.8.0.0/16"), "via": pick(g, "10.0.0.1", "10.0.0.2", "fe80::2")}
	}))
	g.add(step, 30, "mtu", digits(pick(g, 1400, 1500, 9000)))
	return step
}

func route(g *generator) tree {
	return tree{"destinations": g.list(1, 3, func() any {
		return pick[any](g, "169.254.169.254/32", "10.9.0.0/16", "10.8.0.0/16", []any{tree{"fact": pick(g, g.facts...)}, "/32"})
	})}
}

func hnsNetwork(g *generator) tree {
	request := tree{"Name": pick[any](g, networks[g.IntN(len(networks))], tree{"fact": pick(g, g.facts...)})}
	request["Type"] = pick(g, "Overlay", "overlay", "L2Bridge")
	if g.chance(40) {
		request["Subnets"] = []any{tree{
			"AddressPrefix":  pick[any](g, "10.4.0.0/16", tree{"fact": pick(g, g.facts...)}),
			"GatewayAddress": "10.4.0.1",
		}}
	}
	g.add(request, 20, pick(g, "Policies", "DNSSuffix", "x"), g.node(1))
	step := tree{"request": request}
	if g.add(step, 20, "wait", true); step["wait"] == true {
		g.add(step, 30, "stillSeconds", pick[any](g, 1.0, 7.0, 10.0))
	}
	g.facts = append(append([]string{}, g.facts...), "managementIP")
	return step
}

func hnsEndpoint(g *generator) tree {
	return tree{"endpoint": pick[any](g, "Calico_ep", "calico_EP", "ep ü", g.value()), "set": g.set()}
}

func hnsCleanup(g *generator) tree {
	mask := func() any { return pick(g, "Calico*", "*", "?al*", "[x]", "İ*", "i*", "none", "*_ep", "other net") }
	step := tree{"networks": g.list(0, 2, mask)}
	g.add(step, 60, "endpoints", g.list(1, 2, mask))
	g.add(step, 40, "keep", g.list(1, 2, mask))
	return step
}
