package wake

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

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
