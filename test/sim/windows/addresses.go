package windows

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// AddAddress adds an address with its prefix length. An interface has each once, whatever its prefix.
func (m *Machine) AddAddress(index int, address string) error {
	return m.through("New-NetIPAddress", func() error {
		if err := m.interfaceOf(index); err != nil {
			return err
		}
		text, _, _ := strings.Cut(address, "/")
		if slices.ContainsFunc(m.state.Addresses, func(a Address) bool { return a.Index == index && a.has(text) }) {
			return errors.New("Instance MSFT_NetIPAddress already exists") //nolint:staticcheck // because Windows says it so
		}
		m.state.Addresses = append(m.state.Addresses, Address{Index: index, Address: address, Origin: "Manual"})
		return m.changed("address.add %d %s", index, address)
	})
}

// RemoveAddress removes an address, given without its prefix length. A lease that cannot be removed has gone by itself.
func (m *Machine) RemoveAddress(index int, address string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := func(a Address) bool { return a.Index == index && a.has(address) }
	if err := m.enter("Remove-NetIPAddress"); err != nil {
		m.state.Addresses = without(m.state.Addresses, func(a Address) bool { return is(a) && a.Origin == "Dhcp" })
		return err
	}
	if !slices.ContainsFunc(m.state.Addresses, is) {
		return notFound("MSFT_NetIPAddress", "IPAddress", address)
	}
	m.state.Addresses = without(m.state.Addresses, is)
	return m.changed("address.remove %d %s", index, address)
}

// interfaceOf fails for an index that no interface has. Machines without adapters have those that routes and addresses name.
func (m *Machine) interfaceOf(index int) error {
	there := slices.ContainsFunc(m.state.Adapters, func(a Adapter) bool { return a.Index == index && !a.Hidden })
	if len(m.state.Adapters) == 0 {
		there = slices.ContainsFunc(m.state.Addresses, func(a Address) bool { return a.Index == index }) ||
			slices.ContainsFunc(m.state.Routes, func(r Route) bool { return r.Index == index })
	}
	if !there {
		return errors.New("Element not found.") //nolint:staticcheck,revive // because Windows says it so
	}
	return nil
}

// notFound is what commands that are made from CIM classes say where nothing has a property that was asked for.
func notFound(class, property, value string) error {
	return fmt.Errorf("no %s objects found with property '%s' equal to '%s'", class, property, value)
}

// NetRoutes lists the routes to a destination.
func (m *Machine) NetRoutes(to string) ([]Route, error) {
	return ask(m, "Get-NetRoute", func() ([]Route, error) {
		return without(m.state.Routes, func(r Route) bool { return !strings.EqualFold(r.To, to) }), nil
	})
}

// AllRoutes lists the routes.
func (m *Machine) AllRoutes() ([]Route, error) {
	return ask(m, "Get-NetRoute", func() ([]Route, error) { return slices.Clone(m.state.Routes), nil })
}

// manualCost is the metric that Windows gives a route without one, 256, and an interface's.
const manualCost = 256 + 10

// AddRoute adds a route.
func (m *Machine) AddRoute(index int, to, via string) error {
	return m.through("New-NetRoute", func() error {
		if err := m.interfaceOf(index); err != nil {
			return err
		}
		if !isPrefix(to) {
			return fmt.Errorf("Invalid parameter DestinationPrefix %s.", to) //nolint:staticcheck,revive // because Windows says it so
		}
		if m.hasRoute(index, to, via) {
			return errors.New("Instance MSFT_NetRoute already exists") //nolint:staticcheck // because Windows says it so
		}
		m.state.Routes = append(m.state.Routes, Route{Index: index, To: to, Via: via, Cost: manualCost})
		return m.changed("route.add %d %s %s", index, to, via)
	})
}

// isPrefix says whether a destination has its form, without bits behind its length.
func isPrefix(to string) bool {
	prefix, err := netip.ParsePrefix(to)
	return err == nil && prefix == prefix.Masked()
}

// RemoveRoute removes a route.
func (m *Machine) RemoveRoute(index int, to, via string) error {
	return m.through("Remove-NetRoute", func() error {
		if !m.hasRoute(index, to, via) {
			return notFound("MSFT_NetRoute", "DestinationPrefix", to)
		}
		m.state.Routes = slices.DeleteFunc(m.state.Routes, func(r Route) bool { return r.is(index, to, via) })
		return m.changed("route.remove %d %s %s", index, to, via)
	})
}

func (m *Machine) hasRoute(index int, to, via string) bool {
	return slices.ContainsFunc(m.state.Routes, func(r Route) bool { return r.is(index, to, via) })
}

func (r Route) is(index int, to, via string) bool {
	return r.Index == index && strings.EqualFold(r.To, to) && strings.EqualFold(r.Via, via)
}
