package wake

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// TestBurst: of a namespace, a burst passes, and no more than may wait are kept.
func TestBurst(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	for n := range burst {
		if !ns.add(key("a", fmt.Sprint(n)), now) {
			t.Fatalf("key %d has to wait", n)
		}
	}
	for n := range 2 * mostWaiting {
		if ns.add(key("a", fmt.Sprint(n)), now) {
			t.Fatalf("key %d passes", n)
		}
	}
	expect.Same(t, "keys that wait", mostWaiting, len(ns.waits))
	expect.Same(t, "keys at once", 0, len(ns.due(now)))
	due := ns.due(now.Add(pause))
	expect.Same(t, "keys after a pause", perSecond, len(due))
	expect.Same(t, "the first of those that have not passed", key("a", fmt.Sprint(burst)), due[0])
	for len(ns.waits) > 0 {
		now = now.Add(time.Minute)
		ns.due(now)
	}
	ns.forget(now.Add(lately))
	expect.Same(t, "what is remembered", true, ns.idle())
}

// TestRestart: the keys of 5,000 machines pass without a wait, as the first list of a restart sends them, and are taken half a
// minute later again, as after an outage.
func TestRestart(t *testing.T) {
	const machines = 5000
	now := time.Now()
	ns := newNamespace(1)
	for range 2 {
		passed := 0
		for n := range machines {
			if ns.add(key("a", fmt.Sprint(n)), now) {
				passed++
			}
		}
		for seconds := 0; passed < machines; seconds++ {
			if seconds > 30 {
				t.Fatalf("%d keys have passed in 30 s", passed)
			}
			now = now.Add(time.Second)
			passed += len(ns.due(now))
		}
		now = now.Add(30 * time.Second)
	}
}

// TestQuietFirst: a machine that changes now and then does not wait behind those that change without pause.
func TestQuietFirst(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	for tick := range 600 {
		now = now.Add(tickEvery)
		for n := range 500 {
			ns.add(key("a", fmt.Sprint(n)), now)
		}
		if tick%10 != 9 {
			ns.due(now)
			continue
		}
		quiet := key("a", fmt.Sprint("quiet-", tick))
		if !ns.add(quiet, now) && !slices.Contains(ns.due(now.Add(tickEvery)), quiet) {
			t.Fatalf("after %d ticks, a quiet machine still waits", tick)
		}
	}
}

// keysOf are keys of one namespace.
func keysOf(names ...string) (all []types.NamespacedName) {
	for _, name := range names {
		all = append(all, key("a", name))
	}
	return all
}

// TestOrder: a key waits once, those that have not passed lately go first, and none overtakes another of its kind.
func TestOrder(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	expect.Same(t, "old passes", true, ns.add(key("a", "old"), now))
	expect.Same(t, "old again", false, ns.add(key("a", "old"), now))
	expect.Same(t, "old a third time", false, ns.add(key("a", "old"), now))
	expect.Same(t, "new overtakes old", true, ns.add(key("a", "new"), now))
	ns.bucket = rate.NewLimiter(0, 0)
	expect.Same(t, "first without a token", false, ns.add(key("a", "first"), now))
	ns.bucket = rate.NewLimiter(0, 2)
	expect.Same(t, "second behind first", false, ns.add(key("a", "second"), now))
	expect.Same(t, "passed key behind first", false, ns.add(key("a", "new"), now.Add(pause)))
	ns.bucket = rate.NewLimiter(0, 10)
	expect.Same(t, "due", keysOf("first", "second", "old", "new"), ns.due(now.Add(pause)))
	expect.Same(t, "due again", 0, len(ns.due(now.Add(2*pause))))
}

// TestBehindItsKind: a key that has passed lately waits behind one of its kind that waits.
func TestBehindItsKind(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	for _, one := range keysOf("x", "y", "x") {
		ns.add(one, now)
	}
	expect.Same(t, "y overtakes x", false, ns.add(key("a", "y"), now.Add(pause)))
	expect.Same(t, "due", keysOf("x", "y"), ns.due(now.Add(pause)))
}

// TestAgain: a key that has passed a second ago passes at once, if none waits before it.
func TestAgain(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	expect.Same(t, "first", true, ns.add(key("a", "m"), now))
	expect.Same(t, "before a second", false, passedNow(key("a", "m"), now).add(key("a", "m"), now.Add(pause-1)))
	expect.Same(t, "after a second", true, ns.add(key("a", "m"), now.Add(pause)))
}

// TestAtOnce: a key passes ten times at once, where the pacer allows that, and once a second after that. None waits for long.
func TestAtOnce(t *testing.T) {
	now := time.Now()
	ns := newNamespace(10)
	for range 10 {
		expect.Same(t, "at once", true, ns.add(key("a", "m"), now))
	}
	expect.Same(t, "the eleventh", false, ns.add(key("a", "m"), now))
	expect.Same(t, "it, almost", 0, len(ns.due(now.Add(pause-1))))
	expect.Same(t, "it, when its time has come", keysOf("m"), ns.due(now.Add(pause)))
	expect.Same(t, "another machine", true, ns.add(key("a", "other"), now.Add(pause)))
	expect.Same(t, "after ten seconds", true, ns.add(key("a", "m"), now.Add(10*pause)))
}

// passedNow has a key that has just passed.
func passedNow(key types.NamespacedName, now time.Time) *namespace {
	ns := newNamespace(1)
	ns.add(key, now)
	return ns
}

// TestBucketFills: after a long rest no more pass than the burst.
func TestBucketFills(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	expect.Same(t, "tokens", float64(burst), ns.bucket.TokensAt(now.Add(time.Hour)))
}

// TestPaceLasts: the pace is that of each second, and no key that comes later passes before one that waits.
func TestPaceLasts(t *testing.T) {
	now := time.Now()
	ns := newNamespace(1)
	for n := range burst + 10*perSecond {
		ns.add(key("a", fmt.Sprint(n)), now)
	}
	for range 3 {
		now = now.Add(time.Second)
		expect.Same(t, "keys of a second", perSecond, len(ns.due(now)))
	}
	now = now.Add(time.Second)
	if ns.add(key("a", "late"), now) {
		t.Error("a key has overtaken those that wait")
	}
	expect.Same(t, "keys of a second", perSecond, len(ns.due(now)))
}
