package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// vSwitchPlans are those of which we make the vSwitch ourselves.
var vSwitchPlans = []string{"network-l2bridge-flannel", "network-azure-l2bridge-flannel", "network-azure-l2bridge-azurecni"}

// madeUpAddress is what an adapter has until DHCP gives it another.
var madeUpAddress = worldAddress{Index: 9, Address: "169.254.7.9/16", Origin: "WellKnown"}

// DHCP answers 30 s after the start, at the first one and at a later one: HNS keeps the address that it finds, so no vSwitch is
// made before.
func TestLeaseComesLate(t *testing.T) {
	t.Parallel()
	for _, golden := range vSwitchPlans {
		t.Run(golden, func(t *testing.T) {
			t.Parallel()
			v := networkWorld(mustRead(t, golden))
			v.World.Adapters = v.World.Adapters[:1]
			lease := worldAddress{Index: 9, Address: "10.0.0.5/24", Origin: "Dhcp", After: 30}
			v.World.Addresses = []worldAddress{madeUpAddress, lease}
			s := newStage(t, v)
			s.cniComes(v.Plan)
			s.live()
			s.mustSucceed()
			s.mustReachItself("10.0.0.5")
			s.loseVSwitch()
			expect.OK(t, s.Machine.Setup(func(state *windows.State) {
				for i := range state.Addresses {
					if state.Addresses[i].Origin == "Dhcp" {
						state.Addresses[i].Preferred = s.Clock.Now().Add(30 * time.Second)
					}
				}
			}))
			s.startWith("10.0.0.5")
			s.mustReachItself("10.0.0.5")
		})
	}
}

// loseVSwitch removes all networks of HNS, and with the last one the vSwitch.
func (s *stage) loseVSwitch() {
	s.t.Helper()
	for _, item := range expect.Got(s.Machine.HNSCall("GET", "/networks", ""))(s.t) {
		expect.Got(s.Machine.HNSCall("DELETE", "/networks/"+item["ID"].(string), ""))(s.t)
	}
}

// mustReachItself: the networks of ours and the kubelet have the address.
func (s *stage) mustReachItself(address string) {
	s.t.Helper()
	ours := false
	for _, item := range expect.Got(s.Machine.HNSCall("GET", "/networks", ""))(s.t) {
		if item["NetworkAdapterName"] != nil {
			expect.Same(s.t, "the management address of "+text(item, "Name"), address, text(item, "ManagementIP"))
			ours = true
		}
	}
	if command := s.kubeletCommand(); !ours || !strings.HasSuffix(command, "--node-ip="+address) {
		s.t.Errorf("a network of ours is there: %t, the kubelet is %s", ours, command)
	}
}

// DHCP never answers: no vSwitch, no kubelet with an address that nobody reaches, and the reason.
func TestLeaseNeverComes(t *testing.T) {
	t.Parallel()
	for _, golden := range vSwitchPlans {
		v := networkWorld(mustRead(t, golden))
		v.World.Adapters = v.World.Adapters[:1]
		v.World.ManagementIP, v.World.Routes, v.World.Addresses = "169.254.7.9", nil, []worldAddress{madeUpAddress}
		s := lived(t, v)
		report := s.end()
		if report.State != plan.StateFailed || report.Reason != "AddressMissing" || report.Step != "external-network" {
			t.Errorf("%s: %s at %s: %q %s", golden, report.State, report.Step, report.Reason, report.Message)
		}
		made := func(effect string) bool { return strings.HasPrefix(effect, "hns POST /networks") }
		if slices.ContainsFunc(s.Effects, made) {
			t.Errorf("%s: a network was made", golden)
		}
	}
}

// A persistent route does not make the address of an adapter without a lease the node's.
func TestMadeUpAddressIsNotTheNodes(t *testing.T) {
	t.Parallel()
	v := networkWorld(mustRead(t, "network-none"))
	v.World.Addresses = []worldAddress{madeUpAddress}
	if report := lived(t, v).end(); report.Reason != "NetworkNotReady" || report.Step != "node-address" {
		t.Errorf("%s at %s: %q %s", report.State, report.Step, report.Reason, report.Message)
	}
	v = networkWorld(mustRead(t, "network-none"))
	v.World.Addresses = append([]worldAddress{madeUpAddress}, v.World.Addresses...)
	s := lived(t, v)
	s.mustSucceed()
	if command := s.kubeletCommand(); !strings.HasSuffix(command, "--node-ip=10.0.0.5") {
		t.Errorf("the kubelet is %s", command)
	}
}

// Server 2019 forgets the addresses of pools when a vSwitch is made, unless HNS was told before and has started since.
func TestStaticAddressesOn2019(t *testing.T) {
	t.Parallel()
	const setting = `registry.set ` + windows.ServicesKey + `\hns\State DeviceLessNicDisabled DWord 1`
	for build, told := range map[string]bool{"17763": true, "20348": false} {
		v := networkWorld(mustRead(t, "network-l2bridge-flannel-static"))
		v.World.Facts["osBuild"] = build
		s := lived(t, v)
		if report := s.end(); report.State != plan.StateSucceeded {
			t.Fatalf("%s: %s at %s: %q %s", build, report.State, report.Step, report.Reason, report.Message)
		}
		s.mustReachItself("10.0.0.5")
		at := slices.Index(s.Effects, setting)
		if (at >= 0) != told {
			t.Fatalf("%s: HNS was told %t", build, at >= 0)
		}
		restart := slices.Index(s.Effects, `run ["sc.exe","start","hns"]`)
		made := slices.IndexFunc(s.Effects, func(effect string) bool { return strings.HasPrefix(effect, "hns POST /networks") })
		if told && (at > restart || restart > made) {
			t.Errorf("setting, restart and network are the effects %d, %d and %d", at, restart, made)
		}
	}
}
