package limiter

import (
	"container/heap"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	a.door = min(a.door+passed*doors["writes"].rate, doors["writes"].most)
	a.service = min(a.service+passed*(services["PutVM"].rate-a.stranger), services["PutVM"].most)
	a.service = max(a.service, 0)
}

// put answers a call and says what the headers would.
func (a *pacedAzure) put(now time.Time) Said {
	a.advance(now)
	if a.door < 1 || a.service < 1 {
		a.refused++
		return Said{Silence: 5 * time.Second}
	}
	a.door, a.service, a.taken = a.door-1, a.service-1, a.taken+1
	return Said{LeftAtDoor: new(int(a.door)), LeftAtService: new(int(a.service))}
}

// A pacedEvent is the next try of a machine, or the answer to a call.
type pacedEvent struct {
	at   time.Time
	who  string
	said *Said
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
	a.now, a.door, a.service = now, doors["writes"].most, services["PutVM"].most
	l := &Limiter{Now: func() time.Time { return now }}
	scope := Scope{Principal: "p", Subscription: "s", Region: "r"}
	events := &pacedEvents{}
	for i := range machines {
		heap.Push(events, pacedEvent{at: now, who: fmt.Sprint("m", i)})
	}
	for events.Len() > 0 && a.taken < machines {
		e := heap.Pop(events).(pacedEvent)
		now = e.at
		if e.said != nil {
			l.Done(scope, PutVM, *e.said)
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
	one := Scope{Principal: "p", Subscription: "one", Region: "r"}
	if wait := l.Ask(one, PutVM, "a"); wait != 0 {
		t.Fatalf("the first call waits %s", wait)
	}
	l.Done(one, PutVM, Said{Silence: time.Minute})
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
		{"another subscription", Scope{Principal: "p", Subscription: "other", Region: "r"}, PutVM, false},
		{"another region", Scope{Principal: "p", Subscription: "one", Region: "other"}, PutVM, false},
		{
			"another principal, whose calls the service counts, too",
			Scope{Principal: "o", Subscription: "one", Region: "r"},
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
		want    Said
	}{
		{"nothing", nil, Said{}},
		{"the front door", map[string]string{"x-ms-ratelimit-remaining-subscription-writes": "199"}, Said{LeftAtDoor: new(199)}},
		{"both of its counters", map[string]string{
			"x-ms-ratelimit-remaining-subscription-reads": "9", "x-ms-ratelimit-remaining-subscription-global-reads": "3749",
		}, Said{LeftAtDoor: new(9)}},
		{"buckets of the service: the emptiest", map[string]string{
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/DeleteVM3Min;237,Microsoft.Compute/DeleteVM30Min;12",
		}, Said{LeftAtService: new(12)}},
		{"not that of one VM", map[string]string{
			"x-ms-ratelimit-remaining-resource": "Microsoft.Compute/PutVM;30, Microsoft.Compute/PutVMResourceMaximum;2",
		}, Said{LeftAtService: new(30)}},
		{"nonsense", map[string]string{
			"x-ms-ratelimit-remaining-resource": ";;x,y;,z", "x-ms-ratelimit-remaining-subscription-writes": "many",
		}, Said{}},
		{"less than nothing", map[string]string{"x-ms-ratelimit-remaining-subscription-writes": "-5"}, Said{LeftAtDoor: new(0)}},
	} {
		header := http.Header{}
		for name, value := range test.headers {
			header.Set(name, value)
		}
		if diff := cmp.Diff(test.want, Listen(header.Get, 0)); diff != "" {
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
