package security

import (
	"fmt"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/fake"
	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// Ten seconds of news without pause: so often a guest tells some, and so often its objects may be written to for that. A word is
// taken over in that time, and the end of what was under way; when a guest has failed, its user data is taken away as well.
const (
	newsInTenSeconds = 700
	mostWrites       = 3
)

// TestPace has guests that never stop to tell something new: each word would be a write.
func TestPace(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name, tries string
		joined      bool
		news        func(i int, vm *fake.VM)
	}{
		{"steps", "names a new step 700 times in ten seconds", false, func(i int, vm *fake.VM) {
			vm.Report = guestReport(fmt.Sprintf(`"step":"s%d"`, i))
		}},
		{"joined", "names a new step 700 times in ten seconds after its Node has joined", true, func(i int, vm *fake.VM) {
			vm.Report = guestReport(fmt.Sprintf(`"step":"s%d"`, i))
		}},
		{"flips", "fails and runs again 700 times in ten seconds after its Node has joined", true, func(i int, vm *fake.VM) {
			vm.Report = guestReport([]string{`"state":"Failed"`, `"state":"Running"`}[i%2])
		}},
		{"fails", "fails and runs again 700 times in ten seconds before it joins", false, func(i int, vm *fake.VM) {
			vm.Report = guestReport([]string{`"state":"Failed"`, `"state":"Running"`}[i%2])
		}},
		{"boots", "starts and fails to start 700 times in ten seconds", true, func(i int, vm *fake.VM) {
			vm.Report = guestReport(`"state":"Succeeded","boot":{"state":"` + []string{"Failed", "Running"}[i%2] + `"}`)
		}},
		{"nonsense", "alternates between reports that can be read and reports that cannot", false, func(i int, vm *fake.VM) {
			vm.Report = []string{"{", guestReport(`"step":"s"`)}[i%2]
		}},
		{"moves", "changes its address 700 times in ten seconds", false, func(i int, vm *fake.VM) {
			vm.Told = []clusterv1.MachineAddress{ipOf(fmt.Sprintf("10.5.%d.%d", i/250, i%250))}
		}},
		{"all", "changes everything 700 times in ten seconds", true, func(i int, vm *fake.VM) {
			vm.Told = []clusterv1.MachineAddress{ipOf(fmt.Sprintf("10.5.%d.%d", i/250, i%250))}
			vm.Report = guestReport(fmt.Sprintf(`"state":%q,"step":"s%d","facts":{"os":"%d"},"boot":{"state":%q}`,
				[]string{"Failed", "Running", "Rebooting", "Succeeded"}[i%4], i, i, []string{"Running", "Failed", "Succeeded"}[i%3]))
		}},
	}
	var attacks []attack
	for _, way := range ways {
		attacks = append(attacks, attack{by: "guest", tries: way.tries, try: func(t *testing.T) string {
			t.Parallel()
			return newFakeStage(t).floods(t, way.joined, way.news)
		}})
	}
	attempt(t, attacks...)
}

// floods counts what is written for a guest that always has news, and takes its last word in the end.
func (s *fakeStage) floods(t *testing.T, joined bool, news func(int, *fake.VM)) string {
	t.Helper()
	m, state := s.booting(t, "m")
	s.vm(state, func(vm *fake.VM) { vm.Report = guestReport(`"step":"first"`) })
	m.Await(t, "first report", bootstraps)
	if joined {
		m.Join(t)
		m.Await(t, "node", world.Windows("BootstrapSucceeded True Joined"), world.Config("Ready True Joined"), world.Tokens(0))
	}
	s.look(t, m)
	const machines, configs = "management PATCH windowsmachines/status", "management PATCH windowsbootstrapconfigs/status"
	machinesBefore, configsBefore := s.wrote(machines), s.wrote(configs)
	for i := range newsInTenSeconds {
		s.clock.advance(10 * time.Second / newsInTenSeconds)
		s.vm(state, func(vm *fake.VM) { news(i, vm) })
		s.process.Reconcile(t, world.Machines, m.Key)
	}
	s.look(t, m)
	wrote, toConfig := s.wrote(machines)-machinesBefore, s.wrote(configs)-configsBefore
	if wrote > mostWrites || toConfig > mostWrites {
		t.Errorf("%d writes to the WindowsMachine and %d to its config, at most %d each: %q", wrote, toConfig, mostWrites,
			s.process.Gate.Effects())
	}
	s.clock.advance(time.Minute)
	s.vm(state, func(vm *fake.VM) { vm.Report, vm.Told = guestReport(`"step":"last-word"`), nil })
	m.Await(t, "last word", func(s world.State) string {
		if told := s.Windows.Status.Bootstrap; told == nil || told.Step != "last-word" {
			return fmt.Sprintf("the guest is at %+v", told)
		}
		return ""
	})
	return fmt.Sprintf("%d writes to the WindowsMachine and %d to its config; the last word is taken", wrote, toConfig)
}
