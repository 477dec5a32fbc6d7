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
)

// TestProbe: when the time of what is closed is over, one machine tries and the others wait for two minutes.
func TestProbe(t *testing.T) {
	var c capacityBlocks
	of := request.Choice{Size: "Standard_D4s_v5"}
	full := fault.Judge(fault.Answer{Code: "AllocationFailed"})
	c.block(blueGroup, "westeurope", of, full, blueNoon)
	over := blueNoon.Add(full.Error.After)
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
		err := c.probe(blueGroup, "westeurope", of, cloud.MachineID{UID: types.UID(step.who)}, step.at)
		expect.Same(t, step.who+" after "+step.at.Sub(over).String(), step.open, err == nil)
	}
	expect.Same(t, "what was never closed", true, c.probe(blueGroup, "eastus", of, cloud.MachineID{UID: "one"}, over) == nil)
}

// TestSawIsNoted: what is known of a VM that is there is written once, and again when any of it changes.
func TestSawIsNoted(t *testing.T) {
	m, view := blueMachine(), &fault.Verdict{}
	for name, c := range map[string]struct {
		change func(*work)
		power  next.Power
		noted  bool
	}{
		"nothing new":            {func(*work) {}, next.PoweredOn, false},
		"off, and ran before":    {func(*work) {}, next.Stopped, false},
		"seen for the first":     {func(w *work) { w.existed = false }, next.PoweredOn, true},
		"runs for the first":     {func(w *work) { w.ran = false }, next.PoweredOn, true},
		"was missed":             {func(w *work) { w.missed.Times = 1 }, next.PoweredOn, true},
		"had failed":             {func(w *work) { w.view = view }, next.PoweredOn, true},
		"its request was lost":   {func(w *work) { w.lost = blueNoon }, next.PoweredOn, true},
		"its adapters are known": {func(w *work) { w.separate.made = []asked{{}} }, next.PoweredOn, true},
	} {
		a := &account{now: func() time.Time { return blueNoon }}
		w := work{existed: true, ran: true}
		c.change(&w)
		s := &next.Survey{Now: blueNoon, Seen: &next.Sight{State: next.Succeeded, Power: c.power}, Missed: w.missed, View: w.view}
		a.saw(m, s, w)
		expect.Same(t, name, c.noted, a.ledger.recall(m).existed)
		noted := a.ledger.recall(m)
		expect.Same(t, name+": nothing is open", true, noted.lost.IsZero() && len(noted.separate.made) == 0)
		expect.Same(t, name+": it ran", true, s.Ran)
		expect.Same(t, name+": it is not missed", next.Missed{}, s.Missed)
		expect.Same(t, name+": its failure is over", true, s.View == nil)
		expect.Same(t, name+": its request was accepted", !w.lost.IsZero(), s.Put.Answer == next.Accepted)
	}
}

// TestSawOpens: a VM that runs shows that there is room again for its choice, if Azure was asked for it after there was none.
func TestSawOpens(t *testing.T) {
	m, of := blueMachine(), request.Choice{Size: "Standard_D4s_v5"}
	full := fault.Judge(fault.Answer{Code: "AllocationFailed"})
	for name, c := range map[string]struct {
		choice request.Choice
		power  next.Power
		asked  time.Time
		open   bool
	}{
		"it runs":                 {of, next.PoweredOn, blueNoon.Add(time.Second), true},
		"it does not run":         {of, next.Stopped, blueNoon.Add(time.Second), false},
		"it was asked for before": {of, next.PoweredOn, blueNoon, false},
		"another choice":          {request.Choice{Size: "Standard_E4s_v5"}, next.PoweredOn, blueNoon.Add(time.Second), false},
		"of a process before us":  {request.Choice{}, next.PoweredOn, blueNoon.Add(time.Second), false},
	} {
		a := &account{now: func() time.Time { return blueNoon }}
		a.blocks.block(blueVM.Parent(), locationOf(m), of, full, blueNoon)
		s := &next.Survey{
			Now: blueNoon, Seen: &next.Sight{State: next.Succeeded, Power: c.power}, Put: next.Put{Sent: c.asked, Answer: next.Accepted},
		}
		a.saw(m, s, work{choice: c.choice})
		why := a.blocks.reason(blueVM.Parent(), locationOf(m), of, cloud.MachineID{UID: "other"}, blueNoon)
		expect.Same(t, name+": open", c.open, why == nil)
	}
}

// TestSizesOnTheirWay: who needs a list that another machine has asked for waits for it only if none is known.
func TestSizesOnTheirWay(t *testing.T) {
	a := &account{now: func() time.Time { return blueNoon }}
	pause, waits := pauseOf(a.listSizes(t.Context(), &sizeCache{asking: true}))
	expect.Same(t, "waits for the first list", true, waits && pause == time.Second)
	known := &sizeCache{asking: true, began: blueNoon, sizes: skus.Sizes{}}
	expect.OK(t, a.listSizes(t.Context(), known))
}

// TestBusyMachines: a request and a deletion are expected to do something for an hour, unless the one was refused or its VM ran.
func TestBusyMachines(t *testing.T) {
	put := func(ago time.Duration, answer next.Answer) next.Put {
		return next.Put{Sent: blueNoon.Add(-ago), Answer: answer}
	}
	for name, c := range map[string]struct {
		of   work
		want bool
	}{
		"nothing":          {work{}, false},
		"made":             {work{put: put(changeTimeout-1, next.Accepted)}, true},
		"lost":             {work{put: put(1, next.Lost)}, true},
		"made long ago":    {work{put: put(changeTimeout, next.Accepted)}, false},
		"refused":          {work{put: put(1, next.Refused)}, false},
		"it ran":           {work{put: put(1, next.Accepted), ran: true}, false},
		"removed":          {work{del: next.Delete{Sent: blueNoon.Add(1 - changeTimeout)}}, true},
		"removed long ago": {work{del: next.Delete{Sent: blueNoon.Add(-changeTimeout)}}, false},
	} {
		expect.Same(t, name, c.want, c.of.busy(blueNoon))
	}
}

// TestCloseWaits: who closes an account waits for the calls that are under way, and begins none.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, begun, closed := make(chan struct{}), 0, make(chan error, 1)
		a := blueAccount(t, says(func(*http.Request) (int, string) { begun++; <-answer; return http.StatusNotFound, gone }))
		go a.calls.GetVM(t.Context(), blueVM)
		synctest.Wait()
		go func() { closed <- a.Close(t.Context()) }()
		synctest.Wait()
		expect.Same(t, "it is closed while a call is under way", 0, len(closed))
		_, refused := a.calls.GetVM(t.Context(), blueVM)
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
		"a look that found none":         {another, lists.Look{Began: blueNoon}, cloud.Unseen},
		"a look that found a third":      {another, found(third, blueNoon), cloud.Unseen},
		"a look that found it, too soon": {another, found(another, blueNoon.Add(-time.Hour)), cloud.Unseen},
		"a look that found it":           {another, found(another, blueNoon), cloud.Foreign},
	} {
		a := blueAccount(t, nil)
		in, s := a.lists.Scope(blueGroup), &next.Survey{Now: blueNoon, VMID: ours, Put: next.Put{Sent: blueNoon.Add(-time.Hour)}}
		whose := a.identify(blueMachine(), stateIn(in), s, c.of, &lists.Record{Key: blueVM.Key(), VMID: c.shown})
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
		"asked for just before": {work{put: next.Put{Sent: blueNoon, Answer: next.Accepted}}, false, false},
	} {
		a := blueAccount(t, says(func(*http.Request) (int, string) {
			if c.found {
				return http.StatusOK, `{"id":"` + blueVM.String() + `","properties":{"vmId":"` + blueID + `"}}`
			}
			return http.StatusNotFound, gone
		}))
		a.opened = blueNoon.Add(-time.Hour)
		m, at := placed(), place{vm: blueVM, scope: a.lists.Scope(blueGroup)}
		m.Asked = cloud.Existed
		powersIn(at.scope.Power).Due = blueNoon.Add(time.Hour)
		a.ledger.note(m, blueNoon, func(w *work) { *w = c.work })
		expect.OK(t, a.look(t.Context(), m, at))
		expect.Same(t, name+": it is searched for soon", c.soon, powersIn(at.scope.Power).Due.Equal(blueNoon))
	}
}
