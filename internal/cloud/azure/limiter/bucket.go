package limiter

import (
	"maps"
	"time"
)

// share of what Azure allows is what we use; the rest covers what strangers take between two answers.
const share = 0.95

// forgotten is how long a place is kept for an asker that does not come.
const forgotten = 2 * time.Minute

// size is how many calls fit, and how many become possible each second.
type size struct{ capacity, rate float64 }

// kind is where a class of calls is counted.
type kind struct{ door, service string }

// What Azure documents: "Request limits and throttling" for the front door, "Compute throttling limits", and the limits of
// networking.
var (
	doors = map[string]size{
		"reads":   {250, 25},
		"writes":  {200, 10},
		"deletes": {200, 10},
	}
	services = map[string]size{
		"PutVM":         {1500, 500. / 60},
		"DeleteVM":      {1500, 500. / 60},
		"LowCostGet":    {24000, 8000. / 60},
		"HighCostGet":   {900, 300. / 60},
		"NetworkReads":  {10000, 10000. / 300},
		"NetworkWrites": {1000, 1000. / 300},
		"Sizes":         {60, 1}, // nothing is documented; we ask once a day
	}
	kinds = map[Class]kind{
		PutVM:         {"writes", "PutVM"},
		DeleteVM:      {"deletes", "DeleteVM"},
		GetVM:         {"reads", "LowCostGet"},
		ListVMs:       {"reads", "HighCostGet"},
		ListNetwork:   {"reads", "NetworkReads"},
		WriteNetwork:  {"writes", "NetworkWrites"},
		DeleteNetwork: {"deletes", "NetworkWrites"},
		ListSizes:     {"reads", "Sizes"},
	}
)

// bucket is what we believe to be left.
type bucket struct {
	size
	tokens    float64
	refilled  time.Time // of tokens
	notBefore time.Time
	underWay  int                  // calls without an answer yet
	turns     map[string]time.Time // of the askers that have to wait
	looked    time.Time            // for turns that were not taken
}

// ask returns how long an asker has to wait. An asker that waits has a turn: behind all that wait already.
func (b *bucket) ask(asker string, now time.Time) time.Duration {
	b.refill(now)
	turn, waits := b.turns[asker]
	if !waits && len(b.turns) > 0 {
		b.forget(now)
	}
	if !waits {
		turn = now.Add(b.waitFor(float64(len(b.turns) + 1)))
	}
	wait := turn.Sub(now)
	if waits {
		wait = max(wait, b.waitFor(1))
	}
	wait = max(wait, b.notBefore.Sub(now), 0)
	if wait > 0 {
		b.turns[asker] = turn
	}
	return wait
}

// forget gives up the places of askers that did not come. It looks at all of them, so it does so seldom.
func (b *bucket) forget(now time.Time) {
	if now.Sub(b.looked) < forgotten {
		return
	}
	b.looked = now
	maps.DeleteFunc(b.turns, func(_ string, turn time.Time) bool { return now.Sub(turn) > forgotten })
}

// waitFor is how long it takes until there are as many tokens.
func (b *bucket) waitFor(wanted float64) time.Duration {
	if b.tokens >= wanted {
		return 0
	}
	return time.Duration((wanted-b.tokens)/(b.rate*share)*float64(time.Second)).Round(time.Millisecond) + time.Millisecond
}

func (b *bucket) refill(now time.Time) {
	if now.After(b.refilled) {
		b.tokens = min(b.tokens+now.Sub(b.refilled).Seconds()*b.rate*share, b.capacity*share)
		b.refilled = now
	}
}

func (b *bucket) take(asker string) {
	delete(b.turns, asker)
	b.tokens--
	b.underWay++
}

// settle takes over how much Azure has left, but never more than we counted: other calls of ours are under way.
func (b *bucket) settle(left *int) {
	b.underWay = max(b.underWay-1, 0)
	if left != nil {
		b.tokens = min(b.tokens, float64(*left-b.underWay)-b.capacity*(1-share)/2)
	}
}

// silence stops all calls until its end.
func (b *bucket) silence(end time.Time) {
	if end.After(b.notBefore) {
		b.notBefore = end
	}
	b.tokens = min(b.tokens, 1)
}
