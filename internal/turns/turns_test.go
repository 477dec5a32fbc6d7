package turns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/internal/turns"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func request(namespace string, n int) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}}
}

func newQueue(t *testing.T) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](time.Millisecond, time.Minute)
	queue := turns.NewQueue("turns", limiter)
	t.Cleanup(queue.ShutDown)
	return queue
}

// next gets items and works them off.
func next(t *testing.T, queue workqueue.TypedRateLimitingInterface[ctrl.Request], count int) (got []string) {
	t.Helper()
	for range count {
		item, down := queue.Get()
		expect.Same(t, "the queue is shut down", false, down)
		queue.Done(item)
		got = append(got, item.String())
	}
	return got
}

// TestOneBehindAThousand: a key waits for one of another namespace at most, however many that has.
func TestOneBehindAThousand(t *testing.T) {
	queue := newQueue(t)
	for i := range 1000 {
		queue.Add(request("many", i))
	}
	queue.Add(request("one", 0))
	expect.Same(t, "handed out", []string{"many/0", "one/0", "many/1"}, next(t, queue, 3))
	expect.Same(t, "left", 998, queue.Len())
	queue.Add(request("one", 1))
	expect.Same(t, "handed out", []string{"many/2", "one/1", "many/3"}, next(t, queue, 3))
}

// TestTurns: namespaces take turns, each in the order of its keys, and one that comes back waits for those that are there.
func TestTurns(t *testing.T) {
	queue := newQueue(t)
	for _, key := range []string{"a0", "a1", "a2", "b0", "c0", "c1", "a0", "a1"} {
		queue.Add(request(key[:1], int(key[1]-'0')))
	}
	expect.Same(t, "keys, each once", 6, queue.Len())
	expect.Same(t, "the first", "a/0 b/0 c/0", strings.Join(next(t, queue, 3), " "))
	queue.Add(request("b", 1))
	expect.Same(t, "the rest", "a/1 c/1 b/1 a/2", strings.Join(next(t, queue, 4), " "))
	expect.Same(t, "left", 0, queue.Len())
	queue.Add(request("a", 7))
	expect.Same(t, "once it was empty", "a/7", strings.Join(next(t, queue, 1), " "))
}

// TestDelayed: what comes after a pause, or after a failure, takes its turn then.
func TestDelayed(t *testing.T) {
	queue := newQueue(t)
	queue.AddAfter(request("late", 0), time.Millisecond)
	expect.Same(t, "handed out", []string{"late/0"}, next(t, queue, 1))
	queue.AddAfter(request("now", 0), 0)
	queue.AddRateLimited(request("failed", 0))
	expect.Same(t, "failures", 1, queue.NumRequeues(request("failed", 0)))
	expect.Same(t, "handed out", []string{"now/0", "failed/0"}, next(t, queue, 2))
}
