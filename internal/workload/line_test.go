package workload

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var errAway = &UnreachableError{Why: cannotReach}

// later waits by the clock of a synctest bubble, which takes no time.
func later(after time.Duration) { <-time.After(after) }

// pass lets a call pass that ends as said.
func pass(t *testing.T, l *line, end error) {
	t.Helper()
	expect.OK(t, l.enter(t.Context()))
	l.leave(t.Context(), end)
}

// A cluster that fails is tried again by one caller, later each time, and all others hear at once that it is away.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		pass(t, l, errAway)
		for _, seconds := range []int{5, 10, 20, 40, 80, 80} {
			pause := time.Duration(seconds) * time.Second
			later(pause - 1)
			if l.open() == nil || l.enter(t.Context()) == nil {
				t.Fatalf("a call passed before %s were over", pause)
			}
			later(1)
			expect.OK(t, l.enter(t.Context()))
			begin := time.Now()
			if err := l.enter(t.Context()); !errors.Is(err, errAway) || time.Since(begin) > 0 {
				t.Errorf("a second call got %v after %s", err, time.Since(begin))
			}
			l.leave(t.Context(), errAway)
		}
	})
}

// A call that its caller gave up says nothing of the cluster, and of calls that fail together one counts.
func TestFailuresThatDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		pass(t, l, nil)
		gone, leave := context.WithCancel(t.Context())
		expect.OK(t, l.enter(gone))
		leave()
		l.leave(gone, errAway)
		expect.OK(t, l.open())
		for range mostCalls {
			expect.OK(t, l.enter(t.Context()))
		}
		for range mostCalls {
			l.leave(t.Context(), errAway)
		}
		later(firstPause - 1)
		expect.Says(t, "a look before the first pause is over", l.open(), cannotReach)
		later(1)
		expect.OK(t, l.open())
	})
}

// A good answer lets others pass; many of them make failures forgotten.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		pass(t, l, errAway)
		later(firstPause)
		for range manyGood {
			if !l.doubtful() {
				t.Fatal("the failure is forgotten too soon")
			}
			pass(t, l, nil)
		}
		if l.doubtful() {
			t.Error("the failure is not forgotten")
		}
	})
}

// A new cluster is asked by one caller; the others wait for a moment, and go on together once there is an answer.
func TestOthersWait(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		took   time.Duration
		passed int64
	}{
		"answer":     {nil, 100 * time.Millisecond, mostCalls},
		"no answer":  {errAway, 100 * time.Millisecond, 0},
		"no end yet": {nil, 4 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine()
				expect.OK(t, l.enter(t.Context()))
				var passed, longest atomic.Int64
				begin := time.Now()
				for range 50 {
					go func() {
						if l.enter(t.Context()) == nil {
							passed.Add(1)
						}
						longest.Store(max(longest.Load(), int64(time.Since(begin))))
					}()
				}
				later(c.took)
				l.leave(t.Context(), c.answer)
				later(2 * patience)
				synctest.Wait()
				expect.Same(t, "callers that passed", c.passed, passed.Load())
				if wait := time.Duration(longest.Load()); wait > patience {
					t.Errorf("a caller waited for %s", wait)
				}
			})
		})
	}
}
