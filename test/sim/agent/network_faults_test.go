package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
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
		{"network-overlay-calico", "26100", 1742, ""},
		{"network-overlay-flannel", "26100", 6899, ""},
		{"network-l2bridge-calico", "26100", 1742, ""},
		{"network-l2bridge-calico", "17763", 1, ""},
		{"network-l2bridge-dual-stack", "17763", 1553, "WindowsPatchLevelTooLow"},
		{"network-l2bridge-dual-stack", "17763", 1554, ""},
		{"network-l2bridge-all-fields", "17763", 1, ""}, // no DSR
		{"network-azure-l2bridge-dual-stack", "17763", 9999, "WindowsNotSupported"},
		{"network-azure-l2bridge-dual-stack", "20348", 1, ""},
		{"network-azure-l2bridge-azurecni-kube-proxy", "17763", 9999, ""},
		{"network-overlay-flannel-kube-proxy", "16299", 9999, "WindowsNotSupported"},
	} {
		v := networkWorld(mustRead(t, test.golden))
		v.World.Facts = map[string]string{"osBuild": test.build}
		v.World.Registry[windows.VersionKey] = map[string]any{"UBR": test.update}
		s := newStage(t, v)
		before := s.networkFacts()
		s.cniComes(v.Plan)
		s.live()
		report := s.end()
		const overlay2025 = "windows-2025-update-for-overlay: Windows has build 26100.1742"
		warned := slices.ContainsFunc(report.Warnings, func(w string) bool { return strings.HasPrefix(w, overlay2025) })
		if old := test.build == "26100" && test.update < 6899 && strings.Contains(test.golden, "overlay"); warned != old {
			t.Errorf("%s on %s.%v: warnings %v", test.golden, test.build, test.update, report.Warnings)
		}
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
	expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
		facts = asJSON(s.t, []any{state.HNS, state.Firewall, state.DynamicPorts})
	}))
	return facts
}

// Each step of the network fails for a reason of its own.
func TestNetworkReasons(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ door, golden, reason string }{
		{"Send-HnsCall", "network-overlay-calico", "StaleNetworksNotRemoved"},
		{"mpssvc", "network-overlay-calico", "NetworkSettingsFailed"},
		{"New-NetRoute", "network-azure-l2bridge-flannel", "NetworkNotReady"},
		{`C:\k\kubectl.exe`, "network-l2bridge-flannel", "PodCidrMissing"},
		{"New-NetIPAddress", "network-none-static", "AddressesNotSet"},
	} {
		v := networkWorld(mustRead(t, test.golden))
		switch {
		case test.door == "mpssvc":
			v.World.Services["mpssvc"] = &windows.Service{State: windows.Stopped}
		case strings.HasSuffix(test.door, ".exe"):
			v.World.Commands = slices.DeleteFunc(v.World.Commands, func(c *command) bool { return c.Argv[0] == test.door })
			v.World.Commands = append(v.World.Commands, registered(), &command{Argv: []string{test.door}, Out: "[]"})
		default:
			v.World.Throws = map[string]string{test.door: "broken here"}
		}
		if report := lived(t, v).end(); report.Reason != test.reason {
			t.Errorf("%s fails in %s: %q %s, want %s", test.door, test.golden, report.Reason, report.Message, test.reason)
		}
	}
	v := networkWorld(mustRead(t, "network-l2bridge-flannel"))
	v.World.ManagementIP = ""
	if report := lived(t, v).end(); report.Reason != "NetworkNotReady" {
		t.Errorf("no address: %q %s", report.Reason, report.Message)
	}
}

// Where the spec declares no adapters, HNS would take any: the node names the one of the default route.
func TestVSwitchOnTheDefaultRoute(t *testing.T) {
	t.Parallel()
	for golden, network := range map[string]string{
		"network-l2bridge-flannel": "External", "network-azure-l2bridge-flannel": "External",
		"network-azure-l2bridge-azurecni": "ext",
	} {
		v := networkWorld(mustRead(t, golden))
		v.World.Adapters = append(v.World.Adapters, worldAdapter{Index: 15, MAC: "00-50-56-00-00-03", Name: "Ethernet2"})
		v.World.Addresses = append(v.World.Addresses, worldAddress{Index: 15, Address: "10.7.0.5/24", Origin: "Dhcp"})
		s := lived(t, v)
		s.mustSucceed()
		at := -1
		expect.OK(t, s.Machine.Setup(func(state *windows.State) {
			at = slices.IndexFunc(state.HNS, func(item map[string]any) bool {
				return item["Name"] == network && item["NetworkAdapterName"] == "Ethernet0 2" && item["ManagementIP"] == "10.0.0.5"
			})
		}))
		if at < 0 {
			t.Errorf("%s: %s is not on the adapter of the default route:\n%s", golden, network, s.networkEnd())
		}
	}
}

// A CNI whose daemon does not come leaves a warning, not a failed bootstrap: the node is not Ready either.
func TestCNIDoesNotCome(t *testing.T) {
	t.Parallel()
	v := networkWorld(mustRead(t, "network-azure-overlay-calico"))
	report := lived(t, v).end()
	warned := len(report.Warnings) == 1 && strings.HasPrefix(report.Warnings[0], "cni-vswitch: HNS network External")
	if report.State != plan.StateSucceeded || !warned {
		t.Errorf("%s, warnings %q", report.State, report.Warnings)
	}
}

// A node without the plug-ins that nobody brings later says so before it joins.
func TestCNIProgramIsMissing(t *testing.T) {
	t.Parallel()
	for golden, program := range map[string]string{
		"network-l2bridge-flannel": "flannel", "network-overlay-flannel": "win-overlay",
		"network-azure-l2bridge-flannel": "win-bridge", "network-azure-overlay-flannel": "host-local",
		"network-azure-l2bridge-azurecni": "azure-vnet-ipam", "network-azure-l2bridge-dual-stack": "azure-vnet-ipamv6",
	} {
		v := networkWorld(mustRead(t, golden))
		path := `C:\opt\cni\bin\` + program + ".exe"
		delete(v.World.Files, path)
		s := lived(t, v)
		report := s.end()
		if report.Reason != "CniProgramMissing" || !strings.HasPrefix(report.Message, path) || report.Phase.Name != "kubelet" {
			t.Errorf("%s without %s: %s in %s: %s", golden, program, report.Reason, report.Phase.Name, report.Message)
		}
	}
}
