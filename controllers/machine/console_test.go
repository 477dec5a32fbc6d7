package machine

import (
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// quotes are the events about consoles so far.
func (s *lifeStage) quotes() (all []string) {
	for {
		select {
		case told := <-s.told.Events:
			if strings.Contains(told, "Console") {
				all = append(all, told)
			}
		default:
			return all
		}
	}
}

// looks has the machine looked at once a minute, and counts how often its console was read.
func (s *lifeStage) looks(t *testing.T, minutes int) (read int) {
	t.Helper()
	for range minutes {
		s.look(t)
		<-time.After(time.Minute)
	}
	return s.cloud.Calls()["console"]
}

// TestConsole: the console of a guest that failed is read once, when its cloud shows what was written; whatever the guest tells
// after that, and whoever manages it then.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		s.look(t)
		name := s.cloud.Names()[0]
		s.cloud.Update(name, func(vm *fake.VM) { vm.Console = []string{"CAPWIN state=Failed", strings.Repeat("x", 2000)} })
		expect.Same(t, "reads while the guest works", 0, s.looks(t, 5))
		s.cloud.Update(name, func(vm *fake.VM) { vm.Report = reported("Failed", "3/5 join", atEnd) })
		expect.Same(t, "reads at once", 0, s.looks(t, 1))
		expect.Same(t, "reads a little later", 1, s.looks(t, 3))
		told := s.quotes()
		want := "Normal ConsoleRead last lines on the console of VM " + path.Base(name) + ": CAPWIN state=Failed; xxx"
		if len(told) != 1 || !strings.HasPrefix(told[0], want) || len(told[0]) != len("Normal ConsoleRead ")+maxNote {
			t.Errorf("the events are %q", told)
		}
		expect.Same(t, "reads after that", 0, s.looks(t, 60))
		for _, report := range []string{running, reported("Failed", "4/5 node", atEnd)} {
			s.cloud.Update(name, func(vm *fake.VM) { vm.Report = report })
			expect.Same(t, "reads when it tells something else", 0, s.looks(t, 5))
		}
		s.consoles = consoles{} // as a manager that has just started
		expect.Same(t, "reads of another manager", 0, s.looks(t, 5))

		m := &infrav1.WindowsMachine{}
		expect.OK(t, s.Client.Get(t.Context(), lifeKey, m))
		expect.OK(t, s.Client.Delete(t.Context(), m))
		expect.Same(t, "reads while it is deleted", 0, s.looks(t, 5))
		expect.Same(t, "consoles that are remembered", 0, remembered(&s.consoles.dueAt))
	})
}

// remembered is how many entries a map has.
func remembered(m *sync.Map) (count int) {
	for range m.Range {
		count++
	}
	return count
}

// TestConsoleForgotten: who is deleted is forgotten.
func TestConsoleForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		s.look(t)
		s.cloud.Update(s.cloud.Names()[0], func(vm *fake.VM) { vm.Report = reported("Failed", "3/5 join", atEnd) })
		expect.Same(t, "reads", 1, s.looks(t, 5))
		expect.Same(t, "events about a console that says nothing", 0, len(s.quotes()))
		expect.Same(t, "consoles that are remembered", 1, remembered(&s.consoles.dueAt))
		m := &infrav1.WindowsMachine{}
		expect.OK(t, s.Client.Get(t.Context(), lifeKey, m))
		expect.OK(t, s.Client.Delete(t.Context(), m))
		s.looks(t, 5)
		expect.OK(t, client.IgnoreNotFound(s.Client.Get(t.Context(), lifeKey, m)))
		expect.Same(t, "consoles that are remembered", 0, remembered(&s.consoles.dueAt))
	})
}

// TestConsoleOfOneLine: a single line is told, too.
func TestConsoleOfOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		s.look(t)
		s.cloud.Update(s.cloud.Names()[0], func(vm *fake.VM) {
			vm.Report, vm.Console = reported("Failed", "3/5 join", atEnd), []string{"no disk"}
		})
		s.looks(t, 5)
		if told := s.quotes(); len(told) != 1 || !strings.HasSuffix(told[0], ": no disk") {
			t.Errorf("the events are %q", told)
		}
	})
}

// TestConsoleNotRead: why a console was not read is told once, and an account that has to wait for its turn is asked again.
func TestConsoleNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLife(t)
		s.look(t)
		s.cloud.Update(s.cloud.Names()[0], func(vm *fake.VM) { vm.Report = reported("Failed", "3/5 join", atEnd) })
		s.cloud.Silence(&cloud.Error{Kind: cloud.Later, After: time.Minute})
		expect.Same(t, "tries while it is not our turn", 3, s.looks(t, 5))
		s.cloud.Silence(cloud.Errorf(cloud.Denied, infrav1.CredentialsRejectedReason, "the right to it is missing"))
		expect.Same(t, "tries after that", 1, s.looks(t, 5))
		told := s.quotes()
		if len(told) != 1 || !strings.HasPrefix(told[0], "Normal ConsoleNotRead ") ||
			!strings.HasSuffix(told[0], "right to it is missing") {
			t.Errorf("the events are %q", told)
		}
	})
}

// TestConsoleDue says when a console is read.
func TestConsoleDue(t *testing.T) {
	const works, silent = "BootstrapSucceeded Unknown Bootstrapping", "BootstrapSucceeded False GuestSilent"
	withNode := clusterv1.MachineNodeReference{Name: "n"}
	for name, c := range map[string]struct {
		was, now string
		change   func(*facts)
		want     bool
	}{
		"a guest that works":          {works, works, nil, false},
		"a silence":                   {works, silent, nil, true},
		"a silence from the start":    {"", silent, nil, true},
		"a silence that was told":     {silent, silent, nil, false},
		"a failure, in a moment":      {works, silent, func(f *facts) { f.windows.Status.Bootstrap = failedNow }, false},
		"a VM of which nothing comes": {works, silent, func(f *facts) { f.vm = nil }, false},
		"a machine that goes":         {works, silent, func(f *facts) { f.windows.DeletionTimestamp = new(metav1.Now()) }, false},
		"a Node":                      {works, silent, func(f *facts) { f.machine.Status.NodeRef = withNode }, false},
	} {
		f := &facts{
			original: machineWith(c.was), windows: machineWith(c.now), machine: &clusterv1.Machine{}, vm: &cloud.VM{}, now: begin,
		}
		if c.change != nil {
			c.change(f)
		}
		expect.Same(t, name, c.want, failsInVM(f) && (&consoles{}).due(f))
	}
}

var failedNow = &infrav1.BootstrapProgress{State: "Failed"}
