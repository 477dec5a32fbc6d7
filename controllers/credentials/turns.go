package credentials

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	every = 10 * time.Second
	pace  = time.Second / 5
)

// turns is what decides which Secret is read next.
type turns struct {
	// last is when one was read, and first that it had never been read before.
	last  time.Time
	first bool
	// of is when it was a namespace's turn.
	of map[string]time.Time
}

// candidate is a Secret that is to be read.
type candidate struct {
	name      types.NamespacedName
	turn, due time.Time
}

// before says which of two Secrets is read first: that of the namespace whose turn was longer ago, then the one that is due
// longer.
func (c candidate) before(other candidate) bool {
	return cmp.Or(c.turn.Compare(other.turn), c.due.Compare(other.due), cmp.Compare(c.name.String(), other.name.String())) < 0
}

// next is the Secret that is read now, and when it is read again; or how long there is nothing to do.
func (k *Keeper) next() (types.NamespacedName, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	if rest := k.turns.last.Add(cmp.Or(k.Pace, pace)).Sub(now); rest > 0 {
		return types.NamespacedName{}, rest
	}
	first, again, wait := k.due(now)
	chosen := again
	// A machine waits for a Secret that was never read. But others must not wait because more and more of those are named.
	if first != nil && (again == nil || !k.turns.first) {
		chosen = first
	}
	if chosen == nil {
		return types.NamespacedName{}, wait
	}
	k.turns.last, k.turns.first = now, chosen == first
	k.turns.of[chosen.name.Namespace] = now
	k.secrets[chosen.name].due = now.Add(cmp.Or(k.Every, every))
	return chosen.name, 0
}

// due finds, of the Secrets that were never read and of the others, the one whose turn it is; and how long it takes until one is
// due. It forgets those that no one needs.
func (k *Keeper) due(now time.Time) (first, again *candidate, wait time.Duration) {
	wait = cmp.Or(k.Every, every)
	turns := map[string]time.Time{}
	for name, s := range k.secrets {
		if !s.used() && len(s.users) == 0 {
			delete(k.secrets, name)
		}
		if !s.used() {
			continue
		}
		c := candidate{name, k.turns.of[name.Namespace], s.due}
		turns[name.Namespace] = c.turn
		best := &again
		if !s.known && s.err == nil {
			best = &first
		}
		switch rest := s.due.Sub(now); {
		case rest > 0:
			wait = min(wait, rest)
		case *best == nil || c.before(**best):
			*best = &c
		}
	}
	k.turns.of = turns
	k.forgetWakes(now)
	return first, again, wait
}
