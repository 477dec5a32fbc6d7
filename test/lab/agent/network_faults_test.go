package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// What no image's name tells, the node finds out itself, before anything is changed.
func TestPatchLevels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		golden, build string
		update        float64
		reason        string // empty: it is fine
	}{
		{"network-overlay-calico", "17763", 378, "WindowsPatchLevelTooLow"},
		{"network-overlay-calico", "17763", 379, ""},
		{"network-overlay-calico", "20348", 1, ""},
		{"network-l2bridge-calico", "17763", 1, ""},
		{"network-l2bridge-dual-stack", "17763", 1553, "WindowsPatchLevelTooLow"},
		{"network-l2bridge-dual-stack", "17763", 1554, ""},
		{"network-l2bridge-all-fields", "17763", 1, ""}, // no DSR
		{"network-azure-l2tunnel-dual-stack", "17763", 9999, "WindowsNotSupported"},
		{"network-azure-l2tunnel-dual-stack", "20348", 1, ""},
		{"network-azure-l2tunnel-azurecni", "17763", 9999, ""},
		{"network-overlay-ovn", "17763", 9999, "WindowsNotSupported"},
		{"network-overlay-ovn", "20348", 680, "WindowsPatchLevelTooLow"},
		{"network-overlay-ovn", "20348", 681, ""},
		{"network-overlay-ovn", "26100", 1, ""},
		{"network-overlay-flannel-kube-proxy", "16299", 9999, "WindowsNotSupported"},
	} {
		v := networkWorld(mustRead(t, test.golden))
		v.World.Facts = map[string]string{"osBuild": test.build}
		v.World.Registry[windows.VersionKey] = map[string]any{"UBR": test.update}
		s := newStage(t, v)
		before := s.networkFacts()
		s.live()
		report := s.end()
		if report.Reason != test.reason {
			t.Errorf("%s on %s.%v: %q %s, want %q", test.golden, test.build, test.update, report.Reason, report.Message, test.reason)
		}
		if test.reason != "" && s.networkFacts() != before {
			t.Errorf("%s on %s.%v: the network was changed before it was refused", test.golden, test.build, test.update)
		}
	}
}

// networkFacts are HNS, ports and firewall.
func (s *stage) networkFacts() string {
	s.t.Helper()
	facts := ""
	expect.OK(s.t, s.machine.Setup(func(state *windows.State) {
		facts = asJSON(s.t, []any{state.HNS, state.Firewall, state.DynamicPorts})
	}))
	return facts
}

// Each step of the network fails for a reason of its own.
func TestNetworkReasons(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ door, golden, reason string }{
		{"Send-HnsCall", "network-overlay-calico", "StaleNetworksNotRemoved"},
		{"New-NetFirewallRule", "network-overlay-ovn", "NetworkSettingsFailed"},
		{"New-NetRoute", "network-azure-overlay-calico", "NetworkNotReady"},
		{`C:\k\kubectl.exe`, "network-overlay-winoverlay", "PodCidrMissing"},
		{"New-NetIPAddress", "network-none-static", "AddressesNotSet"},
	} {
		v := networkWorld(mustRead(t, test.golden))
		if strings.HasSuffix(test.door, ".exe") {
			v.World.Commands = slices.DeleteFunc(v.World.Commands, func(c *command) bool { return c.Argv[0] == test.door })
			v.World.Commands = append(v.World.Commands, registered(), &command{Argv: []string{test.door}, Out: "[]"})
		} else {
			v.World.Throws = map[string]string{test.door: "broken here"}
		}
		if report := lived(t, v).end(); report.Reason != test.reason {
			t.Errorf("%s fails in %s: %q %s, want %s", test.door, test.golden, report.Reason, report.Message, test.reason)
		}
	}
	v := networkWorld(mustRead(t, "network-l2bridge-calico"))
	v.World.ManagementIP = ""
	if report := lived(t, v).end(); report.Reason != "NetworkNotReady" {
		t.Errorf("no address: %q %s", report.Reason, report.Message)
	}
}

// Where the spec declares no adapters, HNS may take one that does not lead to the cluster.
func TestVSwitchOnAnotherAdapter(t *testing.T) {
	t.Parallel()
	for golden, warned := range map[string]bool{
		"network-l2bridge-calico": true, "network-azure-overlay-calico": true,
		"network-l2bridge-all-fields": false, // the spec names the adapter
		"network-overlay-ovn":         false, // the CNI chooses
	} {
		v := networkWorld(mustRead(t, golden))
		v.World.ManagementIP = "10.7.0.5"
		v.World.Addresses = append(v.World.Addresses, worldAddress{Index: 12, Address: "10.7.0.5/24", Origin: "Dhcp"})
		report := lived(t, v).end()
		want := []string{}
		if warned {
			want = append(want, "vswitch-on-default-route: the vSwitch has the address 10.7.0.5, but the default route uses 10.0.0.5")
		}
		if difference := cmp.Diff(want, report.Warnings); report.State != plan.StateSucceeded || difference != "" {
			t.Errorf("%s: %s, warnings (-want +got):\n%s", golden, report.State, difference)
		}
	}
}
