package accounts

import (
	"context"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/fake"
)

// pacerKeys are keys of one namespace.
func pacerKeys(names ...string) (all []cloud.Key) {
	for _, name := range names {
		all = append(all, key("a", name))
	}
	return all
}

// TestPacerOrder: a key waits once, those that have not passed lately go first, and none overtakes another of its kind.
func TestPacerOrder(t *testing.T) {
	now := time.Now()
	p := newPacer(now)
	expect.Same(t, "old passes", true, p.add(key("a", "old"), now))
	expect.Same(t, "old again", false, p.add(key("a", "old"), now))
	expect.Same(t, "old a third time", false, p.add(key("a", "old"), now))
	expect.Same(t, "new overtakes old", true, p.add(key("a", "new"), now))
	p.tokens = 0
	expect.Same(t, "first without a token", false, p.add(key("a", "first"), now))
	p.tokens = 2
	expect.Same(t, "second behind first", false, p.add(key("a", "second"), now))
	expect.Same(t, "passed key behind first", false, p.add(key("a", "new"), now.Add(pause)))
	p.tokens = 10
	expect.Same(t, "due", pacerKeys("first", "second", "old", "new"), p.due(now.Add(pause)))
	expect.Same(t, "due again", 0, len(p.due(now.Add(2*pause))))
}

// TestPacerBehindItsKind: a key that has passed lately waits behind one of its kind that waits.
func TestPacerBehindItsKind(t *testing.T) {
	now := time.Now()
	p := newPacer(now)
	for _, one := range pacerKeys("x", "y", "x") {
		p.add(one, now)
	}
	expect.Same(t, "y overtakes x", false, p.add(key("a", "y"), now.Add(pause)))
	expect.Same(t, "due", pacerKeys("x", "y"), p.due(now.Add(pause)))
}

// TestPacerAgain: a key that has passed a second ago passes at once, if none waits before it.
func TestPacerAgain(t *testing.T) {
	now := time.Now()
	p := newPacer(now)
	expect.Same(t, "first", true, p.add(key("a", "m"), now))
	expect.Same(t, "before a second", false, newPacerOf(key("a", "m"), now).add(key("a", "m"), now.Add(pause-1)))
	expect.Same(t, "after a second", true, p.add(key("a", "m"), now.Add(pause)))
}

// newPacerOf has a key that has just passed.
func newPacerOf(key cloud.Key, now time.Time) *pacer {
	p := newPacer(now)
	p.add(key, now)
	return p
}

// TestPacerFills: after a long rest no more pass than the burst.
func TestPacerFills(t *testing.T) {
	now := time.Now()
	p := newPacer(now)
	p.fill(now.Add(time.Hour))
	expect.Same(t, "tokens", float64(Burst), p.tokens)
}

// TestPacerForgotten: a namespace is forgotten once none of its keys waits or has passed lately, and no sooner.
func TestPacerForgotten(t *testing.T) {
	now, pacers := time.Now(), map[string]*pacer{}
	expect.Same(t, "passes", pacerKeys("m"), arrive(pacers, key("a", "m"), now))
	expect.Same(t, "waits", 0, len(arrive(pacers, key("a", "m"), now)))
	expect.Same(t, "due at once", 0, len(dueOf(pacers, now)))
	expect.Same(t, "namespaces while one waits", 1, len(pacers))
	expect.Same(t, "due", pacerKeys("m"), dueOf(pacers, now.Add(pause)))
	expect.Same(t, "namespaces while one has passed", 1, len(pacers))
	dueOf(pacers, now.Add(pause+lately))
	expect.Same(t, "namespaces", 0, len(pacers))
}

// TestPacerEnds: keys that no one takes do not hold up the end.
func TestPacerEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	r := &Register{Changed: make(chan cloud.Key)}
	r.handOn(ctx, pacerKeys("m"))
}

// TestLeft: a namespace whose Secrets are gone has no part in an account any more, and another one keeps its own.
func TestLeft(t *testing.T) {
	s := newStage(t)
	s.get("a", "secret", "secret")
	s.get("b", "secret", "secret")
	s.gone("b", "secret")
	s.mu.Lock()
	a := s.secrets[secretOf{kindOf(fake.Provider{}), key("a", "secret")}]
	s.mu.Unlock()
	expect.Same(t, "a has the account", true, s.has(a, "a"))
	expect.Same(t, "b has it", false, s.has(a, "b"))
	expect.Same(t, "its name", "a/secret", a.name(s.Register))
	s.get("c", "wrong", "wrong")
	expect.Same(t, "a wrong Secret is blind", true, s.Marked(func(Marked) {})[key("c", "wrong")])
	s.end()
	_, err := s.Get(fake.Provider{World: s.world}, key("a", "secret"), password("secret"))
	cloudtest.WantError(t, err, cloud.Transient, "")
}
