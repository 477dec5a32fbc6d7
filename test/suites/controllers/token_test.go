package controllers

import (
	"slices"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// expiry is when the machine's only token expires.
func expiry(t *testing.T, s world.State) time.Time {
	t.Helper()
	if len(s.Tokens) != 1 {
		t.Fatalf("there are %d tokens", len(s.Tokens))
	}
	return expect.Got(time.Parse(time.RFC3339, string(s.Tokens[0].Data["expiration"])))(t)
}

// TestTokenOfAMachineThatGoes deletes a Machine that a hook of its user holds, while its VM boots.
func TestTokenOfAMachineThatGoes(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	hook := clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/backup"
	m.Core.Annotations = map[string]string{hook: "tester"}
	m.Create(t)
	m.Await(t, "running VM", world.Windows("Ready True Running"), world.Tokens(1))
	m.Delete(t)
	held := m.Await(t, "end of the token", world.Tokens(0), released)
	world.Change(t, s.Client, held.Core, func(machine *clusterv1.Machine) { delete(machine.Annotations, hook) })
	m.Await(t, "end", world.Gone)
}

// TestTakenFinalizer: the token of a machine that boots ends with it, although somebody has taken our finalizer from its config,
// as a restore may.
func TestTakenFinalizer(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	before := state.Config.DeepCopy()
	state.Config.Finalizers = nil
	expect.OK(t, s.Client.Patch(t.Context(), state.Config, client.MergeFrom(before)))
	m.Await(t, "our finalizer again", world.Tokens(1), func(s world.State) string {
		if s.Config == nil || !slices.Contains(s.Config.Finalizers, bootstrapv1.ConfigFinalizer) {
			return "the config does not have it"
		}
		return ""
	})
	m.End(t)
	m.Await(t, "no token", world.Tokens(0))
}

// TestTwoManagers runs two processes at once, as when leader election fails or a rollout overlaps.
func TestTwoManagers(t *testing.T) {
	s := ready(t)
	other := s.Run(t, s.options())
	m, state := s.running(t)
	s.vms(t, state.Windows.Status.ComputerName)
	calls := s.cloud.Calls()
	have := []int{
		calls["create"], count("workload POST secrets", s.process, other), count("management POST secrets", s.process, other),
	}
	expect.Same(t, "VMs, tokens and bootstrap Secrets made", []int{1, 1, 1}, have)
	m.End(t)
	s.vms(t)
}

// TestMove does to the objects what `clusterctl move` does: they are made anew, without status and with other UIDs.
func TestMove(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		live   func(*stage, *testing.T) (*world.Machine, world.State)
		want   string
		tokens int
	}{
		"a node":          {"all of the status is found again", (*stage).running, "BootstrapSucceeded True Joined", 0},
		"a VM that boots": {"nothing is made twice, and its token is kept", (*stage).booting, "Ready True Running", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := ready(t)
			m, before := c.live(s, t)
			s.stopPaused(t, m)
			s.cloud.Calls()
			moved := m.Move(t)
			s.Pause(t, false)
			s.start(t)
			m.Touch(t, moved.Core, "moved")
			after := m.Await(t, c.reason, world.Windows(c.want),
				world.Config("DataSecretAvailable True DataSecretAvailable"), world.Tokens(c.tokens))
			if after.Windows.Spec.ProviderID != before.Windows.Spec.ProviderID ||
				after.Windows.Status.ComputerName != before.Windows.Status.ComputerName {
				t.Errorf("it is another VM now: %s", after)
			}
			if calls := s.cloud.Calls(); calls["create"]+calls["remove"] > 0 ||
				count("", s.process) != count("management PATCH", s.process) {
				t.Errorf("something was made or removed: %v, %v", calls, s.process.Gate.Effects())
			}
			if c.tokens > 0 {
				s.tell(after, succeeded)
				m.Await(t, "report", world.Windows("BootstrapSucceeded Unknown WaitingForNode"))
				m.Join(t)
				m.Await(t, "node after the move", world.Windows("BootstrapSucceeded True Joined"), world.Tokens(0), released)
			}
			s.noUserData(t, m.Await(t, "user data removed", erased))
			m.End(t)
			s.vms(t)
		})
	}
}
