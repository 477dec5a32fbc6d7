package controllers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

const working = `{"version":1,"state":"running","phase":{"index":4,"of":11,"name":"network"},"step":"hns-network","elapsed":120,"durations":{"prepare":7}}`

// TestSilentGuest has a guest of which nothing is heard in all its time, and then something.
func TestSilentGuest(t *testing.T) {
	s := ready(t)
	m, state := s.booting(t)
	s.clock.advance(44 * time.Minute)
	s.look(t, m)
	m.Await(t, "patience", world.Windows("Ready False WaitingForGuest"), world.Windows("Stalled False NotStalled"))
	s.clock.advance(2 * time.Minute)
	s.process.Reconcile(t, world.Machines, m.Key)
	m.Await(t, "notice", world.Windows("Ready False GuestSilent"), world.Windows("Stalled True GuestSilent"))
	s.steady(t, m)

	s.tell(state, working)
	told := m.Await(t, "progress", world.Windows("BootstrapProgress True Bootstrapping"), world.Windows("Stalled False NotStalled"))
	want := "Bootstrap 4/11 network, step hns-network, 2m of at most 30m"
	if got := conditions.GetMessage(told.Windows, infrav1.ReadyCondition); got != want {
		t.Errorf("the progress reads %q", got)
	}
	s.steady(t, m)

	s.clock.advance(44 * time.Minute)
	s.process.Reconcile(t, world.Machines, m.Key)
	m.Await(t, "notice", world.Windows("Ready False BootstrapOverdue"), world.Windows("Stalled True BootstrapOverdue"))
	m.Join(t)
	m.Await(t, "node", world.Windows("Ready True Joined"), world.Windows("Stalled False NotStalled"), world.Windows("BootstrapProgress False BootstrapOverdue"))
	s.steady(t, m)
}

// TestFailedStart has a node whose start fails long after it joined.
func TestFailedStart(t *testing.T) {
	s := ready(t)
	m, state := s.running(t)
	s.tell(state, `{"version":1,"state":"succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"},`+
		`"boot":{"state":"failed","reason":"NetworkNotReady","message":"hns-network: no address"}}`)
	m.Await(t, "notice", world.Windows("EveryBootSucceeded False NetworkNotReady"), world.Windows("Ready True Joined"))
	s.tell(state, `{"version":1,"state":"succeeded","phase":{"index":5,"of":5,"name":"join"},"facts":{"os":"20348.2700"},"boot":{"state":"succeeded"}}`)
	m.Await(t, "recovery", world.Windows("EveryBootSucceeded True EveryBootSucceeded"), world.Windows("Ready True Joined"))
	s.steady(t, m)
}

// steady looks at the machine again, later: nothing may be written.
func (s *stage) steady(t *testing.T, m *world.Machine) {
	t.Helper()
	s.look(t, m)
	before := s.process.Gate.Effects()
	s.clock.advance(time.Second)
	s.look(t, m)
	if diff := cmp.Diff(before, s.process.Gate.Effects()); diff != "" {
		t.Errorf("a machine of which nothing new is heard is written to (-before +after):\n%s", diff)
	}
}
