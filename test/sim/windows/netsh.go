package windows

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PortRange is a dynamic port range.
type PortRange struct{ Start, Count int }

var (
	showPorts = regexp.MustCompile(`^interface (ipv[46]) show dynamicport (tcp|udp)$`)
	showRange = regexp.MustCompile(`^interface ipv4 show addresses name=(.+)$`)
	setPorts  = regexp.MustCompile(`^interface (ipv[46]) set dynamicport (tcp|udp) start=(\d+) num=(\d+)$`)
	// excludedPorts are kept over reboots with store=persistent, which is the default.
	excludedPorts = regexp.MustCompile(`^interface (ipv[46]) (?:show|add) excludedportrange protocol=(tcp|udp)` +
		`(?: startport=(\d+) numberofports=(\d+)(?: store=persistent)?)?$`)
)

func netshTool(_ context.Context, call *Call) int {
	m, line := call.Machine, strings.ToLower(strings.Join(call.Argv[1:], " "))
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := showPorts.FindStringSubmatch(line); found != nil {
		ports := cmp.Or(m.state.DynamicPorts[found[1]+" "+found[2]], PortRange{Start: 49152, Count: 16384})
		call.Print("\nProtocol %s Dynamic Port Range\n---------------------------------", found[2])
		call.Print("Start Port      : %d\nNumber of Ports : %d\n", ports.Start, ports.Count)
		return 0
	}
	if found := showRange.FindStringSubmatch(line); found != nil {
		return m.showRange(call, found[1])
	}
	if found := excludedPorts.FindStringSubmatch(line); found != nil {
		return m.excludePorts(call, found[1]+" "+found[2], found[3], found[4])
	}
	if strings.HasPrefix(line, "advfirewall firewall ") {
		return m.firewallRule(call, line)
	}
	if line == "advfirewall set allprofiles state off" {
		m.state.FirewallOff = true
		return m.kept()
	}
	found := setPorts.FindStringSubmatch(line)
	if found == nil {
		return call.Fail("The following command was not found: %s.", line)
	}
	start, err1 := strconv.Atoi(found[3])
	count, err2 := strconv.Atoi(found[4])
	if err1 != nil || err2 != nil || start < 1025 || count < 255 || start+count > 65536 {
		return call.Fail("The parameter is incorrect.")
	}
	m.state.DynamicPorts[found[1]+" "+found[2]] = PortRange{Start: start, Count: count}
	return m.kept()
}

// excludePorts shows, in German, the ports that Windows gives to nobody who asks for any port, or adds some. One that is in a
// range already cannot be excluded again.
func (m *Machine) excludePorts(call *Call, of, first, count string) int {
	if first == "" {
		call.Print("\r\nPortausschlussbereiche für das Protokoll \"%s\"\r\n\r\nStartport    Endport\r\n----------    --------\r\n", of)
		for _, ports := range m.state.ExcludedPorts[of] {
			call.Print("%10d  %10d     *\r\n", ports.Start, ports.Start+ports.Count-1)
		}
		return 0
	}
	start, err1 := strconv.Atoi(first)
	many, err2 := strconv.Atoi(count)
	if err1 != nil || err2 != nil || start < 1 || many < 1 || start+many > 65536 {
		return call.Fail("The parameter is incorrect.")
	}
	for _, have := range m.state.ExcludedPorts[of] {
		if start < have.Start+have.Count && have.Start < start+many {
			return call.Fail("The process cannot access the file because it is being used by another process.")
		}
	}
	if m.state.ExcludedPorts == nil {
		m.state.ExcludedPorts = map[string][]PortRange{}
	}
	m.state.ExcludedPorts[of] = append(m.state.ExcludedPorts[of], PortRange{Start: start, Count: many})
	return m.kept()
}

var (
	deleteRule = regexp.MustCompile(`^advfirewall firewall delete rule name=(\S+)$`)
	addRule    = regexp.MustCompile(
		`^advfirewall firewall add rule name=(\S+) dir=in action=allow protocol=(tcp|udp) localport=(\S+)$`)
)

// firewallRule is netsh, whose rules may have the same name; here they may not. It needs the firewall's service.
func (m *Machine) firewallRule(call *Call, line string) int {
	if service := m.state.Services["mpssvc"]; service != nil && service.State == Stopped {
		return call.Fail("An error occurred while attempting to contact the Windows Defender Firewall service.")
	}
	if found := deleteRule.FindStringSubmatch(line); found != nil {
		if _, ok := m.state.Firewall[found[1]]; !ok {
			return call.Fail("No rules match the specified criteria.")
		}
		delete(m.state.Firewall, found[1])
		return m.kept()
	}
	found := addRule.FindStringSubmatch(line)
	if len(found) == 0 || m.state.Firewall[found[1]] != "" {
		return call.Fail("The following command was not found, or makes a second rule of a name: %s.", line)
	}
	m.state.Firewall[found[1]] = "capwin " + strings.ToUpper(found[2]) + " " + found[3] + " from Any"
	return m.kept()
}

// showRange prints the addresses of an adapter, in German.
func (m *Machine) showRange(call *Call, name string) int {
	at := slices.IndexFunc(m.state.Adapters, func(a Adapter) bool { return !a.Hidden && strings.EqualFold(a.Name, name) })
	if at < 0 {
		return call.Fail("Die Syntax für den Dateinamen, Verzeichnisnamen oder die Datenträgerbezeichnung ist falsch.")
	}
	adapter := m.state.Adapters[at]
	call.Print("\r\nSchnittstelle \"%s\"\r\n", adapter.Name)
	for _, address := range m.state.Addresses {
		prefix, err := netip.ParsePrefix(address.Address)
		if address.Index == adapter.Index && err == nil && prefix.Addr().Is4() {
			mask := net.IP(net.CIDRMask(prefix.Bits(), 32))
			call.Print("    IP-Adresse:                           %s\r\n", prefix.Addr())
			call.Print("    Subnetzpräfix:                        %s (Maske %s)\r\n", prefix.Masked(), mask)
		}
	}
	return 0
}
