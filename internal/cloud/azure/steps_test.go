package azure

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestWhoseMachine: a machine of another tenant or cloud, and one that is nowhere in Azure, is refused without a call.
func TestWhoseMachine(t *testing.T) {
	calls := 0
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { calls++; return http.StatusForbidden, denied }))
	for name, c := range map[string]struct {
		server, id string
		says       string
		calls      int
	}{
		"another server's": {"other", arm.ProviderID(blue.VM), "in another tenant or cloud", 0},
		"nowhere":          {a.server(), "vsphere://x", "is not valid for Azure", 0},
		"ours":             {a.server(), arm.ProviderID(blue.VM), "no", 1},
		"not made yet":     {"", arm.ProviderID(blue.VM), "no", 1},
	} {
		calls = 0
		m := blue.Machine()
		m.Server, m.ProviderID = c.server, c.id
		_, err := a.Observe(t.Context(), m)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": calls", c.calls, calls)
	}
	expect.Same(t, "server", blue.Endpoint+"/"+armsim.Tenant, a.server())
}

// TestServer: an account asks once whether it is let in, and tells why it is not.
func TestServer(t *testing.T) {
	calls, status := 0, http.StatusForbidden
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { calls++; return status, denied }))
	_, err := a.Server(t.Context(), cloud.Key{})
	expect.Says(t, "refused", err, "no")
	status = http.StatusOK
	for range 2 {
		expect.Same(t, "server", a.server(), expect.Got(a.Server(t.Context(), cloud.Key{}))(t))
	}
	expect.Same(t, "calls", 2, calls)
	expect.Same(t, "it has told of all", false, a.Health().Synced)
	stateIn(a.lists.Scope(blue.Group)).Reported = true
	expect.Same(t, "it has told of all now", true, a.Health().Synced)
}

// TestSearchIsAStep that ends what is done for a machine now: the lists are asked for by the watch.
func TestSearchIsAStep(t *testing.T) {
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return http.StatusOK, "{}" }))
	for name, c := range map[string]struct{ began, due, want time.Duration }{
		"not lately": {-lists.SearchEvery - 1, time.Hour, -1}, "lately": {-time.Second, time.Hour, lists.SearchEvery - time.Second},
		"it is due": {-time.Second, time.Second, time.Second},
	} {
		s := a.lists.Scope(blue.Group)
		stateIn(s).SweepBegan, stateIn(s).Due[lists.Remnants] = blue.Noon.Add(c.began), blue.Noon.Add(c.due)
		over, err := pursued(a, blue.Machine()).perform(t.Context(), next.Step{Act: next.Search})
		expect.OK(t, err)
		expect.Same(t, name+": it is over", true, over)
		expect.Same(t, name+": due", c.want, stateIn(s).Due[lists.Remnants].Sub(blue.Noon))
	}
}

// TestRemove: a removal is accepted with a 202 alone, and one of what is not there is no error.
func TestRemove(t *testing.T) {
	for name, c := range map[string]struct {
		answer   said
		accepted bool
		says     string
	}{
		"accepted":           {said{http.StatusAccepted, ""}, true, ""},
		"nothing there":      {said{http.StatusNoContent, ""}, false, ""},
		"it is gone":         {said{http.StatusNotFound, gone}, false, ""},
		"its group is gone":  {said{http.StatusNotFound, blue.Fault("ResourceGroupNotFound")}, false, ""},
		"refused":            {said{http.StatusForbidden, denied}, false, "no"},
		"the answer is lost": {said{http.StatusBadGateway, ""}, false, "Bad Gateway"},
	} {
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return c.answer.status, c.answer.text }))
		over, err := pursued(a, blue.Machine()).perform(t.Context(), next.Step{Act: next.Remove})
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": it is over", true, over)
		del := a.ledger.recall(blue.Machine()).Delete
		expect.Same(t, name+": at", blue.Noon, del.Sent)
		expect.Same(t, name+": accepted", c.accepted, del.Accepted)
		expect.Same(t, name+": why", c.says != "", del.Err != nil)
	}
}

// TestBeforeARequest: where it goes must be known, what is closed stays closed, and where the cloud heeds no precondition a look
// comes first.
func TestBeforeARequest(t *testing.T) {
	shown := `{"id":"` + blue.VM.String() + `"}`
	full := fault.Judge(fault.Answer{Code: "AllocationFailed"})
	for name, c := range map[string]struct {
		version string
		look    said
		nowhere bool
		closed  bool
		says    string
		over    bool
		want    map[string]int
	}{
		"a cloud that heeds it": {version: calls.Preconditioned, over: true, want: map[string]int{"PUT": 1}},
		"one that may not": {
			version: "2024-02-29", look: said{http.StatusNotFound, gone}, over: true, want: map[string]int{"GET": 1, "PUT": 1},
		},
		"a VM is there": {version: "2022-08-01", look: said{http.StatusOK, shown}, want: map[string]int{"GET": 1}},
		"it cannot be looked at": {
			version: "2022-08-01", look: said{http.StatusForbidden, denied}, says: "no", want: map[string]int{"GET": 1},
		},
		"no place": {version: calls.Tagged, nowhere: true, says: "is not set", over: true, want: map[string]int{}},
		"no room for it meanwhile": {
			version: calls.Tagged, closed: true, says: "AllocationFailed", over: true, want: map[string]int{},
		},
		"a cloud of tags and times": {version: calls.Tagged, over: true, want: map[string]int{"PUT": 1}},
	} {
		sent := map[string]int{}
		a := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
			sent[r.Method]++
			if r.Method == http.MethodGet {
				return c.look.status, c.look.text
			}
			return http.StatusCreated, "{}"
		}))
		a.calls.Principal.Cloud.ComputeAPIVersion = c.version
		m := placed()
		if c.nowhere {
			m.Spec.Azure = &infrav1.AzureVM{}
		}
		choice := request.Choice{Size: "Standard_D4s_v5"}
		if c.closed {
			a.blocks.block(pursued(a, m).region(), choice, full, blue.Noon)
		}
		over, err := pursued(a, m).create(t.Context(), choice)
		expect.Says(t, name, err, c.says)
		if err == nil || c.over {
			expect.Same(t, name+": it is over", c.over, over)
		}
		expect.Same(t, name+": calls", c.want, sent)
		expect.Same(t, name+": a request is remembered", c.want["PUT"] == 1, a.ledger.recall(m).Put.Answer == next.Accepted)
	}
}

// placed is a machine whose spec says all.
func placed() cloud.Machine {
	m := blue.Machine()
	m.Spec = (&stage{}).spec()
	m.UserData = cloud.UserData("#ps1").Read
	return m
}

// TestLookAtIt: what each answer to a look leaves in the ledger.
func TestLookAtIt(t *testing.T) {
	for name, c := range map[string]struct {
		answer said
		says   string
		looked bool
		seen   bool
		missed int
		groups int
	}{
		"there":               {said{http.StatusOK, `{"id":"` + blue.VM.String() + `"}`}, "", true, true, 0, 0},
		"another thing":       {said{http.StatusOK, `{"id":"x"}`}, "", true, false, 1, 0},
		"gone":                {said{http.StatusNotFound, gone}, "", true, false, 1, 0},
		"its group is gone":   {said{http.StatusNotFound, blue.Fault("ResourceGroupNotFound")}, "", true, false, 0, 1},
		"cannot be looked at": {said{http.StatusForbidden, denied}, "no", false, false, 0, 0},
	} {
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return c.answer.status, c.answer.text }))
		m := blue.Machine()
		a.opened = blue.Noon.Add(-2 * time.Hour)
		s := a.lists.Scope(blue.Group)
		powersIn(s.Power).Answered = blue.Noon
		expect.Says(t, name, pursued(a, m).look(t.Context()), c.says)
		w := a.ledger.recall(m)
		expect.Same(t, name+": looked", c.looked, w.Looked.Equal(blue.Noon))
		expect.Same(t, name+": seen", c.seen, w.look.Record != nil)
		expect.Same(t, name+": missed", c.missed, w.Missed.Times)
		expect.Same(t, name+": another look", c.missed > 0, w.lookAt.Equal(blue.Noon.Add(next.Apart)))
		expect.Same(t, name+": its group is missed", c.groups, stateIn(s).Missed.Times)
	}
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return http.StatusNotFound, gone }))
	a.ledger.note(blue.Machine(), blue.Noon, func(w *work) { w.Put = next.Put{Sent: blue.Noon, Answer: next.Accepted} })
	expect.OK(t, pursued(a, blue.Machine()).look(t.Context()))
	w := a.ledger.recall(blue.Machine())
	expect.Same(t, "missed just after a request, which does not count", true, w.Missed.Times == 0 && w.Looked.Equal(blue.Noon))
	once := next.Missed{}.Add(blue.Noon)
	twice := once.Add(blue.Noon.Add(1))
	expect.Same(t, "missed once", next.Missed{Times: 1, First: blue.Noon, Latest: blue.Noon}, once)
	expect.Same(t, "missed twice", next.Missed{Times: 2, First: blue.Noon, Latest: blue.Noon.Add(1)}, twice)
}

// TestViewOfAFailure: that there is no room for a VM closes its size for all.
func TestViewOfAFailure(t *testing.T) {
	const text = `{"statuses":[{"code":"ProvisioningState/failed/AllocationFailed","message":"full"}]}`
	choice := request.Choice{Size: "Standard_D4s_v5", Zone: "1"}
	for name, c := range map[string]struct {
		answer      said
		known       bool
		says        string
		view, close bool
	}{
		"a VM of a size":     {said{http.StatusOK, text}, true, "", true, true},
		"one of none":        {said{http.StatusOK, text}, false, "", true, false},
		"not to be asked of": {said{http.StatusForbidden, denied}, true, "no", false, false},
	} {
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return c.answer.status, c.answer.text }))
		m, s := blue.Machine(), a.lists.Scope(blue.Group)
		if c.known {
			stateIn(s).VMs[m.Name] = lists.Record{Size: choice.Size, Zone: choice.Zone}
		}
		expect.Says(t, name, pursued(a, m).view(t.Context()), c.says)
		expect.Same(t, name+": why", c.view, a.ledger.recall(m).View != nil)
		shut := a.blocks.reason(pursued(a, m).region(), choice, cloud.MachineID{UID: "another"}, blue.Noon)
		expect.Same(t, name+": closed", c.close, shut != nil)
	}
}

// TestLastWordsOfNone: a machine that has no VM here, or one without a boot log, has said nothing.
func TestLastWordsOfNone(t *testing.T) {
	calls := 0
	const signed = `{"serialConsoleLogBlobUri":"x"}`
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { calls++; return http.StatusOK, signed }))
	a.calls.Principal.BootLog = func(context.Context, string) ([]byte, error) { return []byte("CAPWIN x\n"), nil }
	for name, c := range map[string]struct {
		change func(*cloud.Machine)
		lines  int
	}{
		"ours":              {func(m *cloud.Machine) { m.Server = a.server() }, 1},
		"of no server":      {func(*cloud.Machine) {}, 1},
		"another server's":  {func(m *cloud.Machine) { m.Server = "other" }, 0},
		"another machine's": {func(m *cloud.Machine) { m.Own = false }, 0},
		"without an ID":     {func(m *cloud.Machine) { m.ProviderID = "x" }, 0},
		"another cloud's":   {func(m *cloud.Machine) { m.Spec.Azure = nil }, 0},
		"without a log":     {func(m *cloud.Machine) { m.Spec.Azure.BootDiagnostics.Type = infrav1.AzureBootDisabled }, 0},
	} {
		calls = 0
		m := blue.Machine()
		c.change(&m)
		stateIn(a.lists.Scope(blue.Group)).VMs[m.Name] = lists.Record{Key: blue.VM.Key(), Mark: blue.Mark(), Digest: "x"}
		expect.Same(t, name, c.lines, len(expect.Got(a.LastWords(t.Context(), m))(t)))
		expect.Same(t, name+": calls", c.lines, calls)
	}
}

// TestEverySecond has the watch look once a second.
func TestEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ticks, stop := everySecond()
		defer stop()
		expect.Same(t, "the first look", time.Second, (<-ticks).Sub(began))
	})
}
