package windows

import (
	"errors"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The rows of the table in test/upstream/powershell/README.md, as far as Go asks for what they are about: a caller gets an error
// where a command of Windows writes an error record, and an exit code where a program ends with one.
func TestAsStrictAsWindows(t *testing.T) {
	t.Parallel()
	for row, c := range map[string]struct {
		world func(s *State)
		try   func(m *Machine) error
		want  string
	}{
		"acl-missing":       {nil, func(m *Machine) error { return m.Protect(`C:\a`, AdminOnly) }, `cannot find path 'C:\a'`},
		"acl-missing, read": {nil, func(m *Machine) error { return second(m.Access(`C:\a`)) }, "does not exist"},
		"task-missing":      {nil, func(m *Machine) error { return m.DisableTask("none") }, "cannot find the file specified"},
		"addr-there": {withAdapter, func(m *Machine) error {
			return errors.Join(m.AddAddress(3, "10.0.0.5/24"), m.AddAddress(3, "10.0.0.5/16"))
		}, "Instance MSFT_NetIPAddress already exists"},
		"addr-there, elsewhere": {withAdapter, func(m *Machine) error {
			return m.AddAddress(4, "10.0.0.5/24")
		}, "Element not found."},
		"addr-remove": {withAdapter, func(m *Machine) error {
			return m.RemoveAddress(3, "10.0.0.5")
		}, "no MSFT_NetIPAddress objects"},
		"route-there": {withAdapter, func(m *Machine) error {
			return errors.Join(m.AddRoute(3, "10.1.0.0/16", "10.0.0.1"), m.AddRoute(3, "10.1.0.0/16", "10.0.0.1"))
		}, "Instance MSFT_NetRoute already exists"},
		"route-there, elsewhere": {withAdapter, func(m *Machine) error {
			return m.AddRoute(4, "::/0", "fd00::1")
		}, "Element not found."},
		"route-form": {withAdapter, func(m *Machine) error {
			return m.AddRoute(3, "10.1.0.5/16", "10.0.0.1")
		}, "Invalid parameter DestinationPrefix 10.1.0.5/16."},
		"route-missing": {withAdapter, func(m *Machine) error {
			return m.RemoveRoute(3, "::/0", "fd00::1")
		}, "no MSFT_NetRoute objects"},
		"dns-family, elsewhere": {withAdapter, func(m *Machine) error {
			return m.SetDNSServers(4, []string{"10.0.0.2"})
		}, "Element not found."},
		"if-family, elsewhere": {withAdapter, func(m *Machine) error {
			return m.SetDHCP(4, "IPv4")
		}, "no interface has the index 4"},
		"nic-rename": {withGhost, func(m *Machine) error { return m.RenameAdapter(3, "ghost") }, "{Object Exists}"},
		"hns-there": {nil, func(m *Machine) error {
			return errors.Join(
				second(m.HNSCall("POST", "/networks", `{"Name": "a"}`)), second(m.HNSCall("POST", "/networks", `{"Name": "A"}`)))
		}, "0x803b0010"},
		"hns-missing": {nil, func(m *Machine) error {
			return second(m.HNSCall("DELETE", "/networks/none", ""))
		}, "0x803b0001"},
		"hns-missing, endpoints": {nil, func(m *Machine) error {
			return second(m.HNSCall("DELETE", "/endpoints/none", ""))
		}, "0x803b0002"},
		"feature-unknown": {nil, func(m *Machine) error {
			return install(m, "None")
		}, "cannot be the role, role service or feature None"},
		"feature-pending": {restartIsDue, func(m *Machine) error {
			return install(m, "Containers")
		}, "requires a restart"},
		"user-there": {nil, func(m *Machine) error {
			return errors.Join(second(m.AddLocalUser("ops", "p")), second(m.AddLocalUser("OPS", "p")))
		}, "user OPS already exists"},
		"user-there, too long": {nil, func(m *Machine) error {
			return second(m.AddLocalUser(strings.Repeat("a", 21), "p"))
		}, "longer than 20 characters"},
		"group-member": {withUser, func(m *Machine) error {
			return errors.Join(m.AddGroupMember("S-1-5-32-544", "ops"), m.AddGroupMember("S-1-5-32-544", "ops"))
		}, "MemberExists"},
		"group-member, no group": {withUser, func(m *Machine) error {
			return m.AddGroupMember("S-1-5-21-1", "ops")
		}, "group S-1-5-21-1 was not found"},
		"group-member, no user": {withUser, func(m *Machine) error {
			return m.AddGroupMember("S-1-5-32-544", "x")
		}, "principal x was not found"},
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if c.world != nil {
				expect.OK(t, m.Setup(c.world))
			}
			if err := c.try(m); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is %v, want %s", err, c.want)
			}
		})
	}
}

func second[V any](_ V, err error) error { return err }

func withAdapter(s *State) {
	s.Adapters = []Adapter{{Index: 3, Name: "Ethernet", DHCP: true, DHCP6: true, MTU: 1500}}
}

func withGhost(s *State) {
	withAdapter(s)
	s.Adapters = append(s.Adapters, Adapter{Index: 4, Name: "Ghost", Hidden: true})
}

func withUser(s *State) { s.Users["ops"] = &User{SID: "S-1-5-21-1-2-3-1001"} }

func restartIsDue(s *State) {
	s.Features["Containers"] = "Available"
	s.SetValue(restartDue, "", Text(""))
}

func install(m *Machine, name string) error {
	_, _, err := m.InstallFeatures([]string{name})
	return err
}

// file-held: what another holds without sharing it is neither replaced nor deleted, nor is a folder with it.
func TestHeldFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	expect.OK(t, m.Put(`C:\k\a`, []byte("old")))
	release, _ := m.Lock(`C:\K\A`)
	for what, err := range map[string]error{
		"write": m.WriteFile(`C:\k\a`, []byte("new"), ""), "remove": m.Remove(`C:\k\a`), "remove its folder": m.Remove(`C:\k`),
	} {
		if err == nil || !strings.Contains(err.Error(), "used by another process") {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect.Same(t, "the file", "old", string(expect.Got(m.ReadFile(`C:\k\a`))(t)))
	release()
	expect.OK(t, errors.Join(m.WriteFile(`C:\k\a`, []byte("new"), AdminOnlyFile), m.Remove(`C:\k`)))
}

// dns-family and if-family: an interface has servers, DHCP and MTU for each family.
func TestFamiliesOfAnInterface(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	expect.OK(t, m.Setup(withAdapter))
	servers := func() string { return strings.Join(expect.Got(m.DNSServers(3))(t), " ") }
	expect.OK(t, m.SetDNSServers(3, []string{"10.0.0.2"}))
	expect.Same(t, "none of IPv6", "10.0.0.2 fec0:0:0:ffff::1 fec0:0:0:ffff::2 fec0:0:0:ffff::3", servers())
	expect.OK(t, m.SetDNSServers(3, []string{"fd00::2"}))
	expect.Same(t, "IPv4 stays", "10.0.0.2 fd00::2", servers())
	expect.OK(t, errors.Join(m.SetDHCP(3, "IPv4"), m.SetMTU(3, "IPv6", 1400)))
	expect.Same(t, "IPv4", Interface{DHCP: false, MTU: 1500}, expect.Got(m.NetInterface(3, "IPv4"))(t))
	expect.Same(t, "IPv6", Interface{DHCP: true, MTU: 1400}, expect.Got(m.NetInterface(3, "IPv6"))(t))
}

// svc-pending, sc-create, sc-config, sc-start, sc-stop, shutdown-twice: exit codes are errors of Windows.
func TestExitCodesOfServices(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.PaperServices = true
	expect.OK(t, m.Setup(func(s *State) {
		s.Services["starting"] = &Service{State: StartPending, SettlesAfter: 9}
		s.Services["doomed"] = &Service{State: Stopped, Doomed: true}
		for _, name := range []string{"off", "base", "lone", "on-broken"} {
			s.Services[name] = &Service{State: Stopped}
		}
		s.Services["broken"] = &Service{State: Stopped, Broken: true}
		s.SetValue(ServicesKey+`\off`, "Start", DWord(4))
		s.SetValue(ServicesKey+`\lone`, "DependOnService", MultiString("none"))
		s.SetValue(ServicesKey+`\on-broken`, "DependOnService", MultiString("broken"))
	}))
	for _, c := range []struct {
		line string
		want int
	}{
		{"sc.exe start starting", 1056},
		{"sc.exe stop starting", 1061},
		{"sc.exe create doomed binPath= a", 1072},
		{"sc.exe config doomed start= auto", 1072},
		{"sc.exe create base binPath= a", 1073},
		{"sc.exe config none start= auto", 1060},
		{"sc.exe start none", 1060},
		{"sc.exe stop none", 1060},
		{"sc.exe start off", 1058},
		{"sc.exe start lone", 1075},
		{"sc.exe start on-broken", 1068},
		{"sc.exe stop base", 1062},
		{"sc.exe create new binPath= a depend= base", 0},
		{"sc.exe start new", 0},
		{"sc.exe start base", 1056},
		{"sc.exe stop base", 1051},
		{"sc.exe config new start= disabled", 0},
		{"shutdown.exe /r", 0},
		{"shutdown.exe /r", 1190},
	} {
		expect.Same(t, c.line, c.want, run(t, m, strings.Fields(c.line)...).ExitCode)
	}
	for name, want := range map[string]string{
		"ImagePath": "a", "Start": "4", "ObjectName": "LocalSystem", "DependOnService": "base",
	} {
		expect.Same(t, "what config left of "+name, want, expect.Got(m.RegistryText(ServicesKey+`\new`, name))(t))
	}
}
