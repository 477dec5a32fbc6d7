// Package turns has queues that serve namespaces by turns. A user of one namespace can make any number of objects, and
// each object of another namespace is handed out as if those were one.
package turns

import (
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Queue hands out items round robin over their namespaces, and those of a namespace in the order in which they came. It is the
// storage of a workqueue, which holds a lock for each call.
type Queue[T comparable] struct {
	// Namespace is that of an item.
	Namespace func(T) string

	items map[string][]T
	// turn has the namespaces with items, the next one first.
	turn  []string
	count int
}

// Touch implements workqueue.Queue: an item that is there keeps its place.
func (q *Queue[T]) Touch(T) {}

// Push implements workqueue.Queue.
func (q *Queue[T]) Push(item T) {
	if q.items == nil {
		q.items = map[string][]T{}
	}
	namespace := q.Namespace(item)
	if len(q.items[namespace]) == 0 {
		q.turn = append(q.turn, namespace)
	}
	q.items[namespace] = append(q.items[namespace], item)
	q.count++
}

// Len implements workqueue.Queue.
func (q *Queue[T]) Len() int { return q.count }

// Pop implements workqueue.Queue.
func (q *Queue[T]) Pop() T {
	namespace := q.turn[0]
	q.turn = q.turn[1:]
	items := q.items[namespace]
	first := items[0]
	items[0] = *new(T) // the array still exists
	if q.items[namespace] = items[1:]; len(items) == 1 {
		delete(q.items, namespace)
	} else {
		q.turn = append(q.turn, namespace)
	}
	q.count--
	return first
}

// NewQueue is for the options of a controller.
func NewQueue(
	name string, limiter workqueue.TypedRateLimiter[ctrl.Request],
) workqueue.TypedRateLimitingInterface[ctrl.Request] {
	ready := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[ctrl.Request]{
		Name: name, Queue: &Queue[ctrl.Request]{Namespace: func(r ctrl.Request) string { return r.Namespace }},
	})
	delayed := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[ctrl.Request]{Name: name, Queue: ready})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{
		Name: name, DelayingQueue: delayed,
	})
}
