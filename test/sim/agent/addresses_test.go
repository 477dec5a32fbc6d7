package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// The adapters of the VM were changed in vCenter: no adapter has the wanted MAC.
func TestAdapterIsMissing(t *testing.T) {
	t.Parallel()
	v := networkWorld(mustRead(t, "network-overlay-flannel-two-adapters"))
	v.World.Adapters = v.World.Adapters[:1]
	report := lived(t, v).end()
	missing := strings.Contains(report.Message, "no adapter has the MAC 005056000002")
	if report.Reason != "AddressesNotSet" || report.Step != "addresses-2" || !missing {
		t.Errorf("%s: %q %s", report.Step, report.Reason, report.Message)
	}
}

// DHCP gives the node another address while it is off: the kubelet gets it at the next start, whoever starts the kubelet. One
// that Windows has started is started again for that, and only for that.
func TestAddressOfTheNodeChanges(t *testing.T) {
	t.Parallel()
	for _, golden := range []string{
		"network-none", "network-transparent", "network-azure-none", "network-overlay-calico",
		"network-overlay-flannel", "network-l2bridge-flannel", "network-azure-l2bridge-azurecni", "network-transparent-antrea",
	} {
		t.Run(golden, func(t *testing.T) {
			t.Parallel()
			v := networkWorld(mustRead(t, golden))
			s := newStage(t, v)
			s.cniComes(v.Plan)
			s.live()
			s.mustSucceed()
			booted := expect.Got(plan.Decode(v.Plan))(t).EveryBoot[0].Steps[0].Base().Name == "kubelet-waits"
			for _, address := range []string{"10.0.0.5", "10.0.0.6", "10.0.0.6"} {
				changes := !strings.HasSuffix(s.kubeletCommand(), "="+address)
				s.startWith(address)
				command := s.kubeletCommand()
				if !strings.HasSuffix(command, " --node-ip="+address) || strings.Count(command, "node-ip") > 1 {
					t.Errorf("with %s the kubelet is %s", address, command)
				}
				if state := expect.Got(s.Machine.ServiceState("kubelet"))(t); state != windows.Running {
					t.Errorf("with %s the kubelet is %s", address, state)
				}
				if restarted := s.Has(`run ["sc.exe","stop","kubelet"]`); !booted && restarted != changes {
					t.Errorf("the address becomes %s: the kubelet was started again %t", address, restarted)
				}
			}
		})
	}
}

// An administrator has changed the kubelet's command line: what does not concern the address stays.
func TestAddressChangesNothingElse(t *testing.T) {
	t.Parallel()
	for _, change := range []struct{ have, want string }{
		{" --v=4 --node-ip=10.0.0.5", " --v=4 --node-ip=10.0.0.6"},
		{"", " --node-ip=10.0.0.6"},
	} {
		v := networkWorld(mustRead(t, "network-none"))
		s := lived(t, v)
		s.mustSucceed()
		first, _, _ := strings.Cut(s.kubeletCommand(), " --node-ip=")
		expect.OK(t, s.Machine.WriteRegistry(windows.ServicesKey+`\kubelet`, "ImagePath", windows.Text(first+change.have)))
		s.startWith("10.0.0.6")
		expect.Same(t, "the command line", first+change.want, s.kubeletCommand())
	}
}

func (s *stage) kubeletCommand() string {
	s.t.Helper()
	value, _, err := s.Machine.ReadRegistry(windows.ServicesKey+`\kubelet`, "ImagePath")
	expect.OK(s.t, err)
	return value.Text
}

// startWith starts the machine once more, after DHCP has given it an address.
func (s *stage) startWith(address string) {
	s.t.Helper()
	s.Machine.ManagementIP = address
	expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
		at := slices.IndexFunc(state.Addresses, func(a windows.Address) bool { return a.Origin == "Dhcp" })
		state.Addresses[at].Address = address + "/24"
		for _, item := range state.HNS {
			if item["ManagementIP"] != nil {
				item["ManagementIP"] = address
			}
		}
	}))
	s.bootAgain()
	s.Effects = nil
	s.start()
	if report := s.end(); report.Boot == nil || report.Boot.State != plan.StateSucceeded || len(report.Warnings) > 0 {
		s.t.Fatalf("boot: %+v %q", report.Boot, report.Warnings)
	}
}
