package azure

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/skus"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestProbe: when the time of what is closed is over, one machine tries and the others wait for two minutes.
func TestProbe(t *testing.T) {
	var c capacityBlocks
	of := request.Choice{Size: "Standard_D4s_v5"}
	full := fault.Judge(fault.Answer{Code: "AllocationFailed"})
	c.block(here("westeurope"), of, full, blue.Noon)
	over := blue.Noon.Add(full.Error.After)
	for _, step := range []struct {
		who  string
		at   time.Time
		open bool
	}{
		{"one", over.Add(-1), false},
		{"one", over, true},
		{"two", over, false},
		{"two", over.Add(probing - 1), false},
		{"one", over.Add(1), true},
		{"two", over.Add(probing), true},
		{"one", over.Add(probing), false},
	} {
		err := c.probe(here("westeurope"), of, cloud.MachineID{UID: types.UID(step.who)}, step.at)
		expect.Same(t, step.who+" after "+step.at.Sub(over).String(), step.open, err == nil)
	}
	expect.Same(t, "what was never closed", true, c.probe(here("eastus"), of, cloud.MachineID{UID: "one"}, over) == nil)
}

// TestSawIsNoted: what is known of a VM that is there is written once, and again when any of it changes.
func TestSawIsNoted(t *testing.T) {
	m, view := blue.Machine(), &fault.Verdict{}
	for name, c := range map[string]struct {
		change func(*work)
		power  next.Power
		noted  bool
	}{
		"nothing new":            {func(*work) {}, next.PoweredOn, false},
		"off, and ran before":    {func(*work) {}, next.Stopped, false},
		"seen for the first":     {func(w *work) { w.existed = false }, next.PoweredOn, true},
		"runs for the first":     {func(w *work) { w.Ran = false }, next.PoweredOn, true},
		"was missed":             {func(w *work) { w.Missed.Times = 1 }, next.PoweredOn, true},
		"had failed":             {func(w *work) { w.View = view }, next.PoweredOn, true},
		"its request was lost":   {func(w *work) { w.Lost = blue.Noon }, next.PoweredOn, true},
		"its adapters are known": {func(w *work) { w.separate.made = []asked{{}} }, next.PoweredOn, true},
	} {
		a := &account{now: func() time.Time { return blue.Noon }}
		w := work{Memory: next.Memory{Ran: true}, existed: true}
		c.change(&w)
		s := &next.Survey{Memory: w.Memory, Now: blue.Noon, Seen: &next.Sight{State: next.Succeeded, Power: c.power}}
		pursued(a, m).saw(s, w)
		expect.Same(t, name, c.noted, a.ledger.recall(m).existed)
		noted := a.ledger.recall(m)
		expect.Same(t, name+": nothing is open", true, noted.Lost.IsZero() && len(noted.separate.made) == 0)
		expect.Same(t, name+": it ran", true, s.Ran)
		expect.Same(t, name+": it is not missed", next.Missed{}, s.Missed)
		expect.Same(t, name+": its failure is over", true, s.View == nil)
		expect.Same(t, name+": its request was accepted", !w.Lost.IsZero(), s.Put.Answer == next.Accepted)
	}
}

// TestSawOpens: a VM that runs shows that there is room again for its choice, or quota for its family, if Azure was asked for it
// after there was none.
func TestSawOpens(t *testing.T) {
	m, of, other := blue.Machine(), request.Choice{Size: "Standard_D4s_v5"}, request.Choice{Size: "Standard_D8s_v5"}
	const full, quota = "AllocationFailed", "QuotaExceeded"
	for name, c := range map[string]struct {
		lacks  string
		choice request.Choice
		power  next.Power
		asked  time.Time
		open   bool
	}{
		"it runs":                    {full, of, next.PoweredOn, blue.Noon.Add(time.Second), true},
		"it does not run":            {full, of, next.Stopped, blue.Noon.Add(time.Second), false},
		"it was asked for before":    {full, of, next.PoweredOn, blue.Noon, false},
		"another size":               {full, other, next.PoweredOn, blue.Noon.Add(time.Second), false},
		"another size of its family": {quota, other, next.PoweredOn, blue.Noon.Add(time.Second), true},
		"of its family, before":      {quota, other, next.PoweredOn, blue.Noon.Add(-1), false},
		"of a process before us":     {full, request.Choice{}, next.PoweredOn, blue.Noon.Add(time.Second), false},
	} {
		p := pursued(&account{now: func() time.Time { return blue.Noon }}, m)
		p.blocks.block(p.region(), of, fault.Judge(fault.Answer{Code: c.lacks}), blue.Noon)
		s := &next.Survey{Now: blue.Noon, Seen: &next.Sight{State: next.Succeeded, Power: c.power}}
		s.Put = next.Put{Sent: c.asked, Answer: next.Accepted}
		p.saw(s, work{choice: c.choice})
		why := p.blocks.reason(p.region(), of, cloud.MachineID{UID: "other"}, blue.Noon)
		expect.Same(t, name+": open", c.open, why == nil)
	}
}

// TestSizesOnTheirWay: who needs a list that another machine has asked for waits for it only if none is known.
func TestSizesOnTheirWay(t *testing.T) {
	a := &account{now: func() time.Time { return blue.Noon }}
	pause, waits := pauseOf(a.listSizes(t.Context(), &sizeCache{sizeList: sizeList{asking: true}}))
	expect.Same(t, "waits for the first list", true, waits && pause == time.Second)
	known := &sizeCache{sizeList: sizeList{asking: true, began: blue.Noon, sizes: skus.Sizes{}}}
	expect.OK(t, a.listSizes(t.Context(), known))
}

// TestBusyMachines: a request and a deletion are expected to do something for an hour, unless the one was refused or its VM ran.
func TestBusyMachines(t *testing.T) {
	put := func(ago time.Duration, answer next.Answer) next.Put {
		return next.Put{Sent: blue.Noon.Add(-ago), Answer: answer}
	}
	for name, c := range map[string]struct {
		of   work
		want bool
	}{
		"nothing":          {work{}, false},
		"made":             {work{Memory: next.Memory{Put: put(changeTimeout-1, next.Accepted)}}, true},
		"lost":             {work{Memory: next.Memory{Put: put(1, next.Lost)}}, true},
		"made long ago":    {work{Memory: next.Memory{Put: put(changeTimeout, next.Accepted)}}, false},
		"refused":          {work{Memory: next.Memory{Put: put(1, next.Refused)}}, false},
		"it ran":           {work{Memory: next.Memory{Put: put(1, next.Accepted), Ran: true}}, false},
		"removed":          {work{Memory: next.Memory{Delete: next.Delete{Sent: blue.Noon.Add(1 - changeTimeout)}}}, true},
		"removed long ago": {work{Memory: next.Memory{Delete: next.Delete{Sent: blue.Noon.Add(-changeTimeout)}}}, false},
	} {
		expect.Same(t, name, c.want, c.of.busy(blue.Noon))
	}
}

// TestCloseWaits: who closes an account waits for the calls that are under way, and begins none.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, begun, closed := make(chan struct{}), 0, make(chan error, 1)
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { begun++; <-answer; return http.StatusNotFound, gone }))
		go a.calls.GetVM(t.Context(), blue.VM)
		synctest.Wait()
		go func() { closed <- a.Close(t.Context()) }()
		synctest.Wait()
		expect.Same(t, "it is closed while a call is under way", 0, len(closed))
		_, refused := a.calls.GetVM(t.Context(), blue.VM)
		expect.Says(t, "a call meanwhile", refused.Err(), "the account is closed")
		close(answer)
		synctest.Wait()
		expect.Same(t, "it is closed after the call", 1, len(closed))
		expect.Same(t, "calls that were begun", 1, begun)
	})
}

// TestWhoseByAnEarlyAnswer: a VM of the machine's name with another ID than that of the machine's VM may be one that a list shows
// for minutes after it is gone. Only a look that found that same VM, when the machine's would have shown, says whose it is. Until
// then nothing is known of it, so that what a deletion left is still searched for.
func TestWhoseByAnEarlyAnswer(t *testing.T) {
	const ours, another, third = "vm-ours", "vm-another", "vm-third"
	found := func(id string, at time.Time) lists.Look {
		return lists.Look{Began: at, Record: &lists.Record{VMID: id}}
	}
	for name, c := range map[string]struct {
		shown string
		of    lists.Look
		want  cloud.Whose
	}{
		"ours":                           {ours, lists.Look{}, cloud.Ours},
		"no look yet":                    {another, lists.Look{}, cloud.Unseen},
		"a look that found none":         {another, lists.Look{Began: blue.Noon}, cloud.Unseen},
		"a look that found a third":      {another, found(third, blue.Noon), cloud.Unseen},
		"a look that found it, too soon": {another, found(another, blue.Noon.Add(-time.Hour)), cloud.Unseen},
		"a look that found it":           {another, found(another, blue.Noon), cloud.Foreign},
	} {
		p := pursued(blueAccount(t, nil), blue.Machine())
		s := &next.Survey{Now: blue.Noon, VMID: ours}
		s.Put.Sent = blue.Noon.Add(-time.Hour)
		whose := p.identify(stateIn(p.scope), s, c.of, &lists.Record{Key: blue.VM.Key(), VMID: c.shown})
		expect.Same(t, name, c.want, whose)
		expect.Same(t, name+": it is hidden", c.want == cloud.Unseen, s.Hides)
		expect.Same(t, name+": it is seen", c.want != cloud.Unseen, s.Seen != nil)
	}
}

// TestLookThatMissesSearches: a look that finds no VM, when Azure would show it, has the list of the whole subscription asked for
// soon: the VM may have been moved. One that was removed by us, or that Azure may not show yet, is not searched for.
func TestLookThatMissesSearches(t *testing.T) {
	for name, c := range map[string]struct {
		work  work
		found bool
		soon  bool
	}{
		"missed":                {work{}, false, true},
		"found":                 {work{}, true, false},
		"removed by us":         {work{removed: true}, false, false},
		"asked for just before": {work{Memory: next.Memory{Put: next.Put{Sent: blue.Noon, Answer: next.Accepted}}}, false, false},
	} {
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) {
			if c.found {
				return http.StatusOK, `{"id":"` + blue.VM.String() + `","properties":{"vmId":"` + blue.ID + `"}}`
			}
			return http.StatusNotFound, gone
		}))
		a.opened = blue.Noon.Add(-time.Hour)
		p := pursued(a, placed())
		p.m.Asked = cloud.Existed
		powersIn(p.scope.Power).Due = blue.Noon.Add(time.Hour)
		p.note(func(w *work) { *w = c.work })
		expect.OK(t, p.look(t.Context()))
		expect.Same(t, name+": it is searched for soon", c.soon, powersIn(p.scope.Power).Due.Equal(blue.Noon))
	}
}
