package cost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestCost follows one machine, and then several at once, from their objects to their end: a dozen, or forty in a benchmark.
func TestCost(t *testing.T) {
	several := 12
	if *made > 0 {
		several = 40
	}
	for _, machines := range []int{1, several} {
		t.Run(fmt.Sprint(machines), func(t *testing.T) { newStage(t, machines).life() })
	}
}

// opening is how many calls an account takes to begin, before the first machine.
const opening = 18

// life of all machines, from their objects to their end. Writes that meet a conflict and are made again are printed only, because
// it depends on the machine how many do.
func (s *stage) life() {
	s.t.Helper()
	begin, n := s.read(), s.machines
	c := s.report("made", begin, s.makeAll)
	s.t.Log("wanted of the processor until a machine is Ready: at most 0.03 s in each manager")
	expect.Same(s.t, "clones", n, c.calls["CloneVM_Task"])
	s.atMost("other calls for machines that were made", opening+n-1, sum(c.calls)-n)
	s.atMost("reads until machines are Ready", 4*n+2, sum(c.reads))
	// Of each machine: the Secret, the config and its status, the WindowsMachine twice and its status five times, as it waits for
	// user data, then for the policies, is cloned, has its VM's ID, and runs. A look seldom falls between the last three. The
	// credentials are written once for all.
	s.atMost("writes until machines are Ready", 10*n+1, sum(c.writes))
	c = s.report("joined", s.read(), func() { s.joinAll(1) })
	expect.Same(s.t, "edits", n, c.calls["ReconfigVM_Task"])
	s.atMost("other calls for machines that joined", max(1, n/2), sum(c.calls)-n)
	c = s.report("looked at once more", s.read(), func() { s.touchAll("once") })
	expect.Same(s.t, "calls for machines that run", map[string]int{}, c.calls)
	s.atMost("reads of Secrets because of a look", 0, c.reads[servers.Infrastructure+": get secrets"])
	looks := s.looks()
	c = s.report("removed", s.read(), s.removeAll)
	s.atMost("looks at machines that were removed", 4*n, s.looks()-looks)
	// Two tasks each. The end of what destroys a VM is followed, as nothing else proves it, with a request or two for all machines.
	s.atMost("calls for machines that were removed", max(4, 3*n), sum(c.calls))
	all := s.since(begin)
	s.atMost("reads of the credentials", 5+int(all.took.Seconds()/5), all.credentials)
	s.reportConnections(begin)
	s.reportMemory()
}

func (s *stage) atMost(what string, most, got int) {
	s.t.Helper()
	if got > most {
		s.t.Errorf("%s: %d, want at most %d", what, got, most)
	}
}

// reading is what was counted so far.
type reading struct {
	at          time.Time
	calls       map[string]int
	requests    map[servers.Request]int
	connections int
	worked      map[string]time.Duration
}

func (s *stage) read() reading {
	s.t.Helper()
	r := s.counted()
	for _, component := range servers.Components {
		r.worked[component] = expect.Got(shared.Management.Worked(component))(s.t)
	}
	return r
}

// counted is what was counted so far, without processor time: managers that do not run have none.
func (s *stage) counted() reading {
	s.t.Helper()
	r := reading{at: time.Now(), worked: map[string]time.Duration{}}
	r.calls, r.connections = s.vcenter.Calls(), s.vcenter.Connections()
	r.requests = expect.Got(shared.Management.Requests())(s.t)
	return r
}

// cost of an act.
type cost struct {
	took   time.Duration
	calls  map[string]int // without waits for changes
	waits  int
	reads  map[string]int // of the API server, in the machines' namespace
	writes map[string]int // the same, without events

	events, conflicts int
	// credentials are reads of the Secret with them. They must not depend on the number of machines, and are not among reads.
	credentials int
	worked      map[string]time.Duration
}

func less[K comparable](all, before map[K]int) map[K]int {
	rest := map[K]int{}
	for k, n := range all {
		if n > before[k] {
			rest[k] = n - before[k]
		}
	}
	return rest
}

func (s *stage) since(before reading) cost {
	s.t.Helper()
	now := s.read()
	c := cost{
		took: now.at.Sub(before.at), calls: less(now.calls, before.calls), reads: map[string]int{}, writes: map[string]int{},
		worked: map[string]time.Duration{},
	}
	c.waits = c.calls["WaitForUpdatesEx"]
	delete(c.calls, "WaitForUpdatesEx")
	for request, n := range less(now.requests, before.requests) {
		if request.Namespace == s.Name {
			c.add(request, n)
		}
	}
	for component, worked := range now.worked {
		c.worked[component] = worked - before.worked[component]
	}
	return c
}

func (c *cost) add(request servers.Request, n int) {
	name := request.Component + ": " + request.Verb + " " + request.Resource
	switch {
	case request.Resource == "events":
		c.events += n
	case request.Secret == world.Credentials && request.Verb == "get":
		c.credentials += n
	case request.Conflict:
		c.conflicts += n
	case request.Verb == "watch":
	case slices.Contains([]string{"get", "list"}, request.Verb):
		c.reads[name] += n
	default:
		c.writes[name] += n
	}
}

func sum(counts map[string]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

// report what an act cost.
func (s *stage) report(what string, before reading, act func()) cost {
	s.t.Helper()
	act()
	c, n := s.since(before), float64(s.machines)
	s.t.Logf("%d %s in %.1f s: per machine %.2f calls and %.2f waits, %.2f reads, %.2f writes, %.2f conflicts and %.2f events; "+
		"%d reads of the credentials in all\n  calls %s\n  reads %s\n  writes %s\n  processor %s a machine",
		s.machines, what, c.took.Seconds(), float64(sum(c.calls))/n, float64(c.waits)/n, float64(sum(c.reads))/n,
		float64(sum(c.writes))/n, float64(c.conflicts)/n, float64(c.events)/n, c.credentials,
		text(c.calls), text(c.reads), text(c.writes), s.processor(c))
	return c
}

func text(counts map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(all, ", ")
}

func (s *stage) processor(c cost) string {
	var all []string
	for _, component := range servers.Components {
		all = append(all, fmt.Sprintf("%s %.3f s", component, c.worked[component].Seconds()/float64(s.machines)))
	}
	return strings.Join(all, ", ")
}

func (s *stage) reportConnections(begin reading) {
	s.t.Helper()
	made := s.vcenter.Connections() - begin.connections
	s.t.Logf("%d connections to the vCenter in all", made)
	s.atMost("connections to the vCenter", 4, made)
}

func (s *stage) reportMemory() {
	s.t.Helper()
	for _, m := range s.managers {
		peak := expect.Got(shared.Management.PeakMemory(m.Component))(s.t)
		s.t.Logf("peak memory of the %s manager: %d MiB; wanted: at most 256 with 5,000 machines", m.Component, peak>>20)
		s.atMost("MiB of memory of the "+m.Component+" manager", 256, peak>>20)
	}
}
