package accounts

import (
	"context"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// pause is how long a key waits that has just passed.
	pause = time.Second

	// Burst is how many keys of an account pass without a wait. A restart of the manager sends each key twice.
	Burst = 1000
	// Rate is how many pass in a second after that.
	Rate = 50

	// maxWaiting is how many keys may wait. More are dropped: each machine is looked at every few minutes anyway.
	maxWaiting = 10_000
)

// pass sends the keys of an account on to the machines that they may wake, until ctx ends.
func (r *Register) pass(ctx context.Context, a *account, keys <-chan cloud.Key) {
	p := newPacer(r.now())
	tick := time.NewTicker(pause / 10)
	defer tick.Stop()
	for {
		var due []cloud.Key
		busy := tick.C
		if len(p.waiting)+len(p.passed) == 0 {
			busy = nil
		}
		select {
		case <-ctx.Done():
			return
		case key := <-keys:
			if r.has(a, key.Namespace) && p.add(key, r.now()) {
				due = append(due, key)
			}
		case <-busy:
			due = p.due(r.now())
		}
		for _, key := range due {
			select {
			case r.Changed <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}

// pacer holds keys back that come too fast. It holds each key once.
type pacer struct {
	waiting map[cloud.Key]bool
	order   []cloud.Key             // of waiting
	passed  map[cloud.Key]time.Time // when a key passed that may have to wait
	tokens  float64
	filled  time.Time
}

func newPacer(now time.Time) *pacer {
	return &pacer{waiting: map[cloud.Key]bool{}, passed: map[cloud.Key]time.Time{}, tokens: Burst, filled: now}
}

// add says whether a key may pass now; if not, it waits.
func (p *pacer) add(key cloud.Key, now time.Time) bool {
	if p.waiting[key] {
		return false
	}
	p.fill(now)
	if p.may(key, now) {
		return true
	}
	if len(p.waiting) < maxWaiting {
		p.waiting[key] = true
		p.order = append(p.order, key)
	}
	return false
}

// due returns the keys that have waited long enough, the first ones first.
func (p *pacer) due(now time.Time) []cloud.Key {
	p.fill(now)
	var due, left []cloud.Key
	for _, key := range p.order {
		if !p.may(key, now) {
			left = append(left, key)
			continue
		}
		delete(p.waiting, key)
		due = append(due, key)
	}
	p.order = left
	for key, at := range p.passed {
		if now.Sub(at) >= pause {
			delete(p.passed, key)
		}
	}
	return due
}

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
