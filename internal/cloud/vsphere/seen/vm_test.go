package seen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

func TestDescribe(t *testing.T) {
	m := cloud.Machine{Identity: cloud.Identity{Name: "pool-abc"}}
	names := []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: "pool-abc"}, {Type: clusterv1.MachineInternalDNS, Address: "pool-abc"},
	}
	ip := func(all ...string) []clusterv1.MachineAddress {
		want := append([]clusterv1.MachineAddress{}, names...)
		for _, a := range all {
			want = append(want, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: a})
		}
		return want
	}
	for name, c := range map[string]struct {
		s    VM
		ran  bool
		want cloud.VM
	}{
		"made": {
			VM{Power: "poweredOff"},
			false,
			cloud.VM{State: cloud.Creating, Detail: "made, but not yet switched on", Addresses: names},
		},
		"runs": {VM{Power: "poweredOn", Report: "r"}, false, cloud.VM{State: cloud.Running, Addresses: names, Report: "r"}},
		"cut off": {
			VM{Power: "poweredOn", Connection: "disconnected"},
			true,
			cloud.VM{
				State: cloud.Running, Addresses: names,
				Detail: "the vCenter cannot reach the VM (disconnected): bring its host or datastore back",
			},
		},
		"connected": {VM{Power: "poweredOn", Connection: "connected"}, true, cloud.VM{State: cloud.Running, Addresses: names}},
		"off":       {VM{Power: "poweredOff"}, true, cloud.VM{State: cloud.Stopped, Detail: "switched off", Addresses: names}},
		"suspended": {
			VM{Power: "suspended"},
			true,
			cloud.VM{State: cloud.Stopped, Detail: "suspended in the vCenter", Addresses: names},
		},
		"addresses once, the main one first, none of the link": {
			VM{Power: "poweredOn", Address: "10.0.0.2", NICs: []string{
				"fe80::1", "10.0.0.1", "10.0.0.2", "127.0.0.1",
				"169.254.3.4", "2001:db8::1", "nonsense", "0.0.0.0", "2001:db8::2%any text", "::ffff:10.0.0.2",
			}}, true, cloud.VM{State: cloud.Running, Addresses: ip("10.0.0.2", "10.0.0.1", "2001:db8::1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Owner, c.s.ProviderID = m.Key.String(), m.ProviderID
			got := Describe(m, &c.s, c.ran)
			got.AfterJoin = "" // TestUnaddressed
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnaddressed: VMware Tools that report nothing but addresses of the link report none.
func TestUnaddressed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    VM
		says bool
	}{
		"hidden":             {VM{}, true},
		"an address":         {VM{NICs: []string{"10.0.0.1"}}, false},
		"the main one alone": {VM{Address: "10.0.0.1"}, false},
		"without DHCP":       {VM{NICs: []string{"169.254.3.4", "fe80::1"}}, true},
	} {
		c.s.Power = types.VirtualMachinePowerStatePoweredOn
		told := Describe(cloud.Machine{}, &c.s, true)
		if says := strings.HasPrefix(told.AfterJoin, "VMware Tools report no address of the VM"); says != c.says {
			t.Errorf("%s: %q", name, told.AfterJoin)
		}
	}
}

func TestBelongsTo(t *testing.T) {
	m := machines.VSphere("m")
	ours := VM{Name: m.Name, ID: IDOf(m), Owner: "default/m", ProviderID: m.ProviderID}
	for name, c := range map[string]struct {
		change func(*VM)
		want   bool
	}{
		"ours":                              {func(*VM) {}, true},
		"renamed by somebody":               {func(s *VM) { s.Name = "old" }, true},
		"vCenter gave it another id":        {func(s *VM) { s.ID = "another" }, false},
		"a clone of ours, marks and all":    {func(s *VM) { s.Name, s.ID = "copy", "another" }, false},
		"no marks":                          {func(s *VM) { s.Owner, s.ProviderID = "", "" }, false},
		"of an older machine of that name":  {func(s *VM) { s.ProviderID = "vsphere://older" }, false},
		"of a machine in another namespace": {func(s *VM) { s.Owner = "other/m" }, false},
		"vCenter knows nothing but a name":  {func(s *VM) { *s = VM{Name: m.Name} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := ours
			c.change(&s)
			if got := s.BelongsTo(m); got != c.want {
				t.Errorf("belongsTo = %v, want %v", got, c.want)
			}
		})
	}
}

// TestReached: a VM is reached if it can be read and is connected. What a vCenter says instead is cut.
func TestReached(t *testing.T) {
	t.Parallel()
	long := types.VirtualMachineConnectionState(strings.Repeat("x", 33))
	for _, c := range []struct {
		id    string
		state types.VirtualMachineConnectionState
		says  string
	}{
		{"x", types.VirtualMachineConnectionStateConnected, ""},
		{"", types.VirtualMachineConnectionStateConnected, "(connected)"},
		{"x", types.VirtualMachineConnectionStateOrphaned, "(orphaned)"},
		{"x", long[1:], "(" + string(long[1:]) + ")"},
		{"x", long, "(" + string(long[4:]) + "...)"},
	} {
		expect.Says(t, "a VM that is "+string(c.state), Reached(&VM{ID: c.id, Connection: c.state}), c.says)
	}
}

// TestLongTexts: a name and a mark are kept up to the last byte that they may have. A longer one counts as none.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for path, kept := range map[string]func(*VM) string{
		"name":                      func(s *VM) string { return s.Name },
		"config.instanceUuid":       func(s *VM) string { return s.ID },
		"guest.ipAddress":           func(s *VM) string { return s.Address },
		ExtraConfig(MarkOwner):      func(s *VM) string { return s.Owner },
		ExtraConfig(MarkProviderID): func(s *VM) string { return s.ProviderID },
		ExtraConfig(MarkCluster):    func(s *VM) string { return s.Cluster },
		"runtime.powerState":        func(s *VM) string { return string(s.Power) },
		"runtime.connectionState":   func(s *VM) string { return string(s.Connection) },
		"guest.net":                 func(s *VM) string { return s.NICs[0] },
	} {
		limit := 512
		if path == "name" {
			limit = 320
		}
		for length, want := range map[int]int{limit: limit, limit + 1: 0} {
			text := strings.Repeat("x", length)
			value := map[string]any{
				"runtime.powerState":      types.VirtualMachinePowerState(text),
				"runtime.connectionState": types.VirtualMachineConnectionState(text),
				"guest.net":               types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{IpAddress: []string{text}}}},
			}[path]
			switch {
			case strings.HasPrefix(path, "config.extraConfig"):
				value = markedAs(text)
			case value == nil:
				value = text
			}
			var s VM
			s.Set(path, value)
			expect.Same(t, fmt.Sprint("bytes kept of ", length, " of ", path), want, len(kept(&s)))
		}
	}
}

// TestOption: what is no option has no text.
func TestOption(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"none": {nil, ""}, "a text": {"x", ""}, "an option": {markedAs("x"), "x"}, "a number": {types.OptionValue{Value: 1}, ""},
	} {
		expect.Same(t, name, c.want, option(c.value))
	}
}

func markedAs(value string) types.OptionValue { return types.OptionValue{Value: value} }

// TestReportKey: what a node reports is read where it writes.
func TestReportKey(t *testing.T) {
	t.Parallel()
	expect.Same(t, "where a node reports", bootstrap.GuestInfoReportKey, ReportKey)
}
