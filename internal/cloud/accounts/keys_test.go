package accounts

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// TestFlood: a server that reports without pause wakes each machine once a second at most, and all of them at the rate.
func TestFlood(t *testing.T) {
	const sent = 30_000
	for name, c := range map[string]struct {
		send func(int) cloud.Key
		most int
	}{
		"one machine":                   {func(int) cloud.Key { return key("a", "m") }, 1},
		"machines without end":          {func(n int) cloud.Key { return key("a", fmt.Sprint(n)) }, Burst},
		"machines of another namespace": {func(n int) cloud.Key { return key("b", fmt.Sprint(n)) }, 0},
		"machines without a namespace":  {func(int) cloud.Key { return cloud.Key{} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			flooded := make(chan struct{})
			p := provider{fake.Provider{World: s.world}, func(ctx context.Context, changed chan<- cloud.Key) error {
				for n := range sent {
					changed <- c.send(n)
				}
				close(flooded)
				<-ctx.Done()
				return nil
			}}
			expect.Got(s.Get(p, key("a", "secret"), password("secret")))(t)
			<-flooded
			if n := len(s.keys); n > c.most {
				t.Errorf("%d keys passed, want at most %d", n, c.most)
			}
		})
	}
}

// TestFloodOfANeighbour: machines of another namespace on the same account do not hold back the keys of this one.
func TestFloodOfANeighbour(t *testing.T) {
	s := newStage(t)
	begin := make(chan struct{})
	p := provider{fake.Provider{World: s.world}, func(ctx context.Context, changed chan<- cloud.Key) error {
		<-begin
		for n := range 2 * (Burst + maxWaiting) {
			changed <- key("a", fmt.Sprint(n))
		}
		changed <- key("b", "honest")
		<-ctx.Done()
		return nil
	}}
	expect.Got(s.Get(p, key("a", "secret"), password("secret")))(t)
	expect.Got(s.Get(p, key("b", "secret"), password("secret")))(t)
	close(begin)
	for range Burst {
		<-s.keys
	}
	expect.Same(t, "the key that passes next", key("b", "honest"), <-s.keys)
}

func TestPacer(t *testing.T) {
	now := time.Now()
	p := newPacer(now)
	for n := range Burst {
		if !p.add(key("a", fmt.Sprint(n)), now) {
			t.Fatalf("key %d has to wait", n)
		}
	}
	for n := range 2 * maxWaiting {
		if p.add(key("a", fmt.Sprint(n)), now) {
			t.Fatalf("key %d passes", n)
		}
	}
	expect.Same(t, "keys that wait", maxWaiting, len(p.waiting))
	expect.Same(t, "keys at once", 0, len(p.due(now)))
	due := p.due(now.Add(pause))
	expect.Same(t, "keys after a pause", Rate, len(due))
	expect.Same(t, "the first of those that have not passed", key("a", fmt.Sprint(Burst)), due[0])
	for len(p.waiting) > 0 {
		now = now.Add(time.Minute)
		p.due(now)
	}
	p.due(now.Add(lately))
	expect.Same(t, "what is remembered", true, p.idle())
}

// TestRestart: the keys of 5,000 machines pass without a wait, as the first list of a restart sends them, and are taken half a
// minute later again, as after an outage.
func TestRestart(t *testing.T) {
	const machines = 5000
	now := time.Now()
	p := newPacer(now)
	for range 2 {
		passed := 0
		for n := range machines {
			if p.add(key("a", fmt.Sprint(n)), now) {
				passed++
			}
		}
		for seconds := 0; passed < machines; seconds++ {
			if seconds > 30 {
				t.Fatalf("%d keys have passed in 30 s", passed)
			}
			now = now.Add(time.Second)
			passed += len(p.due(now))
		}
		now = now.Add(30 * time.Second)
	}
}

// TestQuietFirst: a machine that changes now and then does not wait behind those that change without pause.
func TestQuietFirst(t *testing.T) {
	now := time.Now()
	p := newPacer(now)
	for tick := range 600 {
		now = now.Add(tickEvery)
		for n := range 500 {
			p.add(key("a", fmt.Sprint(n)), now)
		}
		if tick%10 != 9 {
			p.due(now)
			continue
		}
		quiet := key("a", fmt.Sprint("quiet-", tick))
		if !p.add(quiet, now) && !slices.Contains(p.due(now.Add(tickEvery)), quiet) {
			t.Fatalf("after %d ticks, a quiet machine still waits", tick)
		}
	}
}
