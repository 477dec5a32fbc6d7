package windows

import (
	"slices"
	"strings"
)

// siteLocal are the servers that Windows lists where none is set for IPv6.
var siteLocal = []string{"fec0:0:0:ffff::1", "fec0:0:0:ffff::2", "fec0:0:0:ffff::3"}

// DNSServers are those of an interface, which has a list for each family: first those with IPv4 addresses.
func (m *Machine) DNSServers(index int) ([]string, error) {
	return ask(m, "Get-DnsClientServerAddress", func() ([]string, error) {
		four, six := families(m.state.DNS[index])
		if len(six) == 0 {
			six = siteLocal
		}
		return slices.Concat(four, six), m.interfaceOf(index)
	})
}

// SetDNSServers replaces those of an interface. Servers of one family leave those of the other.
func (m *Machine) SetDNSServers(index int, servers []string) error {
	return m.through("Set-DnsClientServerAddress", func() error {
		if err := m.interfaceOf(index); err != nil {
			return err
		}
		four, six := families(servers)
		oldFour, oldSix := families(m.state.DNS[index])
		if len(four) == 0 {
			four = oldFour
		}
		if len(six) == 0 {
			six = oldSix
		}
		m.state.DNS[index] = slices.Concat(four, six)
		return m.changed("dns.set %d %s", index, strings.Join(servers, ","))
	})
}

func families(addresses []string) (four, six []string) {
	return without(addresses, IPv6), without(addresses, func(one string) bool { return !IPv6(one) })
}
