package controllers

import (
	"errors"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

var errAway = &cloud.Error{
	Kind: cloud.Transient, Reason: infrav1.CloudUnreachableReason, Message: "no answer", Err: errors.New("connection refused"),
}

// TestBadInput has what users get wrong: each gets a reason of its own, nothing is made, and the mended thing is noticed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	credentials := func(data map[string][]byte) func(*testing.T, *stage, *world.Machine) {
		return func(t *testing.T, s *stage, _ *world.Machine) { s.SetCredentials(t, data) }
	}
	cases := map[string]struct {
		reason  string
		spoil   func(*testing.T, *stage, *world.Machine)
		want    []string
		mend    func(*testing.T, *stage)
		process func(*world.Options)
	}{
		"no credentials": {
			reason: "the Secret may come after the machines",
			want:   []string{"Ready False CredentialsMissing", "CloudReachable False CredentialsMissing", "Stalled False NotStalled"},
			mend:   func(t *testing.T, s *stage) { s.SetCredentials(t, password) },
		},
		"incomplete credentials": {
			reason: "a Secret without the key is as good as none",
			spoil:  credentials(map[string][]byte{"passwd": []byte("x")}),
			want:   []string{"Ready False CredentialsMissing", "CloudReachable False CredentialsMissing"},
			mend:   func(t *testing.T, s *stage) { s.SetCredentials(t, password) },
		},
		"wrong credentials": {
			reason: "other ones in the same Secret make another connection",
			spoil:  credentials(map[string][]byte{"clientSecret": []byte("x")}),
			want:   []string{"Ready False CredentialsRejected", "CloudReachable False CredentialsRejected", "Stalled False NotStalled"},
			mend:   func(t *testing.T, s *stage) { s.SetCredentials(t, password) },
		},
		"cloud away": {
			reason: "before there is a VM, this is why it is missing",
			spoil: func(t *testing.T, s *stage, _ *world.Machine) {
				s.SetCredentials(t, password)
				s.cloud.Away(errAway)
			},
			want: []string{"Ready False CloudUnreachable", "CloudReachable False CloudUnreachable", "Stalled False NotStalled"},
			mend: func(_ *testing.T, s *stage) { s.cloud.Away(nil) },
		},
		"no such template": {
			reason: "only another spec helps, which means another machine",
			spoil: func(t *testing.T, s *stage, m *world.Machine) {
				s.SetCredentials(t, password)
				m.Windows.Spec.Azure.Image.ID = fake.Image + "-nowhere"
			},
			want: []string{"Ready False TemplateNotFound", "Stalled True TemplateNotFound", "CloudReachable True CloudReachable"},
		},
		"cloud that this manager has not": {
			reason:  "a machine for another release is left alone",
			spoil:   credentials(password),
			process: func(o *world.Options) { o.Azure = nil },
			want:    []string{"Ready False CloudNotSupported", "Stalled True CloudNotSupported"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, world.Start{})
			m := s.machine("m")
			if c.spoil != nil {
				c.spoil(t, s, m)
			}
			options := s.options()
			if c.process != nil {
				c.process(&options)
			}
			s.process = s.Run(t, options)
			m.Create(t)
			for _, want := range c.want {
				m.Await(t, c.reason, world.Windows(want))
			}
			s.vms(t)
			if c.mend != nil {
				c.mend(t, s)
				s.process.Later(t, world.Machines, m.Key)
				m.Await(t, "life after it was mended", world.Windows("Ready True Running"))
			}
			m.End(t)
			s.vms(t)
		})
	}
}

// TestForeignVM has another user's VM of the very name that the machine's must have.
func TestForeignVM(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.CreateWithoutConfig(t)
	claimed := m.Await(t, "claim", world.Windows("Ready False WaitingForBootstrapData"))
	foreign := fake.VM{
		Name: claimed.Windows.Status.ComputerName, ID: "theirs", ProviderID: claimed.Windows.Spec.ProviderID, On: true,
		Ran: true,
	}
	s.cloud.Put(foreign)
	wait.Eventually(t, "claim in the cache", s.cached(m))
	m.CreateConfig(t)
	m.Touch(t, m.Core, "config")
	m.Await(t, "refusal", world.Windows("Ready False NameTaken"), world.Windows("Stalled True NameTaken"))
	m.End(t)
	have, _ := s.cloud.Get(foreign.Name)
	have.Own = ""
	expect.Same(t, "somebody else's VM was touched", foreign, have)
}

// TestVanishedVM has a VM that is removed from outside.
func TestVanishedVM(t *testing.T) {
	s := ready(t)
	m, _ := s.running(t)
	s.cloud.Calls()
	s.drop(t, m)
	m.Await(t, "notice", world.Windows("Ready False VMVanished"), world.Windows("Stalled True VMVanished"))
	s.look(t, m)
	s.vms(t)
	if calls := s.cloud.Calls(); calls["ensure"]+calls["create"] > 0 {
		t.Errorf("another VM was asked for: %v", calls)
	}
	m.End(t)
}

// TestStoppedVM has a VM that is switched off from outside, and on again.
func TestStoppedVM(t *testing.T) {
	s := ready(t)
	m, state := s.running(t)
	name := state.Windows.Status.ComputerName
	s.cloud.Update(name, func(vm *fake.VM) { vm.On = false })
	off := m.Await(t, "notice", world.Windows("Ready False VMNotRunning"), world.Windows("Stalled False NotStalled"))
	s.look(t, m)
	if off.Windows.Status.Phase != infrav1.PhaseStopped || world.ConditionOf(off.Config, "Ready") != "Ready True Joined" {
		t.Errorf("a node whose VM is off:\n%s", off)
	}
	if vm, _ := s.cloud.Get(name); vm.On {
		t.Error("a VM that somebody switched off was switched on")
	}
	s.cloud.Update(name, func(vm *fake.VM) { vm.On = true })
	m.Await(t, "recovery", world.Windows("Ready True Running"))
}

var errLater = cloud.LaterIn(time.Second, "others are asking")

// TestToldOnce has a cloud that goes away for some time: a machine says so once, and once that it is back, however often it is
// looked at, and no try is an error in the log.
func TestToldOnce(t *testing.T) {
	s := ready(t)
	m, _ := s.running(t)
	s.steady(t, m)
	before := len(s.process.Gate.Effects())
	s.cloud.Away(errLater)
	for range 5 {
		s.look(t, m)
	}
	expect.Same(t, "writes while others are asking", before, len(s.process.Gate.Effects()))

	s.cloud.Away(errAway)
	for range 5 {
		s.look(t, m)
	}
	m.Await(t, "outage", world.Windows("CloudReachable False CloudUnreachable"), world.Windows("Ready True Running"))
	s.cloud.Away(errLater) // it is back, and its VMs are being listed
	s.look(t, m)
	m.Await(t, "outage until it is known better", world.Windows("CloudReachable False CloudUnreachable"))
	s.cloud.Away(nil)
	for range 5 {
		s.look(t, m)
	}
	m.Await(t, "its end", world.Windows("CloudReachable True CloudReachable"))
	expect.Same(t, "writes in the outage", before+2, len(s.process.Gate.Effects()))
	if log := s.process.Log(); strings.Contains(log, "Reconciler error") || strings.Count(log, "connection refused") != 1 {
		t.Errorf("the log has errors of tries, or not the cause, once:\n%s", log)
	}
}
