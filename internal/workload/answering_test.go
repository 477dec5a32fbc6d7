package workload

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// hints counts what a line or its Nodes tell.
type hints int

func (h *hints) tell() { *h++ }

// Callers that were turned away are told once the cluster answers, and a cluster that answers tells nothing.
func TestTellsWhoWasTurnedAway(t *testing.T) {
	for name, c := range map[string]struct {
		does func(t *testing.T, l *line)
		want hints
	}{
		"the first connection takes long": {want: 1, does: func(t *testing.T, l *line) {
			expect.OK(t, l.enter(t.Context()))
			for range 20 {
				go func() { expect.Says(t, "caller", l.enter(t.Context()), "wait for an answer") }()
			}
			later(4 * time.Second)
			l.leave(t.Context(), nil)
		}},
		"the first connection is quick": {want: 0, does: func(t *testing.T, l *line) {
			expect.OK(t, l.enter(t.Context()))
			go func() { pass(t, l, nil) }()
			later(patience / 2)
			l.leave(t.Context(), nil)
		}},
		"it answers again": {want: 2, does: func(t *testing.T, l *line) {
			for range 2 {
				pass(t, l, errAway)
				later(longestPause)
				pass(t, l, nil)
			}
		}},
		"another kubeconfig, after a failure and an answer": {want: 2, does: func(t *testing.T, l *line) {
			pass(t, l, nil)
			expect.OK(t, l.enter(t.Context()))
			expect.OK(t, l.enter(t.Context()))
			l.leave(t.Context(), errAway)
			l.leave(t.Context(), nil)
			expect.Says(t, "a look", l.open(), away)
			l.retry()
			pass(t, l, nil)
		}},
		"another kubeconfig, after which nobody was turned away": {want: 1, does: func(t *testing.T, l *line) {
			pass(t, l, errAway)
			later(longestPause)
			pass(t, l, nil)
			l.retry()
			pass(t, l, nil)
		}},
		"it is still away": {want: 0, does: func(t *testing.T, l *line) {
			for range 5 {
				pass(t, l, errAway)
				later(longestPause)
			}
		}},
		"its kubeconfig is not there yet": {want: 1, does: func(t *testing.T, l *line) {
			l.turnAway()
			pass(t, l, nil)
		}},
		// Each answer would wake all who wait for a place: they would come in vain, all at once.
		"too many calls while it answers": {want: 0, does: func(t *testing.T, l *line) {
			pass(t, l, nil)
			for range mostCalls {
				expect.OK(t, l.enter(t.Context()))
			}
			expect.Says(t, "one more", l.enter(t.Context()), "wait for an answer")
			for range mostCalls {
				l.leave(t.Context(), nil)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, told := newLine(), hints(0)
				l.tell = told.tell
				c.does(t, l)
				synctest.Wait()
				expect.Same(t, "hints", c.want, told)
			})
		})
	}
}

// slow is a cluster whose list of Nodes takes its time.
type slow struct {
	client.Client
	takes time.Duration
	ends  error
}

// List implements client.Reader.
func (s *slow) List(context.Context, client.ObjectList, ...client.ListOption) error {
	later(s.takes)
	return s.ends
}

// list reads from a cluster as its callers do.
func list(t *testing.T, of *reading[[]corev1.Node], api client.Client) ([]corev1.Node, error) {
	t.Helper()
	return of.get(t.Context(), fresh, func(ctx context.Context) ([]corev1.Node, error) { return readControlPlane(ctx, api) })
}

// A caller who did not wait for the end of a reading is told when it has succeeded.
func TestTellsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, told := &reading[[]corev1.Node]{}, hints(0)
		n.tell = told.tell
		read := func(api *slow, callers int, want hints) {
			t.Helper()
			for range callers {
				go func() { _, _ = list(t, n, api) }()
			}
			later(api.takes + time.Second)
			synctest.Wait()
			expect.Same(t, "hints", want, told)
			later(fresh)
		}
		began := time.Now()
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { _, _ = list(t, n, &slow{takes: patience / 2}) })
		}
		callers.Wait()
		expect.Same(t, "time of all callers", patience/2, time.Since(began))
		later(fresh)
		read(&slow{takes: 3 * time.Second}, 1, 0)
		read(&slow{takes: 3 * time.Second}, 50, 1)
		read(&slow{takes: 3 * time.Second, ends: errAway}, 50, 1)
		read(&slow{takes: patience / 2}, 1, 2)
		read(&slow{takes: patience / 2}, 1, 2)
	})
}

// A reading that fails has failed for all who wait for it.
func TestFailedReadingOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n reading[[]corev1.Node]
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if _, err := list(t, &n, &slow{takes: patience / 2, ends: errAway}); !errors.Is(err, errAway) {
					t.Errorf("error = %v", err)
				}
			})
		}
		callers.Wait()
	})
}

// A hint names the Cluster, reaches all listeners, and never waits for one.
func TestAnswering(t *testing.T) {
	c, _ := workloadCluster(t, showNode)
	m, _ := c.Live.(*management)
	first, second := c.Answering(), c.Answering()
	kubeconfig := m.kubeconfig
	m.kubeconfig = ""
	_, err := c.ControlPlane(t.Context(), key)
	expect.Says(t, "no kubeconfig", err, "does not exist")
	m.kubeconfig = kubeconfig
	c.clusters[key].read = time.Time{}
	expect.Got(c.ControlPlane(t.Context(), key))(t)
	expect.Same(t, "hints", []int{1, 1}, []int{len(first), len(second)})
	expect.Same(t, "cluster", key, <-first)
	for range 2 * mostHints {
		c.tell(key)
	}
	expect.Same(t, "hints that wait", mostHints, len(first))
}
