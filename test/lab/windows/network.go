package windows

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// without is a list without some of its items, which stay in the list itself.
func without[V any](list []V, drop func(V) bool) []V {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// AddAddress adds an address with its prefix length.
func (m *Machine) AddAddress(index int, address string) error {
	return m.through("New-NetIPAddress", func() error {
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
	refused := m.enter("Remove-NetIPAddress")
	m.state.Addresses = slices.DeleteFunc(m.state.Addresses, func(a Address) bool {
		return a.Index == index && a.has(address) && (refused == nil || a.Origin == "Dhcp")
	})
	if refused != nil {
		return refused
	}
	return m.changed("address.remove %d %s", index, address)
}

// NetRoutes lists the routes to a destination.
func (m *Machine) NetRoutes(to string) ([]Route, error) {
	return ask(m, "Get-NetRoute", func() ([]Route, error) {
		return without(m.state.Routes, func(r Route) bool { return !strings.EqualFold(r.To, to) }), nil
	})
}

// AddRoute adds a route.
func (m *Machine) AddRoute(index int, to, via string) error {
	return m.through("New-NetRoute", func() error {
		m.state.Routes = append(m.state.Routes, Route{Index: index, To: to, Via: via})
		return m.changed("route.add %d %s %s", index, to, via)
	})
}

// RemoveRoute removes a route.
func (m *Machine) RemoveRoute(index int, to, via string) error {
	return m.through("Remove-NetRoute", func() error {
		m.state.Routes = slices.DeleteFunc(m.state.Routes, func(r Route) bool { return r.Index == index && r.To == to && r.Via == via })
		return m.changed("route.remove %d %s %s", index, to, via)
	})
}

// HNSCall is the host network service: GET, POST and DELETE of /networks, /endpoints and /policylists, with JSON both ways, and
// POST of /endpoints/ID/attach, which gives the host the endpoint's address.
func (m *Machine) HNSCall(method, path, body string) ([]map[string]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Send-HnsCall"); err != nil {
		return nil, err
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch method {
	case "GET":
	case "DELETE":
		m.remove(func(item map[string]any) bool { return item["ID"] == id })
	case "POST":
		if code := m.post(kind, id, body); code != "" {
			return nil, fmt.Errorf("HNS %s %s: %s", method, path, code)
		}
	default:
		return nil, fmt.Errorf("HNS %s %s: 0x80070057", method, path)
	}
	items := without(m.state.HNS, func(item map[string]any) bool { return item["kind"] != kind })
	if method == "GET" {
		return items, nil
	}
	return items, m.changed("hns %s %s %s", method, path, body)
}

// post makes an item or attaches the host to one, or tells the code with which HNS refuses that.
func (m *Machine) post(kind, id, body string) string {
	item := map[string]any{}
	if json.Unmarshal([]byte(body), &item) != nil {
		return "0x80070057"
	}
	if id != "" {
		return m.attach(strings.TrimSuffix(id, "/attach"))
	}
	if kind == "networks" {
		if code := m.place(item); code != "" {
			return code
		}
	}
	m.state.NextID++
	item["ID"], item["kind"] = "id-"+strconv.Itoa(m.state.NextID), kind
	if kind == "endpoints" {
		item["IPAddress"] = fmt.Sprintf("192.0.2.%d", m.state.NextID)
	}
	m.state.HNS = append(m.state.HNS, item)
	return ""
}

// hostEndpoint is the interface of all endpoints that the host is attached to.
const hostEndpoint = 1000

func (m *Machine) attach(id string) string {
	at := slices.IndexFunc(m.state.HNS, func(item map[string]any) bool { return item["ID"] == id && item["kind"] == "endpoints" })
	if at < 0 {
		return "0x803b0002" // HCN_E_ENDPOINT_NOT_FOUND
	}
	address := fmt.Sprint(m.state.HNS[at]["IPAddress"]) + "/32"
	m.state.Addresses = append(m.state.Addresses, Address{Index: hostEndpoint, Address: address, Origin: "Manual"})
	return ""
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
