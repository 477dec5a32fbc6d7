package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/cni"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// The disk of a node that was copied: the agent does nothing, at every start, and logs once why. An empty list is no background.
func TestDiskOfAnotherMachine(t *testing.T) {
	t.Parallel()
	for _, background := range []string{`[]`, `[{"name":"later","steps":[{"do":"reboot","name":"r","if":"pending"}]}]`} {
		text := `{"version":1,"machine":{"namespace":"ns","name":"m","uid":"uid-1","node":"win-1","cluster":"c"},"report":[],` +
			`"phases":[],"everyBoot":[{"name":"boot","steps":[{"do":"remove","name":"old","paths":["C:\\k\\old.txt"]}]}],` +
			`"background":` + background + `}`
		of := `{"version":1,"uid":"uid-1","state":"Succeeded","smbios":"SMBIOS-2"}`
		files := map[string]string{Root + `\state.json`: of, `C:\k\old.txt`: "stays"}
		s := lived(t, &vector{Plan: []byte(text), World: world{Files: files, Starts: 1}})
		expect.Same(t, "effects", []string{"boot"}, s.Effects)
		log := string(expect.Got(s.Machine.ReadFile(Root + `\agent.log`))(t))
		if lines := strings.Split(strings.TrimSpace(log), "\n"); len(lines) != 2 {
			t.Errorf("two starts of the agent have logged %q", lines)
		}
	}
}

// What keeps the network of a node from being there is in the last report of the node, which joins all the same.
func TestNetworkFailsInTheBackground(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, golden string
		change       func(s *stage)
		reason, want string
	}{
		{
			"flanneld does not come", "network-overlay-flannel-kube-proxy", func(s *stage) { s.onFlanneld(func() {}) },
			"NetworkNotReady", `flannel-subnet: flanneld has not written C:\run\flannel\subnet.env after 600 s`,
		},
		{
			"subnet.env of another node", "network-overlay-flannel-kube-proxy", func(s *stage) {
				s.onFlanneld(func() { s.put(cni.Subnet, "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.30.1/24\n") })
			},
			"NetworkNotReady",
			`flannel-own-subnet: C:\run\flannel\subnet.env belongs to another node: its subnet is not in the pod CIDR 10.244.3.0/24`,
		},
		{
			"the CNI's folder cannot be written", "network-l2bridge-flannel", func(s *stage) { s.onFlanneld(s.blockFolder) },
			"NodeFilesFailed", "cni-configuration: ",
		},
		{
			"a network of another name", "network-overlay-flannel-kube-proxy", func(s *stage) {
				s.onFlanneld(func() { s.writeSubnet(); s.rename("flannel.5000", "flannel.5001") })
			},
			"NetworkNotReady", "kube-proxy-network: HNS network flannel.5000 has no management address after 600 s",
		},
		{
			"kube-proxy sets no rules", "network-overlay-flannel-kube-proxy", func(s *stage) {
				page := slices.IndexFunc(s.World.Commands, func(c *command) bool {
					return strings.HasSuffix(c.Argv[len(c.Argv)-1], "/metrics")
				})
				s.World.Commands[page].Out = "kubeproxy_sync_proxy_rules_last_timestamp_seconds 0\n"
			},
			"NodeServiceFailed", "kube-proxy-rules: kube-proxy has not set the rules of Services; the end of " +
				`C:\var\log\kube-proxy\kube-proxy.log has the cause`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			golden := mustRead(t, test.golden)
			s := newStage(t, networkWorld(golden))
			s.cniComes(golden)
			test.change(s)
			s.live()
			report := s.end()
			if report.State != plan.StateSucceeded || report.Boot == nil {
				t.Fatalf("%s, boot %+v", report.State, report.Boot)
			}
			boot := *report.Boot
			if boot.State != plan.StateFailed || boot.Reason != test.reason || !strings.HasPrefix(boot.Message, test.want) {
				t.Errorf("boot: %+v, want %s, %s", boot, test.reason, test.want)
			}
		})
	}
}

// onFlanneld has something happen where cniComes has flanneld write its file.
func (s *stage) onFlanneld(do func()) {
	before := s.Machine.Intercept
	s.Machine.Intercept = func(call *windows.Call) windows.Program {
		program := before(call)
		if strings.Join(call.Argv, " ") == startFlanneld {
			expect.OK(s.t, s.Machine.Remove(cni.Subnet))
			do()
		}
		return program
	}
}

func (s *stage) writeSubnet() {
	s.t.Helper()
	s.put(cni.Subnet, "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n")
}

// blockFolder puts a file in the place of the folder that containerd reads.
func (s *stage) blockFolder() {
	s.t.Helper()
	s.writeSubnet()
	expect.OK(s.t, s.Machine.Remove(cni.Folder))
	s.put(cni.Folder, "not a folder")
}

func (s *stage) rename(network, to string) {
	s.t.Helper()
	expect.OK(s.t, s.Machine.Setup(func(state *windows.State) {
		for _, item := range state.HNS {
			if item["Name"] == network {
				item["Name"] = to
			}
		}
	}))
}

// A pod CIDR of another size fails the bootstrap of a node that cannot do with it, with its cause.
func TestPodCIDROfAnotherSize(t *testing.T) {
	t.Parallel()
	for _, golden := range []string{"network-l2bridge-flannel", "network-overlay-flannel-kube-proxy"} {
		v := networkWorld(mustRead(t, golden))
		for _, one := range v.World.Commands {
			one.Out = strings.ReplaceAll(one.Out, "10.244.3.0/24", "10.244.3.128/25")
		}
		report := lived(t, v).end()
		if report.Reason != "PodCidrMissing" || report.Phase.Name != "verify" ||
			!strings.HasSuffix(report.Message, "has no IPv4 pod CIDR of size /24") {
			t.Errorf("%s: %s in %s: %s", golden, report.Reason, report.Phase.Name, report.Message)
		}
	}
}
