package workload

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A namespace with 500 clusters that hang holds 16 callers for as long as its clusters take, 16 for a second, and all others not
// at all. Calls of other namespaces pass.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, other := newGate(), newGate()
		var at, waited atomic.Int32
		var callers sync.WaitGroup
		begin := time.Now()
		for range 500 {
			callers.Go(func() {
				switch err := g.enter(t.Context()); {
				case err == nil:
					later(callTime)
					g.leave()
				case time.Since(begin) == 0:
					at.Add(1)
				default:
					expect.Same(t, "wait", patience, time.Since(begin))
					waited.Add(1)
				}
			})
		}
		synctest.Wait()
		expect.OK(t, other.enter(t.Context()))
		callers.Wait()
		expect.Same(t, "refused at once", int32(500-2*mostOfNamespace), at.Load())
		expect.Same(t, "refused after a wait", int32(mostOfNamespace), waited.Load())
		expect.OK(t, g.enter(t.Context()))
	})
}

// Who waits for its turn gets it when another call ends.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		for range mostOfNamespace {
			expect.OK(t, g.enter(t.Context()))
		}
		time.AfterFunc(patience/2, g.leave)
		expect.OK(t, g.enter(t.Context()))
	})
}

// Machines do not wait for a reading of a cluster whose last reading failed.
func TestNoWaitAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &reading[[]corev1.Node]{err: errAway, reading: make(chan struct{})}
		begin := time.Now()
		if _, err := list(t, n, nil); !errors.Is(err, errAway) || time.Since(begin) > 0 {
			t.Errorf("got %v after %s", err, time.Since(begin))
		}
	})
}
