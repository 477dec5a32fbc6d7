package azure

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// shownAdapter is an adapter as Azure shows it, slow, with the marks of the machine.
func shownAdapter(state string) string {
	r := calls.Resource{ID: blue.NIC.String(), Tags: arm.Tags(blue.Machine(), nil, "")}
	r.Properties.ProvisioningState = state
	text, _ := json.Marshal(r)
	return string(text)
}

// said is a status and a body.
type said struct {
	status int
	text   string
}

// nicAnswers are those for one adapter: what Azure answers to each method, and what was sent.
type nicAnswers struct {
	answers map[string]said
	sent    map[string]int
	creates int
}

func (n *nicAnswers) answer(r *http.Request) (int, string) {
	n.sent[r.Method]++
	if r.Header.Get("If-None-Match") != "" {
		n.creates++
	}
	return n.answers[r.Method].status, n.answers[r.Method].text
}

// TestMakeAdapter: what comes of each answer to a look at an adapter and to a request for it, and what is remembered of it.
func TestMakeAdapter(t *testing.T) {
	id, busy := blue.NIC, said{http.StatusTooManyRequests, blue.Fault("RetryableError")}
	of := func(state string) said { return said{http.StatusOK, shownAdapter(state)} }
	none, done, no := said{http.StatusNotFound, gone}, said{http.StatusOK, "{}"}, said{http.StatusForbidden, denied}
	bad, late := said{http.StatusBadRequest, denied}, &asked{accepted: blue.Noon.Add(-adapterAgain)}
	ago := func(d time.Duration) time.Time { return blue.Noon.Add(-d) }
	for name, c := range map[string]struct {
		get, put said
		was      *asked
		silent   bool // the request has to wait for its turn
		fast     bool
		ready    bool
		puts     int
		creates  int
		says     string
		held     time.Duration // until it is told again; zero if it is not
		made     int
		accepted bool
	}{
		"ready":       {get: of("Succeeded"), ready: true, made: 1},
		"Azure works": {get: of("Updating"), made: 1},
		"it was asked for as fast": {
			get: of("succeeded"), was: &asked{fast: new(true)}, fast: true, ready: true, made: 1,
		},
		"it was asked for as slow": {
			get: of("Succeeded"), put: done, was: &asked{fast: new(false)}, fast: true, puts: 1, made: 1, accepted: true,
		},
		"Azure works, and it is slow": {get: of("Updating"), fast: true, made: 1},
		"failed, and repaired before": {
			get: of("failed"), put: done, was: &asked{repaired: ago(adapterAgain)}, puts: 1, made: 1, accepted: true,
		},
		"a look fails":   {get: no, says: "no"},
		"a stranger's":   {get: said{http.StatusOK, "{}"}, says: "does not belong to this machine", held: takenFor},
		"of other speed": {get: of("Succeeded"), put: done, fast: true, puts: 1, made: 1, accepted: true},
		"failed":         {get: of("Failed"), put: done, puts: 1, made: 1, accepted: true},
		"failed twice": {
			get: of("Failed"), was: &asked{repaired: ago(time.Second)}, made: 1, says: "twice", held: adapterAgain - time.Second,
		},
		"none yet":              {get: none, was: &asked{accepted: ago(adapterAgain - 1)}, made: 1, accepted: true},
		"none any more":         {get: none, put: done, was: late, puts: 1, creates: 1, made: 1, accepted: true},
		"none":                  {get: none, put: done, puts: 1, creates: 1, made: 1, accepted: true},
		"somebody was faster":   {get: none, put: said{http.StatusPreconditionFailed, "{}"}, puts: 1, creates: 1},
		"refused":               {get: none, put: bad, puts: 1, creates: 1, says: "no", held: -1},
		"refused again":         {get: of("Failed"), put: bad, puts: 1, says: "no", held: -1, made: 1},
		"the answer is lost":    {get: none, put: said{http.StatusBadGateway, "{}"}, puts: 1, creates: 1, says: "Bad Gateway", made: 1},
		"Azure works on it":     {get: none, put: busy, puts: 1, creates: 1, says: "waiting until Azure has made", made: 1},
		"its turn comes later":  {get: none, silent: true, says: "this account's turn"},
		"its turn, to mend one": {get: of("Failed"), silent: true, says: "this account's turn", made: 1},
	} {
		n := &nicAnswers{map[string]said{http.MethodGet: c.get, http.MethodPut: c.put}, map[string]int{}, 0}
		a, m := blueAccount(t, blue.Says(n.answer)), blue.Machine()
		if c.was != nil {
			c.was.id = id
			a.ledger.note(m, blue.Noon, func(w *work) { w.separate.made = []asked{*c.was} })
		}
		if c.silent {
			silence(a, limiter.WriteNetwork)
		}
		ready, err := pursued(a, m).makeAdapter(t.Context(), id, wanted{map[string]any{}, c.fast})
		expect.Same(t, name+": ready", c.ready, ready)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": requests", []int{c.puts, c.creates}, []int{n.sent[http.MethodPut], n.creates})
		got := a.ledger.recall(m).separate
		expect.Same(t, name+": remembered", c.made, len(got.made))
		expect.Same(t, name+": accepted", c.accepted, !got.adapter(id).accepted.IsZero())
		expect.Same(t, name+": what is told", c.held != 0, got.err != nil)
		if c.held > 0 {
			expect.Same(t, name+": until", blue.Noon.Add(c.held), got.notBefore)
		}
		if c.held == 0 {
			expect.Same(t, name+": no time", time.Time{}, got.notBefore)
		}
		if c.made > 0 && (c.puts > 0 || c.ready || c.get == of("Updating")) {
			expect.Same(t, name+": needed since and at", []time.Time{blue.Noon, blue.Noon}, []time.Time{got.firstNeeded, got.lastNeeded})
		}
		if name == "failed" {
			expect.Same(t, name+": again", blue.Noon, got.adapter(id).repaired)
		}
	}
}

// TestNoteAdapter: it is remembered since when adapters were needed, and when one last was.
func TestNoteAdapter(t *testing.T) {
	now, m := blue.Noon, blue.Machine()
	a := &account{now: func() time.Time { return now }}
	p := pursued(a, m)
	p.noteAdapter(blue.NIC, func(one *asked) { one.accepted = now })
	now = now.Add(time.Minute)
	p.noteAdapter(blue.NIC, nil)
	p.noteAdapter(blue.Group.Adapter("two"), nil)
	got := a.ledger.recall(m).separate
	expect.Same(t, "since, and at", []time.Time{blue.Noon, now}, []time.Time{got.firstNeeded, got.lastNeeded})
	expect.Same(t, "adapters", 2, len(got.made))
	expect.Same(t, "what is known stays", blue.Noon, got.adapter(blue.NIC).accepted)
	expect.Same(t, "it has them", true, got.contains(blue.NIC) && !got.contains(blue.Group.Adapter("three")))
	expect.Same(t, "the first is left", blue.NIC.String(), p.gather().Left.ID)
	p.dropAdapter(blue.NIC)
	expect.Same(t, "the other is left", blue.Group.Adapter("two").String(), p.gather().Left.ID)
	p.dropAdapter(blue.Group.Adapter("two"))
	expect.Same(t, "none is left", true, p.gather().Left == nil)
}

// TestRemoveAdapter: an adapter that this process asked for is removed if it is the machine's, and forgotten if there is none.
func TestRemoveAdapter(t *testing.T) {
	none, no := said{http.StatusNotFound, gone}, said{http.StatusForbidden, denied}
	ours, done := said{http.StatusOK, shownAdapter("Succeeded")}, said{http.StatusAccepted, ""}
	for name, c := range map[string]struct {
		get, remove said
		asked       time.Duration // ago
		removals    int
		says        string
		made        int
	}{
		"ours":                   {get: ours, remove: done, removals: 1},
		"ours, and it is kept":   {get: ours, remove: no, removals: 1, says: "no", made: 1},
		"a stranger's":           {get: said{http.StatusOK, "{}"}},
		"not there yet":          {get: none, asked: adapterAgain - 1, made: 1},
		"not there":              {get: none, asked: adapterAgain},
		"it cannot be looked at": {get: no, says: "no", made: 1},
	} {
		n := &nicAnswers{map[string]said{http.MethodGet: c.get, http.MethodDelete: c.remove}, map[string]int{}, 0}
		a, m := blueAccount(t, blue.Says(n.answer)), blue.Machine()
		a.ledger.note(m, blue.Noon, func(w *work) {
			w.separate.made, w.separate.lastNeeded = []asked{{id: blue.NIC}}, blue.Noon.Add(-c.asked)
		})
		over, err := pursued(a, m).perform(t.Context(), next.Step{Act: next.Sweep, ID: blue.NIC.String()})
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": it is over", true, over)
		expect.Same(t, name+": removals", c.removals, n.sent[http.MethodDelete])
		expect.Same(t, name+": remembered", c.made, len(a.ledger.recall(m).separate.made))
	}
}

// TestCheckRemnant: what is gone, in use or another resource of the same name is no remnant, and any other was looked at.
func TestCheckRemnant(t *testing.T) {
	for name, c := range map[string]struct {
		get    said
		says   string
		left   bool
		looked time.Time
	}{
		"there":                 {get: said{http.StatusOK, "{}"}, left: true, looked: blue.Noon},
		"gone":                  {get: said{http.StatusNotFound, gone}},
		"in use":                {get: said{http.StatusOK, `{"managedBy":"x"}`}},
		"made anew by somebody": {get: said{http.StatusOK, `{"properties":{"resourceGuid":"22222222-aaaa-bbbb-cccc-555555555555"}}`}},
		"the same": {
			get: said{http.StatusOK, `{"properties":{"resourceGuid":"` + blue.ID + `"}}`}, left: true, looked: blue.Noon,
		},
		"its group is gone":      {get: said{http.StatusNotFound, blue.Fault("ResourceGroupNotFound")}, says: "no", left: true},
		"it cannot be looked at": {get: said{http.StatusForbidden, denied}, says: "no", left: true},
	} {
		n := &nicAnswers{map[string]said{http.MethodGet: c.get}, map[string]int{}, 0}
		a := blueAccount(t, blue.Says(n.answer))
		s := a.lists.Scope(blue.Group)
		stateIn(s).Remnants[blue.NIC.Key()] = lists.Remnant{ID: blue.NIC, UniqueID: blue.ID}
		expect.Says(t, name, a.checkRemnant(t.Context(), s, blue.NIC), c.says)
		r, left := stateIn(s).Remnants[blue.NIC.Key()]
		expect.Same(t, name+": it is left", c.left, left)
		expect.Same(t, name+": looked at", c.looked, r.Looked)
		delete(stateIn(s).Remnants, blue.NIC.Key())
		_ = a.checkRemnant(t.Context(), s, blue.NIC)
		expect.Same(t, name+": what no list has", 0, len(stateIn(s).Remnants))
		stateIn(s).Remnants[blue.NIC.Key()] = lists.Remnant{ID: blue.NIC}
		_ = a.checkRemnant(t.Context(), s, blue.NIC)
		stays := c.left || name == "made anew by somebody" // nobody knows what it was
		expect.Same(t, name+": what a list has without Azure's ID", stays, len(stateIn(s).Remnants) == 1)
	}
}

// TestClear: a remnant is removed if a look, made just before, shows it unused and the same. Lists are minutes old.
func TestClear(t *testing.T) {
	same := said{http.StatusOK, `{"properties":{"resourceGuid":"` + blue.ID + `"}}`}
	for name, c := range map[string]struct {
		get, remove said
		removals    int
		says        string
		left        bool
	}{
		"the same":               {get: same, remove: said{http.StatusAccepted, ""}, removals: 1},
		"the same, and it stays": {get: same, remove: said{http.StatusForbidden, denied}, removals: 1, says: "no", left: true},
		"gone":                   {get: said{http.StatusNotFound, gone}},
		"in use":                 {get: said{http.StatusOK, `{"managedBy":"x"}`}},
		"made anew by somebody":  {get: said{http.StatusOK, `{"properties":{"uniqueId":"22222222-aaaa-bbbb-cccc-555555555555"}}`}},
		"it cannot be looked at": {get: said{http.StatusForbidden, denied}, says: "no", left: true},
	} {
		n := &nicAnswers{map[string]said{http.MethodGet: c.get, http.MethodDelete: c.remove}, map[string]int{}, 0}
		a := blueAccount(t, blue.Says(n.answer))
		s := a.lists.Scope(blue.Group)
		stateIn(s).Remnants[blue.NIC.Key()] = lists.Remnant{ID: blue.NIC, UniqueID: blue.ID}
		expect.Says(t, name, a.clear(t.Context(), s, blue.NIC), c.says)
		_, left := stateIn(s).Remnants[blue.NIC.Key()]
		expect.Same(t, name+": it is left", c.left, left)
		expect.Same(t, name+": removals", c.removals, n.sent[http.MethodDelete])
	}
}

// TestAdaptersThatAreHeld: while it is not time to try again, what was told is told again, without a call.
func TestAdaptersThatAreHeld(t *testing.T) {
	why := cloud.Errorf(cloud.Transient, "Other", "why")
	for name, c := range map[string]struct {
		notBefore time.Time
		calls     int
		says      string
	}{
		"too soon": {blue.Noon.Add(1), 0, "why"}, "in time": {blue.Noon, 1, "no"},
	} {
		n := &nicAnswers{map[string]said{http.MethodGet: {http.StatusForbidden, denied}}, map[string]int{}, 0}
		a, m := blueAccount(t, blue.Says(n.answer)), blue.Machine()
		a.ledger.note(m, blue.Noon, func(w *work) { w.separate.err, w.separate.notBefore = why, c.notBefore })
		want := request.Want{Machine: m, Placement: infrav1.AzurePlacement{SubnetIDs: []string{"one"}}}
		expect.Says(t, name, pursued(a, m).makeAdapters(t.Context(), want), c.says)
		expect.Same(t, name+": calls", c.calls, n.sent[http.MethodGet])
	}
}

// TestPutOf: what the answer to a request that was not accepted says of it.
func TestPutOf(t *testing.T) {
	verdict := func(effect fault.Effect) *fault.Verdict {
		err := cloud.Errorf(cloud.Transient, "Other", "no")
		err.After = time.Minute
		return &fault.Verdict{Effect: effect, Error: err}
	}
	later := blue.Noon.Add(time.Minute)
	for name, c := range map[string]struct {
		of        calls.Answer
		want      next.Answer
		notBefore time.Time
		took      bool
	}{
		"lost":       {calls.Answer{Verdict: verdict(""), Lost: true}, next.Lost, time.Time{}, false},
		"refused":    {calls.Answer{Verdict: verdict("")}, next.Refused, later, false},
		"taken":      {calls.Answer{Verdict: verdict(fault.Taken)}, next.Refused, later, true},
		"no room":    {calls.Answer{Verdict: verdict(fault.ClosesSize)}, next.Refused, blue.Noon, false},
		"no quota":   {calls.Answer{Verdict: verdict(fault.ClosesFamily)}, next.Refused, blue.Noon, false},
		"not inline": {calls.Answer{Verdict: verdict(fault.Inline)}, next.Refused, later, false},
	} {
		put := putOf(c.of, blue.Noon)
		expect.Same(t, name, next.Put{Sent: blue.Noon, Answer: c.want, NotBefore: c.notBefore, Took: c.took, Err: put.Err}, put)
		expect.Same(t, name+": why", c.want == next.Refused, put.Err != nil)
		a := &account{now: func() time.Time { return blue.Noon }}
		over, err := pursued(a, blue.Machine()).refused(c.of, request.Choice{}, blue.Noon)
		expect.Same(t, name+": another request follows", c.took || c.of.Verdict.AllowsFallback(), !over)
		expect.Same(t, name+": an error", over, err != nil)
		expect.Same(t, name+": adapters come first", name == "not inline", a.refusesInline.Load())
	}
}
