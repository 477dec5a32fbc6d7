package world

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// queue is a controller's own, which can tell when a request was worked off: that is how a test knows that a controller has
// looked and done nothing.
type queue struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]

	mu       sync.Mutex
	worked   sync.Cond
	started  map[ctrl.Request]int
	finished map[ctrl.Request]int
	closed   bool
}

func newQueue(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) *queue {
	q := &queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{Name: name}),
		started: map[ctrl.Request]int{}, finished: map[ctrl.Request]int{},
	}
	q.worked.L = &q.mu
	return q
}

// Get hands out a request and notes it.
func (q *queue) Get() (ctrl.Request, bool) {
	request, down := q.TypedRateLimitingInterface.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.started[request]++
	q.closed = q.closed || down
	q.worked.Broadcast()
	return request, down
}

// Done notes that a request was worked off.
func (q *queue) Done(request ctrl.Request) {
	q.mu.Lock()
	q.finished[request] = q.started[request]
	q.worked.Broadcast()
	q.mu.Unlock()
	q.TypedRateLimitingInterface.Done(request)
}

// looks says how often a request was worked on, and whether none of that goes on now.
func (q *queue) looks(request ctrl.Request) (made int, idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.started[request], q.started[request] == q.finished[request]
}

// work adds a request and returns when it was worked off from beginning to end, or when the queue is closed.
func (q *queue) work(request ctrl.Request) bool {
	q.mu.Lock()
	before := q.started[request]
	q.mu.Unlock()
	q.Add(request)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.finished[request] <= before && !q.closed {
		q.worked.Wait()
	}
	return q.finished[request] > before
}
