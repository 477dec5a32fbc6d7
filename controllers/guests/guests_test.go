package guests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// workloadCluster is one whose guests have an API server to write to. It counts the calls.
type workloadCluster struct {
	client.Client
	mu    sync.Mutex
	reads []string
	tries int           // how often somebody wanted to reach it
	away  error         // why it cannot be reached
	held  chan struct{} // no call is answered before this is closed
}

func newCluster() *workloadCluster {
	c := &workloadCluster{}
	c.Client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(
			ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object, how ...client.GetOption,
		) error {
			c.mu.Lock()
			c.reads = append(c.reads, key.Name)
			held := c.held
			c.mu.Unlock()
			if held != nil {
				select {
				case <-held:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return api.Get(ctx, key, into, how...)
		},
	}).Build()
	return c
}

// GetClient is that of Ears.
func (c *workloadCluster) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	return c.Client, c.away
}

// tried is how often somebody wanted to reach it.
func (c *workloadCluster) tried() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries
}

// calls returns how many there were since it was asked last.
func (c *workloadCluster) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.reads)
	c.reads = nil
	return n
}

// write has a guest replace its report, which is made if it is not there.
func (c *workloadCluster) write(t *testing.T, name, text string) {
	t.Helper()
	expect.OK(t, MakeReport(t.Context(), c.Client, name))
	expect.OK(t, c.Update(t.Context(), said(name, text)))
}

func said(name, text string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{Data: map[string]string{bootstrap.GuestReportKey: text}}
	object.Namespace, object.Name = bootstrap.GuestNamespace, name
	return object
}

// pass lets time pass, in a bubble, and then all that is to happen at that moment.
func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// listening are ears, and the machines that they wake.
type listening struct {
	*Ears
	heard chan cloud.Key
}

// started are ears that run, until end.
func started(t *testing.T, get func(context.Context, client.ObjectKey) (client.Client, error)) (ears *listening, end func()) {
	t.Helper()
	return run(t, &Ears{}, get)
}

// run starts these ears.
func run(
	t *testing.T, e *Ears, get func(context.Context, client.ObjectKey) (client.Client, error),
) (ears *listening, end func()) {
	t.Helper()
	heard := make(chan cloud.Key, 10)
	e.GetClient, e.Heard = get, cloudtest.Into(heard)
	ears = &listening{e, heard}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- ears.Start(ctx) }()
	synctest.Wait()
	return ears, func() {
		t.Helper()
		cancel()
		expect.OK(t, <-over)
	}
}

// kept is how many clusters are.
func (l *listening) kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.clusters)
}

var (
	prod     = client.ObjectKey{Namespace: "a", Name: "c"}
	one, two = cloud.Key{Namespace: "a", Name: "one"}, cloud.Key{Namespace: "a", Name: "two"}
)

// still and through are what a machine says of its guest.
func still(string) bool   { return true }
func through(string) bool { return false }

// TestEars: a report wakes its machine once, and no other; what is gone or empty wakes none; one that is too long is cut.
func TestEars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.write(t, "win-1.a", "x")
		c.write(t, "win-1.old", "of an older token")
		c.write(t, "win-2.a", "")
		expect.Same(t, "before the start", "", (&Ears{}).Report(prod, "win-1.a", one, still))
		ears, end := started(t, c.GetClient)
		says := func(what, want string, woken ...cloud.Key) {
			t.Helper()
			pass(firstPause)
			var heard []cloud.Key
			for len(ears.heard) > 0 {
				heard = append(heard, <-ears.heard)
			}
			expect.Same(t, "woken, "+what, woken, heard)
			expect.Same(t, what, want, ears.Report(prod, "win-1.a", one, still))
		}
		expect.Same(t, "at first", "", ears.Report(prod, "win-1.a", one, still))
		expect.Same(t, "at first", "", ears.Report(prod, "win-2.a", two, still))
		says("what was there", "x", one)
		says("the same", "x")
		c.write(t, "win-1.a", "y")
		c.write(t, "win-2.a", "z")
		pass(firstPause)
		expect.Same(t, "woken", 2, len(ears.heard))
		<-ears.heard
		<-ears.heard
		expect.Same(t, "the other's", "z", ears.Report(prod, "win-2.a", two, still))
		says("the new one", "y")
		c.write(t, "win-1.a", "")
		says("an empty one", "")
		c.write(t, "win-1.a", strings.Repeat("x", cloud.MaxReport))
		says("the longest", strings.Repeat("x", plan.KeptReportBytes), one)
		c.write(t, "win-1.a", strings.Repeat("y", 3*cloud.MaxReport))
		says("what is too long", strings.Repeat("y", plan.KeptReportBytes), one)
		c.write(t, "win-1.a", strings.Repeat("y", 2*cloud.MaxReport))
		says("what is too long again", strings.Repeat("y", plan.KeptReportBytes))
		expect.OK(t, RemoveReport(t.Context(), c.Client, "win-1.a"))
		says("one that is gone", "")
		expect.Same(t, "what nobody asked for was read", false, slices.Contains(c.reads, "win-1.old"))
		end()
	})
}

// TestCost: a guest that boots costs six calls a minute, one that has joined a call for each look at its machine, and one whose
// machine or object is gone costs none.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.write(t, "win-1.a", "x")
		ears, end := started(t, c.GetClient)
		looks := func(times int, every time.Duration, boots func(string) bool) int {
			for range times {
				ears.Report(prod, "win-1.a", one, boots)
				pass(every)
			}
			return c.calls()
		}
		pass(time.Hour)
		expect.Same(t, "before anybody asks", 0, c.tried())
		expect.Same(t, "at once", 1, looks(1, time.Second, still))
		expect.Same(t, "while it boots, in an hour", 360, looks(60, time.Minute, still))
		looks(1, firstPause, through)
		expect.Same(t, "after the join, in an hour", 6, looks(6, 10*time.Minute, through))
		looks(1, firstPause, still)
		expect.OK(t, RemoveReport(t.Context(), c.Client, "win-1.a"))
		expect.Same(t, "without its object, in three looks", 3, looks(3, time.Minute, still))
		pass(forget + firstPause)
		tries := c.tried()
		expect.Same(t, "clusters when nobody has asked for long", 0, ears.kept())
		pass(time.Hour)
		expect.Same(t, "calls when nobody asks", 0, c.calls()+c.tried()-tries)
		c.write(t, "win-1.a", "y")
		expect.Same(t, "once somebody asks again", 6, looks(1, time.Minute-1, still))
		end()
	})
}

// TestManyMachines: a pass has an end, and what has waited longest comes first.
func TestManyMachines(t *testing.T) {
	now, all := time.Now(), map[string]*report{}
	for i := range 2 * maxReads {
		name := fmt.Sprintf("win-%04d", i)
		all[name] = &report{name: name, asked: now, read: now.Add(time.Duration(i-10_000) * time.Second), boots: true}
	}
	all["new"] = &report{name: "new", asked: now}
	all["joined"] = &report{name: "joined", asked: now, read: now.Add(-time.Hour)}
	all["read since"] = &report{name: "read since", asked: now, read: now.Add(1)}
	ears := &Ears{clusters: map[client.ObjectKey]map[string]*report{prod: all}}
	for _, begins := range [][]string{{"new", "win-0000"}, {"win-0511", "win-0512"}, {"win-1023", "joined"}} {
		due, asked := ears.due(prod)
		expect.Same(t, "somebody asks", true, asked)
		expect.Same(t, "reports of a pass", maxReads, len(due))
		expect.Same(t, "the first", begins, []string{due[0].name, due[1].name})
		for _, r := range due {
			r.read = now
		}
	}
}

// TestAway: a cluster that cannot be reached is tried less and less, and read again once it is there.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.away = errors.New("no answer")
		c.write(t, "win-1.a", "x")
		ears, end := started(t, c.GetClient)
		for i := range 20 { // one try is enough for all
			ears.Report(prod, fmt.Sprintf("win-%d.a", i), one, still)
		}
		synctest.Wait()
		for i, seconds := range []int{20, 40, 60, 60} {
			pass(time.Duration(seconds)*time.Second - 1)
			expect.Same(t, "tries before the pause is over", i+1, c.tried())
			pass(1)
			expect.Same(t, "tries", i+2, c.tried())
		}
		c.mu.Lock()
		c.away = nil
		c.mu.Unlock()
		pass(longestPause)
		expect.Same(t, "reports read", 20, c.calls())
		pass(firstPause)
		expect.Same(t, "reports read in the next pass, of one that is there", 1, c.calls())
		end()
	})
}

// TestOneClusterHangs: others do not wait for it, and neither does the end of the manager, after which no pass begins.
func TestOneClusterHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, answers := newCluster(), newCluster()
		hangs.held = make(chan struct{})
		answers.write(t, "win-1.a", "x")
		ears, end := started(t, func(ctx context.Context, key client.ObjectKey) (client.Client, error) {
			if key == prod {
				return hangs.GetClient(ctx, key)
			}
			return answers.GetClient(ctx, key)
		})
		ears.Report(prod, "win-1.a", one, still)
		synctest.Wait()
		ears.Report(client.ObjectKey{Namespace: "a", Name: "other"}, "win-1.a", two, still)
		synctest.Wait()
		expect.Same(t, "woken", two, <-ears.heard)
		pass(10 * firstPause)
		expect.Same(t, "calls to the one that hangs", 1, hangs.calls())
		end()
		ears.Report(client.ObjectKey{Name: "third"}, "win-1.a", one, still)
		expect.Same(t, "clusters", 2, len(ears.clusters))
	})
}

// TestAskedMeanwhile: a machine that asks while its report is read has it read once more.
func TestAskedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.held = make(chan struct{})
		ears, end := started(t, c.GetClient)
		ears.Report(prod, "win-1.a", one, through)
		pass(time.Second)
		ears.Report(prod, "win-1.a", one, through)
		close(c.held)
		pass(5 * firstPause)
		expect.Same(t, "calls", 2, c.calls())
		end()
	})
}
