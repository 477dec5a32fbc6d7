package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
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

// What a machine may cost, with the story of a real bootstrap: reads of the API server, and writes, with events, until its VM
// runs and until its Node has joined and seven phases are told. The credentials are read and held by the Secret, not by the
// machine.
const (
	mostReads        = 4
	mostUntilRunning = 10
	mostUntilDone    = 28
)

// ofMachine leaves out what is written once for a Secret with credentials, and that a config waits for its machine's identity:
// which of the two is looked at first is up to chance.
func ofMachine(effects []string) []string {
	return slices.DeleteFunc(effects, func(effect string) bool {
		return strings.HasPrefix(effect, "management PATCH secrets finalizers") ||
			strings.HasPrefix(effect, "management PATCH windowsbootstrapconfigs/status Ready=WaitingForMachineIdentity")
	})
}

func each(effect string, times int) (effects []string) {
	for i := range times {
		effects = append(effects, fmt.Sprintf("%s #%d", effect, i+1))
	}
	return effects
}

// phases of a bootstrap; its Node joins in the last but one.
var phases = []string{"prepare", "windows", "network", "containerd", "api-server", "join", "verify"}

const phasesToJoin = 6

// TestCostOfMachine has a machine whose objects are made as a MachineSet makes them: what waits for what is up to chance. Another
// machine of the same account and Cluster is there: what is read for all machines is no cost of one.
func TestCostOfMachine(t *testing.T) {
	t.Parallel()
	s := newStage(t, world.Start{Credentials: password})
	options := s.options()
	options.ReadSecrets, options.TrustSecret = time.Hour, time.Minute
	s.process = s.Run(t, options)
	other := s.machine("other")
	other.Create(t)
	other.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed)
	s.look(t, other)
	before := s.costs()
	m := s.machine("m")
	m.Create(t)
	booting := m.Await(t, "running VM", world.Windows("Ready True Running"), world.DataSecretNamed, sameStory)
	until := func(what string, mostReads, mostWrites int) {
		t.Helper()
		now := s.costs()
		reads, writes := now.reads-before.reads, now.writes-before.writes
		t.Logf("%s: %d reads and %d writes, %d of them events", what, reads, writes, now.events-before.events)
		if reads > mostReads || writes > mostWrites {
			t.Errorf("%s: %d reads, at most %d are allowed, %d writes, at most %d are allowed:\n%q\n%v",
				what, reads, mostReads, writes, mostWrites, s.process.Gate.Effects(), s.process.Gate.Reads())
		}
	}
	until("until Ready", mostReads, mostUntilRunning)
	s.bootstraps(t, m, booting)
	// A minute passes in each phase, after which a Secret is read again; the end of the seventh phase is a write of its own.
	until("until the Node has joined, and seven phases and the end are told", mostReads+len(phases), mostUntilDone+1)
	s.steady(t, m)
}

// costs are what a process has asked of the management cluster.
type costs struct{ reads, writes, events int }

// costs counts each get, list and watch, and each write of any object that was not refused, event or not.
func (s *stage) costs() (c costs) {
	for name, n := range s.process.Gate.Reads() {
		switch {
		case strings.HasSuffix(name, " events"):
			c.events += n
		case strings.HasPrefix(name, "management GET "):
			c.reads += n
		}
	}
	c.writes = c.events + len(ofMachine(s.process.Gate.Effects()))
	return c
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
