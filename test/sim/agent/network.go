package agent

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

var notHex = regexp.MustCompile(`[^0-9A-Fa-f]`)

// address gives an adapter its addresses, and removes stale ones.
func (r *run) address(step *plan.Address) error {
	adapter, err := r.adapter(step.MAC.String())
	if err != nil {
		return err
	}
	wanted, servers := texts(step.Addresses), texts(step.DNS)
	for _, six := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(wanted), func(a string) bool { return windows.IPv6(a) != six })
		if err := r.family(adapter.Index, six, some, step.MTU, servers); err != nil {
			return err
		}
	}
	if err := r.routes(adapter.Index, step); err != nil {
		return err
	}
	return r.dns(adapter.Index, servers)
}

// family brings one IP family of an interface in line; a family without a wanted address is left alone.
func (r *run) family(index int, six bool, wanted []string, mtu int, servers []string) error {
	if len(wanted) == 0 {
		return nil
	}
	if err := r.configureInterface(index, six, mtu, servers); err != nil {
		return err
	}
	have, err := r.removeOthers(index, six, wanted)
	if err != nil {
		return err
	}
	for _, one := range wanted {
		if slices.ContainsFunc(have, same(one)) {
			continue
		}
		if err := r.machine.AddAddress(index, one); err != nil {
			return err
		}
	}
	return nil
}

// removeOthers removes the addresses of a family that are not wanted, and returns those that are.
func (r *run) removeOthers(index int, six bool, wanted []string) (have []string, err error) {
	all, err := r.machine.AllAddresses()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.Index != index || windows.IPv6(one.Address) != six || one.Origin != "Manual" && one.Origin != "Dhcp" {
			continue
		}
		// A lease goes with DHCP, even if it is the wanted address, and may have gone already.
		leased := one.Origin == "Dhcp"
		if !leased && slices.ContainsFunc(wanted, same(one.Address)) {
			have = append(have, one.Address)
			continue
		}
		text, _, _ := strings.Cut(one.Address, "/")
		if err := r.machine.RemoveAddress(index, text); err != nil && !leased {
			return nil, err
		}
	}
	return have, nil
}

func (r *run) configureInterface(index int, six bool, mtu int, servers []string) error {
	family := "IPv4"
	if six {
		family = "IPv6"
	}
	now, err := r.machine.NetInterface(index, family)
	if err != nil {
		return err
	}
	if now.DHCP {
		if err := r.leaveDHCP(index, six, servers); err != nil {
			return err
		}
		if err := r.machine.SetDHCP(index, family); err != nil {
			return err
		}
	}
	if mtu > 0 && now.MTU != mtu {
		return r.machine.SetMTU(index, family, mtu)
	}
	return nil
}

// leaveDHCP replaces, before DHCP is off, what would go with it: servers and a default route, even if they are the wanted ones.
func (r *run) leaveDHCP(index int, six bool, servers []string) error {
	if len(servers) > 0 {
		if err := r.machine.SetDNSServers(index, servers); err != nil {
			return err
		}
	}
	if six {
		return nil
	}
	_, err := r.clearRoutes(index, "0.0.0.0/0", "")
	return err
}

func (r *run) routes(index int, step *plan.Address) error {
	for _, gateway := range texts(step.Gateways) {
		to := "0.0.0.0/0"
		if windows.IPv6(gateway) {
			to = "::/0"
		}
		if err := r.routeOnce(index, to, gateway); err != nil {
			return err
		}
	}
	for _, hop := range step.Routes {
		if err := r.routeOnce(index, hop.To.String(), hop.Via.String()); err != nil {
			return err
		}
	}
	return nil
}

// routeOnce replaces what an interface has for a destination.
func (r *run) routeOnce(index int, to, via string) error {
	there, err := r.clearRoutes(index, to, via)
	if err != nil || there {
		return err
	}
	return r.machine.AddRoute(index, to, via)
}

// clearRoutes removes the routes of an interface to a destination, unless one leads via the wanted hop.
func (r *run) clearRoutes(index int, to, via string) (there bool, err error) {
	all, err := r.machine.NetRoutes(to)
	if err != nil {
		return false, err
	}
	all = slices.DeleteFunc(all, func(one windows.Route) bool { return one.Index != index })
	if slices.ContainsFunc(all, func(one windows.Route) bool { return windows.Same(one.Via, via) }) {
		return true, nil
	}
	for _, old := range all {
		if err := r.machine.RemoveRoute(index, to, old.Via); err != nil {
			return false, err
		}
	}
	return false, nil
}

// dns compares the servers of each family: those of a family without a wanted one stay.
func (r *run) dns(index int, wanted []string) error {
	have, err := r.machine.DNSServers(index)
	if err != nil {
		return err
	}
	for _, six := range []bool{false, true} {
		other := func(one string) bool { return windows.IPv6(one) != six }
		some := slices.DeleteFunc(slices.Clone(wanted), other)
		if len(some) > 0 && !slices.EqualFunc(slices.DeleteFunc(slices.Clone(have), other), some, windows.Same) {
			return r.machine.SetDNSServers(index, wanted)
		}
	}
	return nil
}

// route sends destinations the way of the default route, wherever a vSwitch has moved it.
func (r *run) route(step *plan.Route) error {
	best, err := r.defaultRoute()
	if err != nil {
		return err
	}
	for _, to := range texts(step.Destinations) {
		if err := r.routeOnce(best.Index, to, best.Via); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) defaultRoute() (windows.Route, error) {
	all, err := r.machine.NetRoutes("0.0.0.0/0")
	if err != nil {
		return windows.Route{}, err
	}
	if len(all) == 0 {
		return windows.Route{}, failf("there is no default route")
	}
	return slices.MinFunc(all, func(a, b windows.Route) int { return a.Cost - b.Cost }), nil
}

func (r *run) hasAddress(address string) (bool, error) {
	all, err := r.machine.NetAddresses()
	return slices.ContainsFunc(all, func(one windows.Address) bool {
		text, _, _ := strings.Cut(one.Address, "/")
		return windows.Same(text, address) && usable(one)
	}), err
}
