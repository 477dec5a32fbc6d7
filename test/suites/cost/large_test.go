package cost

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

var (
	made     = flag.Int("made", 0, "so many machines, of which all is measured; `make bench-vsphere` sets it")
	standing = flag.Int("standing", 0, "so many machines that are there when our managers start; `make bench-vsphere` sets it")
)

// TestMade measures the whole life of many machines.
func TestMade(t *testing.T) {
	if *made == 0 {
		t.Skip("takes many minutes: run `make bench-vsphere`")
	}
	s := newStage(t, *made)
	begin := s.read()
	s.report("made", begin, s.makeAll)
	s.report("joined", s.read(), func() { s.joinAll(7) })
	s.atMost("writes until Nodes have joined", 28*s.machines, sum(s.since(begin).writes))
	s.report("looked at once more", s.read(), func() { s.touchAll("once") })
	s.reportConnections(begin)
	s.disturb()
	s.report("removed", s.read(), s.removeAll)
	s.reportMemory()
}

// TestStanding measures what many machines cost that are there.
func TestStanding(t *testing.T) {
	if *standing == 0 {
		t.Skip("takes many minutes: run `make bench-vsphere`")
	}
	s := newStage(t, *standing)
	begin := s.read()
	s.standAll()
	took := time.Since(begin.at).Seconds()
	t.Logf("%d machines are copies of one, in Kubernetes and in the vCenter, which took %.0f s", *standing, took)
	s.disturb()
	s.reportMemory()
}

// disturb restarts our managers, takes the vCenter away, lets it hang, and removes some machines.
func (s *stage) disturb() {
	s.t.Helper()
	s.restart()
	s.outage(time.Minute)
	s.removeSome(40)
	s.hang()
}

// restart our managers, and wait until they have looked at all machines.
func (s *stage) restart() {
	s.t.Helper()
	s.settle()
	s.pause()
	begin := s.counted()
	c := s.report("known after a restart", begin, s.resume)
	s.reportConnections(begin)
	s.atMost("reads of the vCenter after a restart", 60, sum(c.calls)+c.waits)
	s.atMost("writes after a restart", 0, sum(c.writes))
	s.t.Logf("the restart took %.1f s; wanted: at most 30", c.took.Seconds())
	s.reportMemory()
}

// settle waits until our managers have no more to write.
func (s *stage) settle() {
	s.t.Helper()
	writes, still := -1, 0
	s.await("the end of all writes", func() string {
		before := writes
		writes, still = sum(s.since(reading{}).writes), still+1
		if writes != before {
			still = 0
		}
		if still < 10 { // a list of VMs may be under way, or a machine may wait for its turn
			return fmt.Sprintf("%d writes, and then %d", before, writes)
		}
		return ""
	})
}

// resume lets our managers run again, and waits until they have looked at all machines.
func (s *stage) resume() {
	s.t.Helper()
	for _, component := range servers.Components {
		expect.OK(s.t, shared.Management.Resume(s.t.Context(), component))
	}
	s.paused = false
	s.await("a look at each machine", func() string {
		looks, queued := s.looks(), s.queued()
		if looks < s.machines || queued > 0 {
			return fmt.Sprintf("%d looks at %d machines, %d wait", looks, s.machines, queued)
		}
		return ""
	})
}

// pause our managers. Their leases would keep the next ones from beginning for minutes.
func (s *stage) pause() {
	s.t.Helper()
	s.paused = true
	for _, component := range servers.Components {
		expect.OK(s.t, shared.Management.Pause(component))
		home := client.InNamespace("capwin-" + component + "-system")
		expect.OK(s.t, s.Client.DeleteAllOf(s.t.Context(), &coordinationv1.Lease{}, home))
	}
}

// outage of the vCenter, in which a VM is switched off.
func (s *stage) outage(lasts time.Duration) {
	s.t.Helper()
	before, lines := s.read(), s.lines()
	end := s.vcenter.Outage()
	m := s.list()[0]
	s.vcenter.PowerOff(m.Status.ComputerName)
	<-time.After(lasts)
	during, logged := s.since(before), s.lines()-lines
	end()
	over := time.Now()
	s.awaitStopped(m.Name)
	healed := time.Since(over).Seconds()
	s.t.Logf("an outage of %s with %d machines: %d calls and %d reads of the API server were tried, %d lines were logged until "+
		"its end and %d in all; a change was seen %.1f s after its end; wanted: at most 10 with 500 machines", lasts,
		s.machines, sum(during.calls), sum(during.reads)+during.credentials, logged, s.lines()-lines, healed)
	s.await("lines that say that the account broke, and that it is back", func() string {
		if said := s.lines() - lines; said < 2 {
			return fmt.Sprintf("%d lines", said)
		}
		return ""
	})
	s.atMost("lines of an outage", 20, s.lines()-lines)
	s.switchOn(m.Name, m.Status.ComputerName)
}

func (s *stage) awaitStopped(name string) {
	s.t.Helper()
	s.awaitOne(name, is(infrav1.VMRunningCondition, "False VMNotRunning"))
}

func (s *stage) switchOn(name, vm string) {
	s.t.Helper()
	task, err := s.vcenter.VM(vm).PowerOn(s.t.Context())
	expect.OK(s.t, err)
	expect.OK(s.t, task.Wait(s.t.Context()))
	s.awaitOne(name, is(infrav1.VMRunningCondition, "True Running"))
}

func (s *stage) awaitOne(name string, good func(*infrav1.WindowsMachine) bool) {
	s.t.Helper()
	s.await("machine "+name, func() string {
		m := &infrav1.WindowsMachine{}
		expect.OK(s.t, s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.Name, Name: name}, m))
		if !good(m) {
			return world.ConditionOf(m, infrav1.VMRunningCondition)
		}
		return ""
	})
}

// hang lets the vCenter answer nothing, removes half of its machines or 500 of them, and measures how long machines of another
// one wait.
func (s *stage) hang() {
	s.t.Helper()
	other := newStage(s.t, 5)
	other.makeAll()
	held := s.vcenter.HoldMethod()
	defer held.Release()
	some := min(s.machines/2, 500)
	s.remove(some)
	s.await("calls that hang", func() string {
		if now, _ := held.Now(); now == 0 {
			return "there is none"
		}
		return ""
	})
	var waited []string // of each, because the news of one machine are a second apart
	for _, m := range other.list() {
		begin := time.Now()
		other.vcenter.PowerOff(m.Status.ComputerName)
		other.awaitStopped(m.Name)
		waited = append(waited, fmt.Sprintf("%.2f s", time.Since(begin).Seconds()))
	}
	_, most := held.Now()
	s.t.Logf("while a vCenter with %d machines hung, machines of another one waited %s; wanted: less than 1 s; at most %d calls "+
		"hung at once", s.machines, strings.Join(waited, ", "), most)
	s.atMost("calls that hung at once, with the wait for changes", 4, most)
	held.Release()
	s.machines -= some
	s.awaitAll("end of these machines", s.machines, func(*infrav1.WindowsMachine) bool { return true })
	other.removeAll()
}

// removeSome of the machines. Their nodes are not looked for: what counts is what our managers do.
func (s *stage) removeSome(some int) {
	s.t.Helper()
	some = min(some, s.machines)
	looks, before := s.looks(), s.read()
	s.remove(some)
	s.awaitAll("end of some machines", s.machines-some, func(*infrav1.WindowsMachine) bool { return true })
	c := s.since(before)
	s.atMost("looks at machines that were removed", 4*some, s.looks()-looks)
	s.t.Logf("%d of %d machines were removed in %.1f s: %.1f looks for each of them, %.2f calls (%s)", some, s.machines,
		c.took.Seconds(), float64(s.looks()-looks)/float64(some), float64(sum(c.calls))/float64(some), text(c.calls))
	s.machines -= some
}

func (s *stage) remove(some int) {
	s.t.Helper()
	all := s.list()[:some]
	world.Together(some, func(i int) {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: all[i].Name}}
		expect.OK(s.t, s.Client.Delete(s.t.Context(), m))
	})
}

// lines that our managers have logged since their start.
func (s *stage) lines() (n int) {
	s.t.Helper()
	for _, component := range servers.Components {
		n += strings.Count(expect.Got(shared.Management.Printed(component))(s.t), "\n")
	}
	return n
}
