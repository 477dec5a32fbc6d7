package reads

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func secret(namespace, name string) Object {
	return Object{"Secret", types.NamespacedName{Namespace: namespace, Name: name}}
}

// TestNext has the one object that is wanted, and when it is read.
func TestNext(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, of := time.Second, secret("a", "one")
	for name, c := range map[string]struct {
		turn Turn
		last time.Duration // since the last read
		wait time.Duration
	}{
		"never read":          {Turn{Due: now}, time.Hour, 0},
		"read":                {Turn{now, true}, time.Hour, 0},
		"due long ago":        {Turn{now.Add(-time.Hour), true}, time.Hour, 0},
		"due later":           {Turn{now.Add(s), true}, time.Hour, s},
		"due much later":      {Turn{now.Add(time.Hour), true}, time.Hour, 10 * s},
		"never read, not yet": {Turn{Due: now.Add(s)}, time.Hour, s},
		"after another":       {Turn{Due: now}, s / 10, s / 10},
		"soon after another":  {Turn{Due: now}, s / 5, 0},
	} {
		r := Reader{Clock: func() time.Time { return now }, lastRead: now.Add(-c.last)}
		turn := c.turn
		chosen, wait := r.Next(maps.All(map[Object]*Turn{of: &turn}))
		expect.Same(t, name+": wait", c.wait, wait)
		if wait > 0 {
			expect.Same(t, name+": turn", c.turn, turn)
			continue
		}
		expect.Same(t, name, of, chosen)
		expect.Same(t, name+": turn", Turn{now.Add(10 * s), true}, turn)
	}
}

// TestOrder: the namespace whose turn was longer ago is first, then what is due longer, then the name. Those that were never read
// and the others take turns.
func TestOrder(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := Reader{Clock: func() time.Time { return now }}
	all := map[Object]*Turn{
		secret("a", "1"): {now.Add(-2), true}, secret("a", "2"): {now.Add(-3), true}, secret("a", "3"): {now.Add(-2), true},
		secret("b", "1"): {now.Add(-1), true}, secret("a", "new"): {Due: now}, secret("a", "newer"): {Due: now},
		secret("c", "later"): {now.Add(time.Hour), true},
	}
	var order []string
	for {
		chosen, wait := r.Next(maps.All(all))
		if wait > time.Second {
			break
		}
		if wait == 0 {
			order = append(order, chosen.Namespace+chosen.Name)
		}
		now = now.Add(wait)
	}
	expect.Same(t, "order", []string{"anew", "b1", "anewer", "a2", "a1", "a3"}, order)
}

// TestRun reads an object that is named while nothing is to be done at once, gives up a read that hangs, and wakes its machines.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		r, began := &Reader{}, time.Now()
		expect.OK(t, r.Feed(ctx, queue))
		wanted, machine := map[Object]*Turn{}, types.NamespacedName{Name: "m"}
		var took []time.Duration
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx, &sync.Mutex{}, maps.All(wanted), func(ctx context.Context, _ Object) {
				began := time.Now()
				<-ctx.Done()
				took = append(took, time.Since(began))
				r.Wake(machine)
			})
		}()
		synctest.Wait()
		<-time.After(time.Second)
		wanted[secret("a", "one")] = &Turn{Due: time.Now()}
		r.Stir()
		r.Stir() // nobody waits for it
		<-time.After(patience - 1)
		synctest.Wait()
		expect.Same(t, "woken before the end of the read", 0, queue.Len())
		<-time.After(1)
		synctest.Wait()
		expect.Same(t, "woken", 1, queue.Len())
		expect.Same(t, "the read took", []time.Duration{10 * time.Second}, took)
		expect.Same(t, "when", 11*time.Second, time.Since(began))
		end()
		<-ended
		queue.ShutDown()
	})
}

// TestFigures: the times that documents promise.
func TestFigures(t *testing.T) {
	s := time.Second
	expect.Same(t, "times", []time.Duration{10 * s, s / 5, 10 * s}, []time.Duration{Interval, pace, patience})
	expect.Same(t, "times at once", 10, wakesAtOnce)
}
