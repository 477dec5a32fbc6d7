package controllers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// writes are all that our controllers write to Kubernetes for one machine, from its creation until nothing is left: each is
// a request that a management cluster has to carry, for every machine.
var writes = slices.Concat(
	untilRunning, each("management PATCH windowsbootstrapconfigs/status Ready=Bootstrapping", phasesToJoin),
	each("management PATCH windowsmachines/status Ready=Running, guest=Bootstrapping", phasesToJoin),
	[]string{
		"management PATCH windowsbootstrapconfigs finalizers #2",
		"management PATCH windowsbootstrapconfigs/status Ready=Joined #1",
		"workload DELETE secrets #1",
		// The Node has joined, two phases are told after that, and the machine is deleted.
		"management PATCH windowsmachines/status Ready=Running, guest=Joined #1",
		"management PATCH windowsmachines/status Ready=Running, guest=Joined #2",
		"management PATCH windowsmachines/status Ready=Running, guest=Joined #3",
		"management PATCH windowsmachines/status Ready=Deleting #1",
		"management PATCH windowsmachines finalizers #1",
	})

// untilRunning is what it takes until the WindowsMachine is Ready.
var untilRunning = []string{
	"management PATCH windowsbootstrapconfigs finalizers #1",
	"management PATCH windowsbootstrapconfigs/status Ready=WaitingForGuest #1",
	"management PATCH windowsmachines annotations,finalizers #1",
	"management PATCH windowsmachines providerID #1",
	"management PATCH windowsmachines/status Ready=Provisioning #1",
	"management PATCH windowsmachines/status Ready=Running, guest=WaitingForGuest #1",
	"management PATCH windowsmachines/status Ready=WaitingForBootstrapData #1",
	"management POST secrets #1",
	"workload POST secrets #1",
}

// What a machine may cost, with the story of a real bootstrap: until its VM runs, and until its Node has joined and all phases
// are told. A machine whose config comes first, as a MachineSet makes it, waits for an identity, which is one write more.
const (
	mostUntilRunning = 10
	mostUntilDone    = 28
)

func each(effect string, times int) (effects []string) {
	for i := range times {
		effects = append(effects, fmt.Sprintf("%s #%d", effect, i+1))
	}
	return effects
}

// phases of a bootstrap; its Node joins in the last but one.
var phases = []string{"prepare", "windows", "network", "containerd", "api-server", "join", "verify"}

const phasesToJoin = 6

// TestLimitsOfWrites has a machine whose objects are made as a MachineSet makes them: what waits for what is up to chance.
func TestLimitsOfWrites(t *testing.T) {
	s := ready(t)
	m := s.machine("m")
	m.Create(t)
	booting := m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
	effects := s.process.Gate.Effects()
	running := 1 + slices.Index(effects, "management PATCH windowsmachines/status Ready=Running, guest=WaitingForGuest #1")
	m.Await(t, "the same story", sameStory)
	s.bootstraps(t, m, booting)
	done := len(s.process.Gate.Effects())
	t.Logf("%d writes until the VM runs, %d until all is told", running, done)
	if running > mostUntilRunning || done > mostUntilDone {
		t.Errorf("%d writes until the VM runs, at most %d are allowed; %d until all is told, at most %d:\n%q",
			running, mostUntilRunning, done, mostUntilDone, s.process.Gate.Effects())
	}
	s.steady(t, m)
}

// bootstraps has a guest tell its story phase by phase, and its Node join on the way. In each phase nothing is written but that.
func (s *stage) bootstraps(t *testing.T, m *world.Machine, booting world.State) {
	t.Helper()
	for i, name := range phases {
		s.clock.advance(time.Minute) // a guest is heard at a pace
		s.tell(booting, phaseReport(i, name, 30*i))
		if i < phasesToJoin {
			m.Await(t, name, atPhase(i, name), sameStory)
		}
		if i == phasesToJoin-1 {
			m.Join(t)
			m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), world.Config("Ready True Joined"),
				world.Tokens(0), released)
		}
		m.Await(t, name, atPhase(i, name))
		s.tell(booting, phaseReport(i, name, 30*i+20)) // time alone is no news
		s.steady(t, m)
	}
	s.tell(booting, succeeded)
	m.Await(t, "success", func(s world.State) string {
		if s.Windows.Status.Bootstrap.State != string(plan.StateSucceeded) {
			return "the guest is " + s.Windows.Status.Bootstrap.State
		}
		return ""
	})
}

// phaseReport is what a guest says when a phase begins, or some time later.
func phaseReport(index int, name string, elapsed int) string {
	return fmt.Sprintf(`{"version":1,"state":"Running","phase":{"index":%d,"of":%d,"name":%q},"elapsed":%d,`+
		`"facts":{"os":"20348.2700"}}`,
		index+1, len(phases), name, elapsed)
}

func atPhase(index int, name string) func(world.State) string {
	want := fmt.Sprintf("%d/%d %s", index+1, len(phases), name)
	return func(s world.State) string {
		if told := s.Windows.Status.Bootstrap; told == nil || told.Phase != want {
			return fmt.Sprintf("the guest is at %+v", told)
		}
		return ""
	}
}
