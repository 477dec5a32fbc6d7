package windows

import (
	"slices"
	"strings"
)

// DNSServers are those of an interface, which has a list for each family: first those with IPv4 addresses.
func (m *Machine) DNSServers(index int) ([]string, error) {
	return ask(m, "Get-DnsClientServerAddress", func() ([]string, error) {
		four, six := families(m.state.DNS[index])
		return slices.Concat(four, six), nil
	})
}

// SetDNSServers replaces those of an interface. Servers of one family leave those of the other.
func (m *Machine) SetDNSServers(index int, servers []string) error {
	return m.through("Set-DnsClientServerAddress", func() error {
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
