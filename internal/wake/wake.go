// Package wake paces the keys of machines that are worth another look, on their way from who has noticed a change to the work
// queue. A caller may rely on this:
//
//   - Wake returns at once and calls none of the caller's code, so it may be called with any lock held.
//   - A key passes at once, and the same one again after a second, or without a wait as often as the Pacer allows. Of a
//     namespace, burst keys pass without a wait, and then perSecond in each second; those that have not passed in the last
//     minute go first. No namespace holds back the keys of another.
//   - A key that waits is kept once. Of a namespace, mostWaiting wait at most; more are dropped, because each machine is looked
//     at every few minutes anyway.
package wake

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// tickEvery is how often the keys that wait are tried.
const tickEvery = pause / 10

// Pacer hands keys on to a work queue. Before Feed it drops them.
type Pacer struct {
	// Namespace is the only one whose keys pass; "" is any.
	Namespace string
	// AtOnce is how often the same key passes without a wait; zero is once.
	AtOnce int

	mu         sync.Mutex
	queue      workqueue.TypedRateLimitingInterface[ctrl.Request]
	namespaces map[string]*namespace
	swept      time.Time // when namespaces were last forgotten
	ticking    bool
}

// Feed sets the queue. It is a source of a controller.
func (p *Pacer) Feed(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue, p.namespaces = queue, map[string]*namespace{}
	return nil
}

// Wake has machines looked at. One that is named twice is looked at once.
func (p *Pacer) Wake(keys ...types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue == nil {
		return
	}
	now := time.Now()
	p.sweep(now)
	for key := range sets.New(keys...) {
		if (p.Namespace == "" || p.Namespace == key.Namespace) && p.namespaceOf(key.Namespace).add(key, now) {
			p.queue.Add(ctrl.Request{NamespacedName: key})
		}
	}
	p.await()
}

func (p *Pacer) namespaceOf(name string) *namespace {
	if p.namespaces[name] == nil {
		p.namespaces[name] = newNamespace(p.AtOnce)
	}
	return p.namespaces[name]
}

// sweep forgets, once a minute, the namespaces of which a new one would do as well.
func (p *Pacer) sweep(now time.Time) {
	if now.Sub(p.swept) < lately {
		return
	}
	p.swept = now
	for name, n := range p.namespaces {
		if n.forget(now); n.idle() {
			delete(p.namespaces, name)
		}
	}
}

// await has the keys that wait tried again soon.
func (p *Pacer) await() {
	if p.ticking {
		return
	}
	for _, n := range p.namespaces {
		if len(n.waits) > 0 {
			p.ticking = true
			time.AfterFunc(tickEvery, p.tick)
			return
		}
	}
}

func (p *Pacer) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ticking = false
	if p.queue.ShuttingDown() {
		return
	}
	now := time.Now()
	for _, n := range p.namespaces {
		for _, key := range n.due(now) {
			p.queue.Add(ctrl.Request{NamespacedName: key})
		}
	}
	p.await()
}

const (
	// pause is how long a key waits that has passed as often as it may at once.
	pause = time.Second

	// burst is how many keys of a namespace pass without a wait. A restart of the manager, or of a cloud, sends that of each
	// machine, and a namespace may have 5,000.
	burst = 5000
	// perSecond is how many pass in a second after that.
	perSecond = 100

	// lately: a key that has passed within this time waits behind those that have not, so that a quiet machine does not wait for
	// those that change without pause.
	lately = time.Minute

	// mostWaiting is how many keys of a namespace may wait.
	mostWaiting = 10_000
)

// namespace holds back the keys of one that come too fast.
type namespace struct {
	bucket *rate.Limiter
	waits  map[types.NamespacedName]bool
	// first are those of waits that had not passed lately when they came, and repeated the others, in their order.
	first, repeated []types.NamespacedName
	// paidUntil is, for each key that has passed lately, by when it would have passed as often with a pause after each time. No key
	// passes that is ahead of that by more than its credit.
	paidUntil map[types.NamespacedName]time.Time
	credit    time.Duration
}

func newNamespace(atOnce int) *namespace {
	return &namespace{
		bucket: rate.NewLimiter(perSecond, burst), waits: map[types.NamespacedName]bool{},
		paidUntil: map[types.NamespacedName]time.Time{},
		credit:    time.Duration(max(atOnce-1, 0)) * pause,
	}
}

// add returns whether a key may pass now; if not, it waits. It does not overtake those that are to pass before it.
func (n *namespace) add(key types.NamespacedName, now time.Time) bool {
	if n.waits[key] {
		return false
	}
	repeats := now.Sub(n.paidUntil[key]) < lately-pause
	if len(n.first) == 0 && (!repeats || len(n.repeated) == 0) && n.take(key, now) {
		return true
	}
	if len(n.waits) >= mostWaiting {
		return false
	}
	n.waits[key] = true
	if repeats {
		n.repeated = append(n.repeated, key)
	} else {
		n.first = append(n.first, key)
	}
	return false
}

// due returns the keys that may pass by now.
func (n *namespace) due(now time.Time) (due []types.NamespacedName) {
	for _, queue := range []*[]types.NamespacedName{&n.first, &n.repeated} {
		var left []types.NamespacedName
		for _, key := range *queue {
			if !n.take(key, now) {
				left = append(left, key)
				continue
			}
			delete(n.waits, key)
			due = append(due, key)
		}
		*queue = left
	}
	return due
}

// take lets a key pass if it has not passed too often and the bucket is not empty.
func (n *namespace) take(key types.NamespacedName, now time.Time) bool {
	paid := n.paidUntil[key]
	if paid.Sub(now) > n.credit || !n.bucket.AllowN(now, 1) {
		return false
	}
	if paid.Before(now) {
		paid = now
	}
	n.paidUntil[key] = paid.Add(pause)
	return true
}

func (n *namespace) forget(now time.Time) {
	for key, paid := range n.paidUntil {
		if now.Sub(paid) >= lately-pause {
			delete(n.paidUntil, key)
		}
	}
}

// idle means that a new one would do as well.
func (n *namespace) idle() bool { return len(n.waits)+len(n.paidUntil) == 0 }
