package accounts

import (
	"context"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// pause is how long a key waits that has just passed.
	pause = time.Second

	// Burst is how many keys of a namespace pass without a wait. A restart of the manager, or of a cloud, sends that of each
	// machine, and a namespace may have 5,000.
	Burst = 5000
	// Rate is how many pass in a second after that.
	Rate = 100

	// lately: a key that has passed within this time waits behind those that have not, so that a quiet machine does not wait for
	// those that change without pause.
	lately = time.Minute

	// maxWaiting is how many keys of a namespace may wait. More are dropped: each machine is looked at every few minutes anyway.
	maxWaiting = 10_000

	// tickEvery is how often those that wait are tried.
	tickEvery = pause / 10
)

// pass hands in the keys of an account for the namespaces that have a Secret of it, until ctx ends.
func (r *Register) pass(ctx context.Context, a *account, keys <-chan cloud.Key) {
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-keys:
			if !r.has(a, key.Namespace) {
				continue
			}
			select {
			case r.arrived <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}

// pace sends the keys that arrive on to the machines, those of each namespace at its own pace, until ctx ends.
func (r *Register) pace(ctx context.Context) {
	pacers := map[string]*pacer{}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		var due []cloud.Key
		busy := tick.C
		if len(pacers) == 0 {
			busy = nil
		}
		select {
		case <-ctx.Done():
			return
		case key := <-r.arrived:
			due = arrive(pacers, key, r.now())
		case <-busy:
			due = dueOf(pacers, r.now())
		}
		r.handOn(ctx, due)
	}
}

// arrive returns a key that may pass at once.
func arrive(pacers map[string]*pacer, key cloud.Key, now time.Time) []cloud.Key {
	p := pacers[key.Namespace]
	if p == nil {
		p = newPacer(now)
		pacers[key.Namespace] = p
	}
	if !p.add(key, now) {
		return nil
	}
	return []cloud.Key{key}
}

// dueOf returns the keys that have waited long enough, and forgets namespaces where none waits.
func dueOf(pacers map[string]*pacer, now time.Time) (due []cloud.Key) {
	for namespace, p := range pacers {
		due = append(due, p.due(now)...)
		if p.idle() {
			delete(pacers, namespace)
		}
	}
	return due
}

// handOn gives keys to their taker until ctx ends.
func (r *Register) handOn(ctx context.Context, due []cloud.Key) {
	for _, key := range due {
		select {
		case r.Changed <- key:
		case <-ctx.Done():
			return
		}
	}
}

// pacer holds keys of a namespace back that come too fast. It holds each key once.
type pacer struct {
	waiting map[cloud.Key]bool
	// first are those of waiting that had not passed lately when they came, and again the others, in their order.
	first, again []cloud.Key
	passed       map[cloud.Key]time.Time // when each key passed that has passed lately
	tokens       float64
	filled       time.Time
}

func newPacer(now time.Time) *pacer {
	return &pacer{waiting: map[cloud.Key]bool{}, passed: map[cloud.Key]time.Time{}, tokens: Burst, filled: now}
}

// add says whether a key may pass now; if not, it waits. It does not overtake those that are to pass before it.
func (p *pacer) add(key cloud.Key, now time.Time) bool {
	if p.waiting[key] {
		return false
	}
	p.fill(now)
	_, again := p.passed[key]
	if len(p.first) == 0 && (!again || len(p.again) == 0) && p.may(key, now) {
		return true
	}
	if len(p.waiting) >= maxWaiting {
		return false
	}
	p.waiting[key] = true
	if again {
		p.again = append(p.again, key)
	} else {
		p.first = append(p.first, key)
	}
	return false
}

// due returns the keys that may pass by now.
func (p *pacer) due(now time.Time) (due []cloud.Key) {
	p.fill(now)
	for _, queue := range []*[]cloud.Key{&p.first, &p.again} {
		var left []cloud.Key
		for _, key := range *queue {
			if !p.may(key, now) {
				left = append(left, key)
				continue
			}
			delete(p.waiting, key)
			due = append(due, key)
		}
		*queue = left
	}
	for key, at := range p.passed {
		if now.Sub(at) >= lately {
			delete(p.passed, key)
		}
	}
	return due
}

// idle says that a new pacer would do as well.
func (p *pacer) idle() bool { return len(p.waiting)+len(p.passed) == 0 }

// may lets a key pass, if there is a token and it has not just passed.
func (p *pacer) may(key cloud.Key, now time.Time) bool {
	if p.tokens < 1 || now.Sub(p.passed[key]) < pause {
		return false
	}
	p.tokens--
	p.passed[key] = now
	return true
}

func (p *pacer) fill(now time.Time) {
	p.tokens = min(Burst, p.tokens+now.Sub(p.filled).Seconds()*Rate)
	p.filled = now
}
