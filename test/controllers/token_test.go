package controllers

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// expiry is when the machine's only token expires.
func expiry(t *testing.T, s world.State) time.Time {
	t.Helper()
	if len(s.Tokens) != 1 {
		t.Fatalf("there are %d tokens", len(s.Tokens))
	}
	return expect.Got(time.Parse(time.RFC3339, string(s.Tokens[0].Data["expiration"])))(t)
}

// TestTokenIsKeptAlive has a VM that boots for longer than a token lives, while nothing happens that would wake the config: the
// controller has to come back by itself, in time, and writes no more often than it must.
func TestTokenIsKeptAlive(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Config.Spec.BootstrapDeadlineSeconds = 7200
	m.Create(t)
	booting := m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
	const extended = "workload PATCH secrets expiration"
	first := expiry(t, booting)
	begin := s.clock.now()
	for passed := time.Minute; passed <= 2*tokenTTL; passed += time.Minute {
		s.pass(begin.Add(passed))
		if left := expiry(t, m.Load(t)).Sub(s.clock.now()); left < 4*time.Minute {
			t.Fatalf("after %s the token lives for %s", passed, left)
		}
		if n := count(extended, s.process); passed < 10*time.Minute && n > 0 {
			t.Fatalf("after %s the token has been written %d times, although it has most of its time left", passed, n)
		}
	}
	if n := count(extended, s.process); n < 2 || n > 5 {
		t.Errorf("the token was extended %d times in an hour, want 3", n)
	}
	kept := m.Load(t)
	expect.Same(t, "the token at the end of the hour", tokenOf(booting), tokenOf(kept))
	if !expiry(t, kept).After(first.Add(tokenTTL)) {
		t.Errorf("it ends at %s, and ended at %s when the VM began to boot", expiry(t, kept), first)
	}

	// The process does not run for longer than the token lives, and Kubernetes removes it: the VM has this one and no other.
	expect.OK(t, s.process.Stop())
	expect.OK(t, s.Client.Delete(t.Context(), &kept.Tokens[0]))
	s.clock.advance(2 * tokenTTL)
	s.start(t)
	back := m.Await(t, "token put back", world.Tokens(1))
	expect.Same(t, "another token was put back", tokenOf(booting), tokenOf(back))
	if !expiry(t, back).After(s.clock.now().Add(tokenTTL / 2)) {
		t.Error("the token that was put back is about to expire")
	}
	s.clock.advance(-5 * tokenTTL) // or the config would not wait for the removal of a token that has expired
	m.End(t)
}

// TestTokenOutOfReach has a workload cluster that does not answer while a VM boots: its token is extended once it does.
func TestTokenOutOfReach(t *testing.T) {
	s := ready(t)
	m, booting := s.booting(t)
	s.process.Unreachable.Store(true)
	s.look(t, m) // a look that began before has ended then
	s.pass(s.clock.now().Add(tokenTTL / 3 * 2))
	away := m.Load(t)
	expect.Same(t, "expiration while the cluster is out of reach", expiry(t, booting), expiry(t, away))
	expect.Same(t, "Ready of a config whose user data is there", "Ready Unknown WaitingForGuest",
		world.ConditionOf(away.Config, bootstrapv1.ReadyCondition))
	s.process.Unreachable.Store(false)
	s.pass(s.clock.now().Add(5 * time.Second))
	if !expiry(t, m.Load(t)).After(expiry(t, booting)) {
		t.Error("the token was not extended 5 s after the cluster answered")
	}
	s.clock.advance(-tokenTTL)
	m.End(t)
}

// TestReplacedToken writes another secret into the node's token.
func TestReplacedToken(t *testing.T) {
	s := ready(t)
	m, booting := s.booting(t)
	world.Change(t, s.Client, &booting.Tokens[0],
		func(token *corev1.Secret) { token.Data["token-secret"] = []byte("0123456789abcdef") })
	s.process.Later(t, world.Configs, m.Key)
	m.Await(t, "notice", world.Config("Stalled True BootstrapTokenReplaced"),
		world.Config("DataSecretAvailable True DataSecretAvailable"), world.Config("Ready Unknown WaitingForGuest"), world.Tokens(1))
	expect.OK(t, s.Client.Delete(t.Context(), &booting.Tokens[0]))
	s.process.Later(t, world.Configs, m.Key)
	back := m.Await(t, "the node's own token", world.Config("Stalled False NotStalled"), world.Tokens(1))
	if issued := string(back.Data.Data["token"]); tokenOf(back) != issued {
		t.Errorf("the token is %s, and the node has %s", tokenOf(back), issued)
	}
	m.End(t)
}

// TestTokenOfAStalledMachine has a VM that was removed from outside: no node may join with its token.
func TestTokenOfAStalledMachine(t *testing.T) {
	s := ready(t)
	m, booting := s.booting(t)
	s.drop(t, m)
	// The config knows as well then: it would extend the token of a machine that it takes for one that boots.
	m.Await(t, "notice", world.Windows("Stalled True VMVanished"), world.Config("Ready False VMVanished"), sameStory)
	s.clock.advance(tokenTTL / 3 * 2)
	s.look(t, m)
	if now := expiry(t, m.Load(t)); !now.Equal(expiry(t, booting)) {
		t.Errorf("the token was extended, until %s", now)
	}
	m.End(t)
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

func tokenOf(s world.State) string {
	return string(s.Tokens[0].Data["token-id"]) + "." + string(s.Tokens[0].Data["token-secret"])
}

// firstTokenID is the id that a config's token gets if it is free. It is pinned: another one would make second tokens
// for configs that have one.
func firstTokenID(config *bootstrapv1.WindowsBootstrapConfig) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/0", config.UID))
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").EncodeToString(sum[:])[:6]
}

// TestTakenTokenID has another user's token under the id that ours would get.
func TestTakenTokenID(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	m := s.machine("m")
	m.Create(t)
	id := firstTokenID(m.Config)
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id},
		Type:       "bootstrap.kubernetes.io/token",
		Data: map[string][]byte{
			"token-id": []byte(id), "token-secret": []byte("0123456789abcdef"),
			"description": []byte("theirs"),
		},
	}
	expect.OK(t, s.Client.Create(t.Context(), foreign))
	s.start(t)
	booting := m.Await(t, "running VM", world.Windows("Ready True Running"), world.Tokens(1))
	if booting.Tokens[0].Name == foreign.Name {
		t.Error("somebody else's token was taken")
	}
	m.End(t)
	var after corev1.Secret
	expect.OK(t, s.Client.Get(t.Context(), world.KeyOf(foreign), &after))
	if diff := cmp.Diff(foreign.Data, after.Data); diff != "" || after.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("somebody else's token was changed: %s", diff)
	}
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

// TestDeletionOutOfReach deletes a machine whose workload cluster does not answer.
func TestDeletionOutOfReach(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		then   func(*stage)
		tokens int
	}{
		"until it answers": {"the token is removed first", func(s *stage) { s.process.Unreachable.Store(false) }, 0},
		"for good": {
			"the token has expired by itself: nothing is gained by waiting",
			func(s *stage) { s.clock.advance(tokenTTL + time.Minute) }, 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := ready(t)
			m, _ := s.booting(t)
			s.process.Unreachable.Store(true)
			m.Delete(t)
			m.Await(t, "the config's deletion", world.Config("Ready Unknown Deleting"), func(s world.State) string {
				if s.Windows != nil {
					return "the WindowsMachine is there"
				}
				return ""
			})
			s.process.Reconcile(t, world.Configs, m.Key)
			if state := m.Load(t); state.Config == nil || len(state.Tokens) != 1 {
				t.Fatalf("the config went before its token:\n%s", state)
			}
			c.then(s)
			m.Await(t, c.reason, world.Tokens(c.tokens), func(s world.State) string {
				if s.Config != nil || s.Core != nil {
					return "the objects are there"
				}
				return ""
			})
		})
	}
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
