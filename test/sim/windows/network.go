package windows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Adapter is a network adapter with its IP interface.
type Adapter struct {
	Index   int    `json:"index"`
	MAC     string `json:"mac"`
	Name    string `json:"name"`
	Virtual bool   `json:"virtual,omitempty"`
	// Hidden is one that is no longer present. It keeps its name.
	Hidden bool `json:"hidden,omitempty"`
	// DHCP and MTU are IPv4's, the others IPv6's: each family has an interface of its own. No network here has DHCPv6, but Windows
	// asks for it.
	DHCP  bool `json:"dhcp"`
	MTU   int  `json:"mtu"`
	DHCP6 bool `json:"dhcp6,omitempty"`
	MTU6  int  `json:"mtu6,omitempty"`
}

// Interface is what a family of an adapter has.
type Interface struct {
	DHCP bool
	MTU  int
}

const (
	familyIPv6 = "IPv6"
	usualMTU   = 1500
)

// Address is an address of an interface. It is Preferred from the time Preferred on.
type Address struct {
	Index     int       `json:"index"`
	Address   string    `json:"address"`
	Origin    string    `json:"origin"`
	Preferred time.Time `json:"preferred,omitzero"`
}

// has says whether it is this address, given without a prefix length. Windows ignores the case of digits.
func (a Address) has(text string) bool {
	have, _, _ := strings.Cut(a.Address, "/")
	return strings.EqualFold(have, text)
}

// IPv6 says to which family an address belongs.
func IPv6(address string) bool { return strings.Contains(address, ":") }

// Route is a route of an interface. Cost is the sum of its metric and the interface's.
type Route struct {
	Index int    `json:"index"`
	To    string `json:"to"`
	Via   string `json:"via"`
	Cost  int    `json:"cost"`
}

// NetAdapters lists the adapters that are present.
func (m *Machine) NetAdapters() ([]Adapter, error) {
	return ask(m, "Get-NetAdapter", func() ([]Adapter, error) {
		return without(m.state.Adapters, func(a Adapter) bool { return a.Hidden }), nil
	})
}

// NetAdapterNamed lists the adapters of a name, also one that is no longer present.
func (m *Machine) NetAdapterNamed(name string) ([]Adapter, error) {
	return ask(m, "Get-NetAdapter", func() ([]Adapter, error) {
		return without(m.state.Adapters, func(a Adapter) bool { return !strings.EqualFold(a.Name, name) }), nil
	})
}

// objectExists is what Rename-NetAdapter says of a name that another adapter has, also one that is no longer present: people
// who replaced an adapter read it until they removed the old one from the hidden devices.
const objectExists = "{Object Exists} An attempt was made to create an object and the object name already existed."

// RenameAdapter gives an adapter a name that no other has.
func (m *Machine) RenameAdapter(index int, name string) error {
	return m.through("Rename-NetAdapter", func() error {
		for _, other := range m.state.Adapters {
			if other.Index != index && strings.EqualFold(other.Name, name) {
				return errors.New(objectExists) //nolint:staticcheck // Windows ends it with a full stop
			}
		}
		adapter, err := m.adapter(index)
		if err != nil {
			return err
		}
		adapter.Name = name
		return m.changed("adapter.rename %d %s", index, name)
	})
}

// SetDHCP turns DHCP off for a family of an interface.
func (m *Machine) SetDHCP(index int, family string) error {
	return m.setInterface(index, func(a *Adapter) {
		if family == familyIPv6 {
			a.DHCP6 = false
			return
		}
		a.DHCP = false
	}, "interface.dhcp %d %s Disabled", index, family)
}

// SetMTU sets the largest packet of an interface.
func (m *Machine) SetMTU(index int, family string, mtu int) error {
	return m.setInterface(index, func(a *Adapter) {
		if family == familyIPv6 {
			a.MTU6 = mtu
			return
		}
		a.MTU = mtu
	}, "interface.mtu %d %s %d", index, family, mtu)
}

func (m *Machine) setInterface(index int, set func(*Adapter), effect string, args ...any) error {
	return m.through("Set-NetIPInterface", func() error {
		adapter, err := m.adapter(index)
		if err != nil {
			return err
		}
		set(adapter)
		return m.changed(effect, args...)
	})
}

func (m *Machine) adapter(index int) (*Adapter, error) {
	at := slices.IndexFunc(m.state.Adapters, func(a Adapter) bool { return a.Index == index })
	if at < 0 {
		return nil, fmt.Errorf("no interface has the index %d", index)
	}
	return &m.state.Adapters[at], nil
}

// NetInterface is a family's interface of an adapter as it is now.
func (m *Machine) NetInterface(index int, family string) (Interface, error) {
	return ask(m, "Get-NetIPInterface", func() (Interface, error) {
		adapter, err := m.adapter(index)
		if err != nil {
			return Interface{}, err
		}
		if family == familyIPv6 {
			return Interface{DHCP: adapter.DHCP6, MTU: cmp.Or(adapter.MTU6, usualMTU)}, nil
		}
		return Interface{DHCP: adapter.DHCP, MTU: adapter.MTU}, nil
	})
}

// AllAddresses lists the addresses, also those that cannot be used yet.
func (m *Machine) AllAddresses() ([]Address, error) {
	return ask(m, "Get-NetIPAddress", func() ([]Address, error) { return slices.Clone(m.state.Addresses), nil })
}

// NetAddresses lists the addresses that can be used now.
func (m *Machine) NetAddresses() ([]Address, error) {
	return ask(m, "Get-NetIPAddress", func() ([]Address, error) {
		return without(m.state.Addresses, func(a Address) bool { return m.Clock.Now().Before(a.Preferred) }), nil
	})
}

// Addressed is an adapter with the addresses that can be used now, without their prefix lengths.
type Addressed struct {
	Adapter
	Addresses []string
}

// AddressedAdapters are those that have addresses, in the order of their numbers. They are what programs ask Windows for that are
// no PowerShell: no door is passed.
func (m *Machine) AddressedAdapters() []Addressed {
	return held(m, func() (all []Addressed) {
		for _, adapter := range m.state.Adapters {
			one := Addressed{Adapter: adapter}
			for _, address := range m.state.Addresses {
				if address.Index == adapter.Index && !m.Clock.Now().Before(address.Preferred) {
					text, _, _ := strings.Cut(address.Address, "/")
					one.Addresses = append(one.Addresses, text)
				}
			}
			if !adapter.Hidden && len(one.Addresses) > 0 {
				all = append(all, one)
			}
		}
		slices.SortStableFunc(all, func(a, b Addressed) int { return a.Index - b.Index })
		return all
	})
}

// without is a list without some of its items, which stay in the list itself.
func without[V any](list []V, drop func(V) bool) []V {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// OpenPipe and ClosePipe are for programs that listen on a named pipe.
func (m *Machine) OpenPipe(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.volatile.pipes[strings.ToLower(name)] = true
}

// ClosePipe ends what OpenPipe began.
func (m *Machine) ClosePipe(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.volatile.pipes, strings.ToLower(name))
}

// PipeAnswers says whether a program listens on the pipe.
func (m *Machine) PipeAnswers(name string) (bool, error) {
	return ask(m, "Test-Pipe", func() (bool, error) { return m.volatile.pipes[strings.ToLower(name)], nil })
}

// routeTool is route.exe; played is `route print 0.0.0.0`, in German.
func routeTool(_ context.Context, call *Call) int {
	if len(call.Argv) != 3 || !strings.EqualFold(call.Argv[1], "print") || call.Argv[2] != "0.0.0.0" {
		return call.Fail("the lab's route.exe only prints the default routes")
	}
	routes, err := call.Machine.NetRoutes("0.0.0.0/0")
	addresses, failed := call.Machine.NetAddresses()
	if err := errors.Join(err, failed); err != nil {
		return call.Fail("%v", err)
	}
	call.Print("\r\nIPv4-Routentabelle\r\nAktive Routen:\r\n     Netzwerkziel    Netzwerkmaske          Gateway    " +
		"Schnittstelle Metrik\r\n")
	for _, route := range routes {
		for _, address := range addresses {
			if own, _, _ := strings.Cut(address.Address, "/"); address.Index == route.Index && !IPv6(own) {
				call.Print("          0.0.0.0          0.0.0.0 %16s %16s %6d\r\n", route.Via, own, route.Cost)
			}
		}
	}
	call.Print("Ständige Routen:\r\n  Keine\r\n")
	return 0
}
