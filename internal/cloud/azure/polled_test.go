package azure

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// silence has the account's calls of a class wait for a minute.
func silence(a *account, class limiter.Class) {
	scope := limiter.Scope{Principal: a.calls.Principal.Name(), Subscription: armsim.Subscription}
	_ = a.calls.Limit.Ask(scope, class, "test")
	a.calls.Limit.Settle(scope, class, limiter.Allowance{Silence: time.Minute})
}

// TestPollVMs: the watch tells of all machines of a group first and after an error, and of those that changed otherwise.
func TestPollVMs(t *testing.T) {
	good := said{http.StatusOK, `{"value":[]}`}
	for name, c := range map[string]struct {
		answer       said
		listed       time.Duration // ago; none if zero
		told, failed bool
		due          time.Duration
		silent       bool
		calls        int
		woken        string
		tells, fails bool
		next         time.Duration // until it is due; zero if that is any pause
	}{
		"not due":            {answer: good, due: 1, next: 1},
		"the first list":     {answer: good, calls: 1, woken: "asked", tells: true},
		"listed just now":    {answer: good, listed: time.Second, woken: "asked m", tells: true},
		"listed before":      {answer: good, listed: lists.IdlePowers, calls: 1, woken: "asked", tells: true},
		"told before":        {answer: good, listed: time.Second, told: true, calls: 1, woken: "m", tells: true},
		"after an error":     {answer: good, listed: time.Second, told: true, failed: true, calls: 1, woken: "asked", tells: true},
		"an error":           {answer: said{http.StatusForbidden, denied}, told: true, calls: 1, tells: true, fails: true},
		"an error at first":  {answer: said{http.StatusForbidden, denied}, calls: 1, fails: true},
		"its turn comes yet": {silent: true, told: true, tells: true, fails: true, next: time.Minute},
	} {
		calls := 0
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { calls++; return c.answer.status, c.answer.text }))
		s := a.lists.Scope(blue.Group)
		stateIn(s).Reported, stateIn(s).Failed, stateIn(s).Due[lists.VMs] = c.told, c.failed, blue.Noon.Add(c.due)
		if c.listed > 0 {
			stateIn(s).Listed = blue.Noon.Add(-c.listed)
		}
		stateIn(s).VMs["m"] = lists.Record{Name: "m", Mark: blue.Mark(), Original: true}
		other := cloud.Machine{Key: cloud.Key{Name: "asked"}, Identity: cloud.Identity{ProviderID: arm.ProviderID(blue.Group.VM("o"))}}
		a.ledger.note(other, blue.Noon, func(*work) {})
		if c.silent {
			silence(a, limiter.ListVMs)
		}
		expect.Same(t, name+": woken", c.woken, names(a.pollVMs(t.Context(), s)))
		expect.Same(t, name+": calls", c.calls, calls)
		expect.Same(t, name+": told, failed", []bool{c.tells, c.fails}, []bool{stateIn(s).Reported, stateIn(s).Failed})
		if c.next > 0 {
			after := stateIn(s).Due[lists.VMs].Sub(blue.Noon)
			expect.Same(t, name+": due", true, after > c.next-time.Second && after <= c.next)
		} else {
			expect.Same(t, name+": due at "+stateIn(s).Due[lists.VMs].String(), true, around(stateIn(s).Due[lists.VMs], idleList))
		}
	}
}

// TestFirstList: a machine waits for the first list of its group and for the first answer on powers, whatever that is.
func TestFirstList(t *testing.T) {
	for name, c := range map[string]struct {
		listed, powered bool
		vms, powers     int // the statuses
		silent          bool
		says            string
		calls           int
	}{
		"all is answered":         {vms: 200, powers: 200, calls: 2},
		"VMs are not":             {vms: 403, powers: 200, says: "no", calls: 1},
		"VMs are listed":          {listed: true, powers: 200, calls: 1},
		"powers are not answered": {vms: 200, powers: 403, calls: 2},
		"powers wait":             {listed: true, powers: 200, silent: true, says: "waiting for Azure's list of power states"},
	} {
		made := 0
		a := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
			made++
			if status := map[bool]int{true: c.powers, false: c.vms}[ofPowers(r)]; status != http.StatusOK {
				return status, denied
			}
			return http.StatusOK, "{}"
		}))
		s := a.lists.Scope(blue.Group)
		if c.listed {
			stateIn(s).Listed = blue.Noon
		}
		if c.silent {
			silence(a, limiter.ListVMs)
		}
		over, err := pursued(a, blue.Machine()).perform(t.Context(), next.Step{Act: next.List})
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": it is over", false, over)
		expect.Same(t, name+": calls", c.calls, made)
		if pause, waits := pauseOf(err); waits {
			expect.Same(t, name+": again", time.Second, pause)
		}
	}
}

// TestAnswers: a group can be missed only where Azure lets us in and knows the subscription, which it said lately or is asked.
func TestAnswers(t *testing.T) {
	shown := `{"value":[{"subscriptionId":"` + armsim.Subscription + `"}]}`
	for name, c := range map[string]struct {
		heard  time.Duration // ago
		missed time.Duration // ago; never if zero
		text   string
		calls  int
		times  int
	}{
		"heard lately":         {lists.WhileBusy - 1, 0, "{}", 0, 1},
		"heard before":         {lists.WhileBusy, 0, shown, 1, 1},
		"not known":            {lists.WhileBusy, 0, "{}", 1, 0},
		"missed at once":       {0, lists.WhileBusy - 1, shown, 0, 1},
		"missed and not again": {time.Hour, lists.WhileBusy - 1, shown, 0, 1},
		"missed again":         {0, lists.WhileBusy, shown, 0, 2},
	} {
		calls := 0
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { calls++; return http.StatusOK, c.text }))
		s := a.lists.Scope(blue.Group)
		powersIn(s.Power).Answered = blue.Noon.Add(-c.heard)
		if c.missed > 0 {
			stateIn(s).Missed = next.Missed{}.Add(blue.Noon.Add(-c.missed))
		}
		a.missGroup(t.Context(), s, blue.Noon)
		expect.Same(t, name+": calls", c.calls, calls)
		expect.Same(t, name+": times", c.times, stateIn(s).Missed.Times)
	}
}

// TestPollRest: a sweep removes what it finds of machines that are gone, and addresses are asked for while one lacks.
func TestPollRest(t *testing.T) {
	marked := calls.Resource{ID: blue.NIC.String(), Tags: arm.Tags(blue.Machine(), nil, "")}
	marked.Properties.IPConfigurations = slices.Grow(marked.Properties.IPConfigurations, 1)[:1]
	marked.Properties.IPConfigurations[0].Properties.PrivateIPAddress = "10.0.0.9"
	tags := expect.Got(json.Marshal(marked))(t)
	for name, c := range map[string]struct {
		sweep, lacks bool
		status       int
		want         map[string]int
		woken        string
	}{
		"nothing is due":            {false, false, 200, map[string]int{}, ""},
		"a sweep":                   {true, false, 200, map[string]int{"GET": 3, "DELETE": 1}, "m"},
		"a sweep that fails":        {true, false, 403, map[string]int{"GET": 1}, ""},
		"addresses":                 {false, true, 200, map[string]int{"GET": 1}, "m"},
		"addresses that are hidden": {false, true, 403, map[string]int{"GET": 1}, ""},
	} {
		sent := map[string]int{}
		a := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
			sent[r.Method]++
			if c.status != http.StatusOK {
				return c.status, denied
			}
			return http.StatusOK, `{"value":[` + string(tags) + "]}"
		}))
		s := a.lists.Scope(blue.Group)
		stateIn(s).Due[lists.Remnants] = blue.Noon.Add(map[bool]time.Duration{true: 0, false: 1}[c.sweep])
		old := next.Remnant{FirstSeen: blue.Noon.Add(-lists.OldEnough)}
		stateIn(s).Remnants[blue.NIC.Key()] = lists.Remnant{ID: blue.NIC, Mark: blue.Mark(), Remnant: old}
		stateIn(s).Remember(lists.Record{Key: blue.VM.Key(), Adapters: []string{blue.NIC.Key()}}, blue.Machine())
		stateIn(s).VMs["a"] = lists.Record{Key: "a", Mark: blue.Mark(), Original: true, Adapters: []string{blue.NIC.Key()}}
		if c.lacks {
			powersIn(s.Power).States["a"] = next.PoweredOn
		}
		expect.Same(t, name+": woken", c.woken, names(a.pollRest(t.Context(), s)))
		expect.Same(t, name, c.want, sent)
		expect.Same(t, name+": the next sweep", c.sweep, around(stateIn(s).Due[lists.Remnants], sweepEvery))
		expect.Same(t, name+": the next addresses", c.lacks, around(stateIn(s).Due[lists.Addresses], lists.WhileBusy))
	}
}
