package limiter

import (
	"container/heap"
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

var paceStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pacedAzure counts as Azure does. A stranger takes part of what the service has, as long as there is any.
type pacedAzure struct {
	now            time.Time
	door, service  float64
	stranger       float64 // calls a second
	refused, taken int
}

func (a *pacedAzure) advance(now time.Time) {
	passed := now.Sub(a.now).Seconds()
	a.now = now
	a.door = min(a.door+passed*doors["writes"].rate, doors["writes"].capacity)
	a.service = min(a.service+passed*(services["PutVM"].rate-a.stranger), services["PutVM"].capacity)
	a.service = max(a.service, 0)
}

// put answers a call and says what the headers would.
func (a *pacedAzure) put(now time.Time) Allowance {
	a.advance(now)
	if a.door < 1 || a.service < 1 {
		a.refused++
		return Allowance{Silence: 5 * time.Second}
	}
	a.door, a.service, a.taken = a.door-1, a.service-1, a.taken+1
	return Allowance{LeftAtDoor: new(int(a.door)), LeftAtService: new(int(a.service))}
}

// A pacedEvent is the next try of a machine, or the answer to a call.
type pacedEvent struct {
	at   time.Time
	who  string
	said *Allowance
}

type pacedEvents []pacedEvent

func (e pacedEvents) Len() int           { return len(e) }
func (e pacedEvents) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e pacedEvents) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *pacedEvents) Push(x any)        { *e = append(*e, x.(pacedEvent)) }
func (e *pacedEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// create has many machines made, with a second between call and answer, and returns how long that took, by a clock of its own.
func (a *pacedAzure) create(machines int) time.Duration {
	now := paceStart
	a.now, a.door, a.service = now, doors["writes"].capacity, services["PutVM"].capacity
	l := &Limiter{Now: func() time.Time { return now }}
	scope := Scope{Principal: "p", Subscription: "s"}
	events := &pacedEvents{}
	for i := range machines {
		heap.Push(events, pacedEvent{at: now, who: fmt.Sprint("m", i)})
	}
	for events.Len() > 0 && a.taken < machines {
		e := heap.Pop(events).(pacedEvent)
		now = e.at
		if e.said != nil {
			l.Settle(scope, PutVM, *e.said)
			continue
		}
		if wait := l.Ask(scope, PutVM, e.who); wait > 0 {
			heap.Push(events, pacedEvent{at: now.Add(wait), who: e.who})
			continue
		}
		refused := a.refused
		said := a.put(now)
		heap.Push(events, pacedEvent{at: now.Add(time.Second), said: &said})
		if a.refused > refused {
			heap.Push(events, pacedEvent{at: now.Add(time.Second), who: e.who})
		}
	}
	return now.Sub(paceStart)
}

func TestThousandsOfMachines(t *testing.T) {
	for _, test := range []struct {
		name     string
		stranger float64
		limit    time.Duration
	}{
		{"alone", 0, 600 * time.Second},
		{"a stranger takes half of what the service allows", services["PutVM"].rate / 2, 1200 * time.Second},
	} {
		a := &pacedAzure{stranger: test.stranger}
		took := a.create(5000)
		t.Logf("%s: %s, %d of %d refused", test.name, took, a.refused, a.taken)
		if took > test.limit || a.taken != 5000 || a.refused > 50 {
			t.Errorf("%s: %d machines in %s, %d refused", test.name, a.taken, took, a.refused)
		}
	}
}

func TestWhatIsSilenced(t *testing.T) {
	now := paceStart
	l := &Limiter{Now: func() time.Time { return now }}
	one := Scope{Principal: "p", Subscription: "one"}
	if wait := l.Ask(one, PutVM, "a"); wait != 0 {
		t.Fatalf("the first call waits %s", wait)
	}
	l.Settle(one, PutVM, Allowance{Silence: time.Minute})
	for _, test := range []struct {
		name  string
		scope Scope
		class Class
		waits bool
	}{
		{"the class", one, PutVM, true},
		{"the same counter of the front door", one, WriteNetwork, true},
		{"another class", one, DeleteVM, false},
		{"reads", one, ListVMs, false},
		{"another subscription", Scope{Principal: "p", Subscription: "other"}, PutVM, false},
		{
			"another principal, whose calls the service counts, too",
			Scope{Principal: "o", Subscription: "one"},
			PutVM, true,
		},
	} {
		if wait := l.Ask(test.scope, test.class, "b"); (wait >= 59*time.Second) != test.waits {
			t.Errorf("%s: waits %s", test.name, wait)
		}
	}
	now = now.Add(61 * time.Second)
	if wait := l.Ask(one, PutVM, "b"); wait != 0 {
		t.Errorf("after the silence it waits %s", wait)
	}
}

func TestWhoAsksFirstGoesFirst(t *testing.T) {
	now := paceStart
	l := &Limiter{Now: func() time.Time { return now }}
	scope := Scope{Subscription: "s"}
	for early := 0; l.Ask(scope, DeleteVM, "early") == 0; early++ {
		if early > 1000 {
			t.Fatal("no call has to wait")
		}
	}
	first, second := l.Ask(scope, DeleteVM, "first"), l.Ask(scope, DeleteVM, "second")
	if first >= second {
		t.Errorf("the first waits %s, the second %s", first, second)
	}
	if again := l.Ask(scope, DeleteVM, "first"); again > first {
		t.Errorf("who asks again loses its place: %s, then %s", first, again)
	}
	now = now.Add(first)
	if wait := l.Ask(scope, DeleteVM, "late"); wait == 0 {
		t.Error("who comes late goes first")
	}
	now = now.Add(forgotten + time.Minute)
	if wait := l.Ask(scope, DeleteVM, "later"); wait != 0 {
		t.Errorf("who never came keeps others waiting: %s", wait)
	}
}

func TestListen(t *testing.T) {
	for _, test := range []struct {
		name    string
		headers map[string]string
		want    Allowance
	}{
		{"nothing", nil, Allowance{}},
		{"the front door", map[string]string{"x-ms-ratelimit-remaining-subscription-writes": "199"}, Allowance{LeftAtDoor: new(199)}},
		{"both of its counters", map[string]string{
			"x-ms-ratelimit-remaining-subscription-reads": "9", "x-ms-ratelimit-remaining-subscription-global-reads": "3749",
		}, Allowance{LeftAtDoor: new(9)}},
		{"buckets of the service: the emptiest", map[string]string{
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/DeleteVM3Min;237,Microsoft.Compute/DeleteVM30Min;12",
		}, Allowance{LeftAtService: new(12)}},
		{"not that of one VM", map[string]string{
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/PutVM;30, Microsoft.Compute/PutVMResourceMaximum;2",
		}, Allowance{LeftAtService: new(30)}},
		{"nor that of one resource", map[string]string{
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/GetPerResource;3,Microsoft.Compute/GetPerVM3Min;2,GetVM;9",
		}, Allowance{LeftAtService: new(9)}},
		{"nonsense", map[string]string{
			"x-ms-ratelimit-remaining-resource": ";;x,y;,z", "x-ms-ratelimit-remaining-subscription-writes": "many",
		}, Allowance{}},
		{"less than nothing", map[string]string{"x-ms-ratelimit-remaining-subscription-writes": "-5"}, Allowance{LeftAtDoor: new(0)}},
	} {
		header := http.Header{}
		for name, value := range test.headers {
			header.Set(name, value)
		}
		if diff := cmp.Diff(test.want, ReadAllowance(header.Get)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestEachClassIsCounted(t *testing.T) {
	for class, k := range kinds {
		if doors[k.door].rate == 0 || services[k.service].rate == 0 {
			t.Errorf("%s is counted nowhere", class)
		}
	}
}

// TestFigures: what Azure documents that it allows, as many at once and as many a second.
func TestFigures(t *testing.T) {
	exact := cmp.AllowUnexported(size{})
	expect.Same(t, "front door", map[string]size{"reads": {250, 25}, "writes": {200, 10}, "deletes": {200, 10}}, doors, exact)
	expect.Same(t, "services", map[string]size{
		"PutVM": {1500, 500. / 60}, "DeleteVM": {1500, 500. / 60}, "LowCostGet": {24000, 8000. / 60}, "HighCostGet": {900, 300. / 60},
		"NetworkReads": {10000, 100. / 3}, "NetworkWrites": {1000, 10. / 3}, "Sizes": {60, 1},
	}, services, exact)
	expect.Same(t, "share and time of a place", []any{0.95, 2 * time.Minute}, []any{share, forgotten})
}

// TestUntil: the wait is as long as what is missing takes to come, and a moment.
func TestUntil(t *testing.T) {
	b := bucket{size: size{capacity: 100, rate: 10}, tokens: 2}
	for wanted, want := range map[float64]time.Duration{1: 0, 2: 0, 3: 106 * time.Millisecond, 21: 2001 * time.Millisecond} {
		expect.Same(t, fmt.Sprint("wait for ", wanted), want, b.waitFor(wanted))
	}
}

// TestWhatIsLeft: what an answer says is left counts, less what is under way and what strangers may take.
func TestWhatIsLeft(t *testing.T) {
	for name, test := range map[string]struct {
		tokens   float64
		underWay int
		left     *int
		want     float64
		remain   int
	}{
		"it does not say":        {50, 1, nil, 50, 0},
		"less than we counted":   {50, 1, new(20), 17.5, 0},
		"others are under way":   {50, 3, new(20), 15.5, 2},
		"more than we counted":   {10, 1, new(90), 10, 0},
		"an answer to no call":   {50, 0, new(20), 17.5, 0},
		"nothing, and one waits": {50, 2, new(0), -3.5, 1},
	} {
		b := bucket{size: size{capacity: 100, rate: 10}, tokens: test.tokens, underWay: test.underWay}
		b.settle(test.left)
		if math.Abs(b.tokens-test.want) > 1e-6 || b.underWay != test.remain {
			t.Errorf("%s: %f are left, %d under way", name, b.tokens, b.underWay)
		}
	}
}

// TestEachCounterIsHeard: what an answer says of the front door, of the service, and of a silence holds for the next call.
func TestEachCounterIsHeard(t *testing.T) {
	for name, said := range map[string]Allowance{
		"front door": {LeftAtDoor: new(5)}, "service": {LeftAtService: new(37)}, "silence": {Silence: 1},
	} {
		l := &Limiter{Now: func() time.Time { return paceStart }}
		scope := Scope{Principal: "p", Subscription: "s"}
		expect.Same(t, name+": the first call waits", time.Duration(0), l.Ask(scope, PutVM, "a"))
		l.Settle(scope, PutVM, said)
		expect.Same(t, name+": the next one waits", true, l.Ask(scope, PutVM, "b") > 0)
	}
}

// TestPlacesAreForgotten: the place of who did not come is kept for two minutes, and looked for seldom.
func TestPlacesAreForgotten(t *testing.T) {
	b := bucket{turns: map[string]time.Time{"late": paceStart.Add(-forgotten), "gone": paceStart.Add(-forgotten - 1)}}
	b.forget(paceStart)
	expect.Same(t, "places", map[string]time.Time{"late": paceStart.Add(-forgotten)}, b.turns)
	b.forget(paceStart.Add(forgotten - 1))
	expect.Same(t, "places a little later", 1, len(b.turns))
	b.forget(paceStart.Add(forgotten))
	expect.Same(t, "places after a while", 0, len(b.turns))
}

// TestRefill: our share of what Azure allows comes back, up to our share of what fits; a clock that goes back takes nothing.
func TestRefill(t *testing.T) {
	b := bucket{size: size{capacity: 100, rate: 10}, refilled: paceStart}
	for _, step := range []struct {
		after time.Duration
		want  float64
	}{{time.Second, 9.5}, {0, 9.5}, {3 * time.Second, 28.5}, {time.Hour, 95}} {
		b.refill(paceStart.Add(step.after))
		if math.Abs(b.tokens-step.want) > 1e-6 {
			t.Errorf("after %s there are %f", step.after, b.tokens)
		}
	}
}

// TestTake: a call that is made gives up its place, and counts as under way.
func TestTake(t *testing.T) {
	b := bucket{tokens: 5, underWay: 1, turns: map[string]time.Time{"a": paceStart, "b": paceStart}}
	b.take("a")
	want := bucket{tokens: 4, underWay: 2, turns: map[string]time.Time{"b": paceStart}}
	expect.Same(t, "what is left", want, b, cmp.AllowUnexported(bucket{}, size{}))
}

// TestAfterASilence one call tries first. A shorter silence ends no longer one.
func TestAfterASilence(t *testing.T) {
	until := paceStart.Add(time.Minute)
	for before, after := range map[float64]float64{50: 1, 0.5: 0.5} {
		b := bucket{tokens: before}
		b.silence(until)
		b.silence(paceStart)
		expect.Same(t, "silence", bucket{tokens: after, notBefore: until}, b, cmp.AllowUnexported(bucket{}, size{}))
	}
}

// TestTurns: who has to wait gets a turn behind all who wait, and keeps it until the call is made. Places of those who did not
// come are given up.
func TestTurns(t *testing.T) {
	b := bucket{size: size{capacity: 100, rate: 10}, refilled: paceStart, looked: paceStart, turns: map[string]time.Time{}}
	ask := func(who string, after, want time.Duration) {
		t.Helper()
		expect.Same(t, fmt.Sprint(who, " after ", after), want, b.ask(who, paceStart.Add(after)))
	}
	ask("a", 0, 106*time.Millisecond)
	ask("b", 0, 212*time.Millisecond)
	ask("a", 0, 106*time.Millisecond)
	ask("a", 106*time.Millisecond, 0)
	b.tokens = 0
	ask("a", 106*time.Millisecond, 106*time.Millisecond)
	b.tokens = 3
	ask("c", 106*time.Millisecond, 0)
	expect.Same(t, "who waits", 2, len(b.turns))
	b.tokens, b.refilled = 0, paceStart.Add(time.Hour)
	ask("d", time.Hour, 106*time.Millisecond)
	expect.Same(t, "who waits after an hour", 1, len(b.turns))
}
