package world

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// queue is a controller's own. It can tell when a request was worked off: that is how a test knows that a controller has looked
// and done nothing. It can tell as well what will have an object looked at again, and collects the looks after which nothing
// would.
type queue struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]

	// now is the clock of the process, and watches says what wakes the controller.
	now     func() time.Time
	watches func(phase.Source) bool

	mu         sync.Mutex
	worked     sync.Cond
	requests   map[ctrl.Request]*looks
	complaints []string
	closed     bool
}

// looks are those at one object.
type looks struct {
	started, finished int
	// ending is how the last look ended, and due when the next one comes by itself; zero if none does.
	ending ending
	due    time.Time
}

func (l *looks) idle() bool { return l.started == l.finished }

func newQueue(name string, limiter workqueue.TypedRateLimiter[ctrl.Request]) *queue {
	q := &queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{Name: name}),
		requests: map[ctrl.Request]*looks{},
	}
	q.worked.L = &q.mu
	return q
}

// of must be called with the lock.
func (q *queue) of(request ctrl.Request) *looks {
	if q.requests[request] == nil {
		q.requests[request] = &looks{}
	}
	return q.requests[request]
}

// Get hands out a request and notes it. What was asked for by an earlier look does not count any more.
func (q *queue) Get() (ctrl.Request, bool) {
	request, down := q.TypedRateLimitingInterface.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(request)
	l.started++
	l.ending, l.due = ending{}, time.Time{}
	q.closed = q.closed || down
	q.worked.Broadcast()
	return request, down
}

// AddAfter notes when a request comes again.
func (q *queue) AddAfter(request ctrl.Request, after time.Duration) {
	if after > 0 {
		q.expect(request, after)
	}
	q.TypedRateLimitingInterface.AddAfter(request, after)
}

// AddRateLimited notes that a request comes again in a moment.
func (q *queue) AddRateLimited(request ctrl.Request) {
	q.expect(request, time.Second) // as long as its limiter holds it back at most
	q.TypedRateLimitingInterface.AddRateLimited(request)
}

func (q *queue) expect(request ctrl.Request, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, at := q.of(request), q.now().Add(after)
	if l.due.IsZero() || at.Before(l.due) {
		l.due = at
	}
}

// end notes what the controller said of the look under way.
func (q *queue) end(request ctrl.Request, e ending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(request).ending = e
}

// Done notes that a request was worked off.
func (q *queue) Done(request ctrl.Request) {
	q.mu.Lock()
	l := q.of(request)
	l.finished = l.started
	if text := l.ending.complaint(!l.due.IsZero(), q.watches); text != "" {
		q.complaints = append(q.complaints, fmt.Sprintf("a look at %s %s, and %s", request, l.ending, text))
	}
	q.worked.Broadcast()
	q.mu.Unlock()
	q.TypedRateLimitingInterface.Done(request)
}

// looks says how often a request was worked on, and whether none of that goes on now.
func (q *queue) looks(request ctrl.Request) (made int, idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(request)
	return l.started, l.idle()
}

// next says when an object is looked at again by itself, and how the last look at it ended. It is the zero time if nothing but a
// watch wakes it, and now while it is looked at.
func (q *queue) next(request ctrl.Request) (time.Time, ending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(request)
	if !l.idle() {
		return q.now(), ending{}
	}
	return l.due, l.ending
}

// complained returns what was found wrong.
func (q *queue) complained() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.complaints
}

// work adds a request and returns when it was worked off from beginning to end, or when the queue is closed.
func (q *queue) work(request ctrl.Request) bool {
	q.mu.Lock()
	before := q.of(request).started
	q.mu.Unlock()
	q.Add(request)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.of(request).finished <= before && !q.closed {
		q.worked.Wait()
	}
	return q.of(request).finished > before
}
