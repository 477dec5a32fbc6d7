package crash

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// everyFault is for `make test-faults`: each call fails alone with each kind of error. Without it a life has several calls that
// fail, each with one kind, chosen in turn.
var everyFault = flag.Bool("every-fault", false, "each call of the API server fails alone with each kind of error")

const faultsOfALife = 4

// untilReadyReads are what is read in both scenarios. A machine is looked at more than once: each number here is one that every
// life reaches.
var untilReadyReads = slices.Concat(
	numbered("management GET secrets credentials", 2), numbered("management GET secrets data", 4),
	numbered("workload GET secrets token", 4),
)

// reads are what our controllers read in a scenario, apart from what they watch.
var reads = map[string][]string{
	"live": slices.Concat(untilReadyReads, numbered("management GET secrets kubeconfig", 2), numbered("workload GET nodes", 1),
		numbered("management POST events", 1)),
	"stillborn": untilReadyReads,
}

// ofAnotherLife are read once a minute for all machines of a Cluster, or when a process is new, so that a life may find them
// read. The tests of internal/workload and controllers/cluster have them fail.
var ofAnotherLife = []string{
	"workload GET configmaps", "workload GET services", "workload GET daemonsets", "workload GET clusterroles",
	"workload GET clusterrolebindings",
}

func numbered(name string, times int) (all []string) {
	for i := range times {
		all = append(all, fmt.Sprintf("%s #%d", name, i+1))
	}
	return all
}

// watched are what a process reads when it starts, and follows from then on. Two managers do.
var watched = []string{"clusters", "ipaddressclaims", "ipaddresses", "machines", "windowsbootstrapconfigs", "windowsmachines"}

// troubled are controllers that live through calls that fail.
type troubled struct {
	process   *world.Process
	faults    *world.Faults
	namespace string
	vcenter   *world.Gate
}

func (c troubled) Process() *world.Process { return c.process }

func (c troubled) Effects() []string {
	return slices.Concat(c.faults.Effects(c.namespace), c.vcenter.Effects())
}

func (c troubled) Hit() bool { return len(c.faults.Left(c.namespace)) == 0 }

// office is one process for all places: no fault kills it.
type office struct {
	process *world.Process
	faults  *world.Faults
	open    func(*testing.T) place
	places  chan place
	// keep leaves something to the end of the whole test. No place gets the address of another one's vCenter: the process would
	// go on with what it knows of that one.
	keep func(end func())
}

func newOffice(t *testing.T, size int) *office {
	t.Helper()
	o := &office{faults: &world.Faults{}, places: make(chan place, size), keep: t.Cleanup}
	door := shared.Door(t, o.faults)
	o.open = func(t *testing.T) place {
		at := place{
			Namespace: shared.Namespace(t, world.Start{Filter: shared.Unique("faults")}),
			vcenter:   expect.Got(vcenter.Start())(t), gate: &atomic.Pointer[world.Gate]{},
		}
		o.keep(at.vcenter.Stop)
		at.Through(t, door)
		return at
	}
	for range size {
		o.places <- o.open(t)
	}
	return o
}

// start has the process work in all places.
func (o *office) start(t *testing.T) {
	t.Helper()
	at := <-o.places
	defer func() { o.places <- at }()
	// Credentials are read twice in the shortest life.
	o.process = at.Run(t, world.Options{
		VSphere: vsphere.Provider{}, Everywhere: true, Faults: o.faults, ReadSecrets: time.Second / 5,
	})
}

// live lives a life in which calls fail.
func (o *office) live(t *testing.T, s scenario, at place, planned map[string]world.Fault) *run {
	t.Helper()
	o.faults.Begin(at.Name, planned)
	gate := &world.Gate{}
	at.gate.Store(gate) // for the doors of earlier lives, too: the process may begin this life with the credentials of the last one
	door := front(at.vcenter.Owner(t), at.gate.Load)
	o.keep(door.Close)
	at.SetCredentials(t, door.Credentials())
	r := newRun(t, at, s.slow)
	r.controllers = troubled{o.process, o.faults, at.Name, gate}
	s.live(t, r)
	if left := o.faults.Left(at.Name); len(left) > 0 {
		t.Errorf("calls that were not made: %q", left)
	}
	expect.Same(t, "effects", lasting(s.effects), lasting(r.Effects()))
	return r
}

// lasting are the effects without those that only tell: an error is told, and taken back. Logins are those of the process.
func lasting(effects []string) []string {
	left := slices.DeleteFunc(slices.Clone(effects), func(effect string) bool {
		return strings.Contains(effect, "/status ") || strings.Contains(effect, " Login ")
	})
	slices.Sort(left)
	return left
}

// TestFaults has each call of an API server fail once, in each scenario: nothing else may be different in the end.
func TestFaults(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	o := newOffice(t, atOnce)
	o.start(t)
	calls, lives := 0, 0
	var violations atomic.Int32
	for _, s := range scenarios {
		o.reference(t, s)
	}
	t.Run("calls", func(t *testing.T) {
		for _, s := range scenarios {
			all := callsOf(s)
			calls += len(all)
			for _, planned := range plans(all) {
				lives++
				o.try(t, s, planned, &violations)
			}
		}
	})
	for range atOnce {
		noData(t, <-o.places)
	}
	fmt.Fprintf(os.Stderr, "calls that failed once: %d, lives: %d, violations: %d\n", calls, lives, violations.Load())
	if calls != 59 {
		t.Errorf("%d calls failed and not 59", calls)
	}
}

// reference is a life without a fault: all that it reads must be among what fails.
func (o *office) reference(t *testing.T, s scenario) {
	t.Run("reference "+s.name, func(t *testing.T) {
		r := o.live(t, s, o.open(t), nil)
		for name, times := range o.faults.Reads(r.namespace.Name) {
			if !slices.Contains(reads["live"], name+" #1") && !slices.Contains(ofAnotherLife, name) {
				t.Errorf("a call is not tried: %s, %d times", name, times)
			}
		}
	})
}

func callsOf(s scenario) []string {
	ofVCenter := func(effect string) bool { return strings.HasPrefix(effect, "vcenter ") }
	return append(slices.DeleteFunc(slices.Clone(s.effects), ofVCenter), reads[s.name]...)
}

// plans say which calls fail in which life, and how.
func plans(calls []string) (all []map[string]world.Fault) {
	if *everyFault {
		for _, call := range calls {
			for _, with := range kinds(call) {
				all = append(all, map[string]world.Fault{call: with})
			}
		}
		return all
	}
	for _, some := range deal(calls, faultsOfALife) {
		planned := map[string]world.Fault{}
		for _, call := range some {
			planned[call] = kinds(call)[slices.Index(calls, call)%len(kinds(call))]
		}
		all = append(all, planned)
	}
	return all
}

func kinds(call string) []world.Fault {
	if world.IsRead(call) {
		return world.ReadFaults
	}
	return world.WriteFaults
}

func (o *office) try(t *testing.T, s scenario, planned map[string]world.Fault, violations *atomic.Int32) {
	calls := slices.Sorted(maps.Keys(planned))
	var name []string
	for _, call := range calls {
		name = append(name, fmt.Sprintf("%s: %s", call, planned[call]))
	}
	t.Run(s.name+" "+strings.Join(name, ", "), func(t *testing.T) {
		t.Parallel()
		at := <-o.places
		t.Cleanup(func() {
			if t.Failed() {
				violations.Add(1)
			}
			o.places <- at
		})
		here := at
		if slices.ContainsFunc(calls, first) {
			here = o.open(t)
		}
		o.live(t, s, here, planned)
	})
}

// first says whether only the first machine of a Cluster causes a call: the others share what was read.
func first(call string) bool {
	return strings.Contains(call, " kubeconfig") || strings.Contains(call, "workload GET nodes")
}

// TestFaultsAtStart has all that a process reads when it starts fail once.
func TestFaultsAtStart(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	o := newOffice(t, 0)
	at := o.open(t)
	planned := map[string]world.Fault{}
	for i, kind := range watched {
		planned["management GET "+kind+" #1"] = world.ReadFaults[i%len(world.ReadFaults)]
	}
	o.faults.Begin(at.Name, planned)
	o.process = at.Run(t, world.Options{VSphere: vsphere.Provider{}, Faults: o.faults, ReadSecrets: time.Second / 5})
	wait.Until(t, "all reads to have failed", func() (any, bool) {
		left := o.faults.Left(at.Name)
		return left, len(left) == 0
	})
	for name := range o.faults.Reads(at.Name) {
		// The Cluster is looked at, too, and what it has there: Nodes, where another one has left a right of nodes.
		kind := strings.TrimPrefix(name, "management GET ")
		ofCluster := slices.Contains(ofAnotherLife, name) || name == "workload GET nodes"
		if !slices.Contains(watched, kind) && kind != "secrets kubeconfig" && !ofCluster {
			t.Errorf("a call is not tried: %s", name)
		}
	}
	o.live(t, scenarios[0], at, nil)
}
