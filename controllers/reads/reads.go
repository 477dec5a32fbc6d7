// Package reads looks up objects by name, for keepers of what must not be listed or watched. A caller may rely on this:
//
//   - An object is read at once when it is first wanted, and then every 10 seconds. All reads of a Reader together are at most
//     5 a second, however many objects there are.
//   - The namespaces that want objects take turns, so that none keeps the others waiting by naming many. So do objects that were
//     never read, for which a machine waits, and the others. One object is read at a time for a namespace: those that are not
//     answered keep no other namespace waiting.
//   - The machines that a change concerns are woken at the pace of internal/wake, each up to ten times without a wait: what a
//     machine needs is read in several steps.
package reads

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capwin/cluster-api-provider-windows/internal/wake"
)

const (
	// Interval is how often an object is read.
	Interval = 10 * time.Second
	pace     = time.Second / 5
	// patience is how long the API server may take to answer.
	patience = 10 * time.Second

	wakesAtOnce = 10
)

// Object names what is read. Kind is its keeper's.
type Object struct {
	Kind string
	types.NamespacedName
}

// Turn is when an object is read; Repeat is true if it was read before.
type Turn struct {
	Due    time.Time
	Repeat bool
}

// Reader decides which object is read next, and wakes machines. Its zero value works.
type Reader struct {
	// Interval is how often an object is read, and Pace the time between any two reads; zero is 10 s and 200 ms. Tests are faster.
	Interval, Pace time.Duration
	// Clock is the time; nil is that of the computer.
	Clock func() time.Time
	// Askers are the namespaces for which an object is read, whose turn it then is; nil is the object's own. Where users may name
	// objects of any namespace, those of others must not wait for what they name there.
	Askers func(Object) []string

	pacer wake.Pacer
	init  sync.Once
	// begin is filled when an object may have to be read before the time that Next returned.
	begin chan struct{}
	// lastRead is when an object was read, and first that it had never been read before.
	lastRead time.Time
	first    bool
	// turns is when it was a namespace's turn.
	turns map[string]time.Time
	// asker is the namespace for which an object was chosen last, and reading has those of the objects that are being read.
	asker   string
	reading sync.Map
}

// Run reads one object after the other for each namespace, when it is its turn, until ctx ends. The lock is that of the keeper,
// for wanted.
func (r *Reader) Run(ctx context.Context, lock sync.Locker, wanted iter.Seq2[Object, *Turn], read func(context.Context, Object)) {
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		lock.Lock()
		object, wait := r.Next(wanted)
		lock.Unlock()
		if wait == 0 {
			r.reading.Store(object, r.asker)
			running.Go(func() {
				limited, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				read(limited, object)
				r.reading.Delete(object)
				r.Stir()
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		case <-r.stirred():
		}
	}
}

// IsReading reports whether an object is being read. The keeper MUST NOT forget it then.
func (r *Reader) IsReading(o Object) bool {
	_, found := r.reading.Load(o)
	return found
}

// isBusy reports whether an object is being read for a namespace.
func (r *Reader) isBusy(asker string) (busy bool) {
	r.reading.Range(func(_, namespace any) bool {
		busy = namespace == asker
		return !busy
	})
	return busy
}

// Next is the object of those that are wanted that is read now; or how long there is nothing to do.
func (r *Reader) Next(wanted iter.Seq2[Object, *Turn]) (Object, time.Duration) {
	now := r.Now()
	if rest := r.lastRead.Add(cmp.Or(r.Pace, pace)).Sub(now); rest > 0 {
		return Object{}, rest
	}
	first, repeat, wait := r.due(now, wanted)
	chosen := repeat
	// A machine waits for an object that was never read. But others must not wait because more and more of those are named.
	if first != nil && (repeat == nil || !r.first) {
		chosen = first
	}
	if chosen == nil {
		return Object{}, wait
	}
	r.lastRead, r.first, r.asker = now, chosen == first, chosen.asker
	r.turns[chosen.asker] = now
	*chosen.turn = Turn{Due: now.Add(cmp.Or(r.Interval, Interval)), Repeat: true}
	return chosen.Object, 0
}

// candidate is an object that is to be read for a namespace, and when it was that namespace's turn.
type candidate struct {
	Object
	turn     *Turn
	asker    string
	lastTurn time.Time
}

// precedes: the object of the namespace whose turn was longer ago is read first, then the one that is due longer.
func (c *candidate) precedes(c2 *candidate) bool {
	return c2 == nil ||
		cmp.Or(c.lastTurn.Compare(c2.lastTurn), c.turn.Due.Compare(c2.turn.Due), cmp.Compare(c.String(), c2.String())) < 0
}

// due finds whose turn it is of the objects that were never read, and of the others, and how long it takes until one is due.
func (r *Reader) due(now time.Time, wanted iter.Seq2[Object, *Turn]) (first, repeat *candidate, wait time.Duration) {
	wait = cmp.Or(r.Interval, Interval)
	turns := map[string]time.Time{}
	for object, turn := range wanted {
		if r.IsReading(object) {
			continue
		}
		best := &first
		if turn.Repeat {
			best = &repeat
		}
		rest := turn.Due.Sub(now)
		if rest > 0 {
			wait = min(wait, rest)
		}
		askers := []string{object.Namespace}
		if r.Askers != nil {
			askers = r.Askers(object)
		}
		for _, asker := range askers {
			c := &candidate{object, turn, asker, r.turns[asker]}
			if turns[asker] = c.lastTurn; rest <= 0 && !r.isBusy(asker) && c.precedes(*best) {
				*best = c
			}
		}
	}
	r.turns = turns
	return first, repeat, wait
}

// Stir has the next object chosen anew.
func (r *Reader) Stir() {
	select {
	case r.stirred() <- struct{}{}:
	default: // that is about to be done
	}
}

func (r *Reader) stirred() chan struct{} {
	r.init.Do(func() { r.begin = make(chan struct{}, 1) })
	return r.begin
}

// Feed has the machines woken by a queue.
func (r *Reader) Feed(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	r.pacer.AtOnce = wakesAtOnce
	return r.pacer.Feed(ctx, queue)
}

// Wake has machines looked at.
func (r *Reader) Wake(machines ...types.NamespacedName) { r.pacer.Wake(machines...) }

// Now is the time.
func (r *Reader) Now() time.Time {
	if r.Clock == nil {
		return time.Now()
	}
	return r.Clock()
}
