package azure

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// around says that a time is a pause after noon, or a tenth of the pause earlier or later.
func around(at time.Time, pause time.Duration) bool {
	after := at.Sub(blue.Noon)
	return after >= pause*9/10 && after <= pause*11/10
}

// TestPause: each pause is up to a tenth longer or shorter, so that accounts do not ask in step.
func TestPause(t *testing.T) {
	for busy, want := range map[bool]time.Duration{true: lists.WhileBusy, false: idleList} {
		var all []time.Duration
		for range 500 {
			all = append(all, pause(busy, idleList))
		}
		for what, at := range map[string]time.Duration{"shortest": slices.Min(all), "longest": slices.Max(all)} {
			expect.Same(t, what+": "+at.String(), true, around(blue.Noon.Add(at), want))
		}
		expect.Same(t, "they differ", true, slices.Max(all)-slices.Min(all) > want/10)
	}
}

// busyScope is a scope in which a VM is made, or one where nothing happens.
func busyScope(a *account, group arm.ID, busy bool) *lists.Scope {
	s := a.lists.Scope(group)
	if busy {
		stateIn(s).VMs["x"] = lists.Record{Original: true, State: next.Creating}
	}
	return s
}

// TestDue: a list is due at its time, and a quiet one sooner once something changes. A sweep has one pace.
func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Duration
		idle time.Duration
		busy bool
		want bool
		next time.Duration // the pause that follows
	}{
		"in time":               {0, idleList, false, true, idleList},
		"too early":             {1, idleList, false, false, 0},
		"in time, and busy":     {0, idleList, true, true, lists.WhileBusy},
		"busy, and soon":        {2 * lists.WhileBusy, idleList, true, false, 0},
		"busy, and later":       {2*lists.WhileBusy + 1, idleList, true, true, lists.WhileBusy},
		"a sweep":               {0, 0, false, true, sweepEvery},
		"a sweep, and busy":     {0, 0, true, true, sweepEvery},
		"a later sweep, busy":   {time.Hour, 0, true, false, 0},
		"a later list, at ease": {time.Hour, idleList, false, false, 0},
	} {
		a := &account{now: func() time.Time { return blue.Noon }}
		s := busyScope(a, blue.Group, c.busy)
		stateIn(s).Due[lists.VMs] = blue.Noon.Add(c.at)
		expect.Same(t, name, c.want, a.due(s, lists.VMs, c.idle))
		at := stateIn(s).Due[lists.VMs]
		if c.want {
			expect.Same(t, name+": the next is due at "+at.String(), true, around(at, c.next))
		} else {
			expect.Same(t, name+": is due as before", blue.Noon.Add(c.at), at)
		}
	}
}

// TestPaceOfPowers: the power states of a subscription are asked for more often while something changes in any of its groups, and
// sooner once it does.
func TestPaceOfPowers(t *testing.T) {
	const second = "22222222-2222-3333-4444-555555555555"
	for name, c := range map[string]struct {
		busy arm.ID
		due  time.Duration
		want time.Duration // the pause that follows; zero if they are not asked for
		soon bool          // they wait for a shorter time than before
	}{
		"nothing changes":                {arm.ID{}, 0, lists.IdlePowers, false},
		"in the first group":             {blue.Group, 0, lists.WhileBusy, false},
		"in the other group":             {blue.OtherGroup, 0, lists.WhileBusy, false},
		"in another subscription":        {arm.GroupID(second, "a"), 0, lists.IdlePowers, false},
		"in another subscription, later": {arm.GroupID(second, "z"), 0, lists.IdlePowers, false},
		"it is too early":                {blue.Group, 1, 0, false},
		"they are due soon":              {blue.Group, 2 * lists.WhileBusy, 0, false},
		"they are due later":             {blue.Group, 2*lists.WhileBusy + 1, 0, true},
		"due later, and nothing changes": {arm.ID{}, lists.IdlePowers, 0, false},
		"due later, and it is elsewhere": {arm.GroupID(second, "a"), lists.IdlePowers, 0, false},
	} {
		calls := 0
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { calls++; return http.StatusOK, "{}" }))
		for _, group := range []arm.ID{blue.Group, blue.OtherGroup, arm.GroupID(second, "a"), arm.GroupID(second, "z")} {
			busyScope(a, group, group.Key() == c.busy.Key())
		}
		p, before := a.lists.Scope(blue.Group).Power, a.lists.Scope(arm.GroupID(second, "z"))
		powersIn(p).Due, stateIn(before).Powered = blue.Noon.Add(c.due), true
		a.pollPowers(t.Context(), p)
		expect.Same(t, name+": lists", c.want > 0, calls == 1)
		switch due := powersIn(p).Due; {
		case c.want > 0:
			expect.Same(t, name+": the next is due at "+due.String(), true, around(due, c.want))
		case c.soon:
			expect.Same(t, name+": they are due at "+due.String(), true, around(due, lists.WhileBusy))
		default:
			expect.Same(t, name+": they are due as before", blue.Noon.Add(c.due), due)
		}
		for _, s := range a.lists.AllScopes() {
			expect.Same(t, name+": "+s.Key+" has powers", s == before || c.want > 0 && s.Power == p, stateIn(s).Powered)
		}
	}
}

// TestListPowers: what a list of power states says of the VMs of its own subscription, and of what is no VM.
func TestListPowers(t *testing.T) {
	const second = "22222222-2222-3333-4444-555555555555"
	one := func(id, state string) string {
		return `{"id":"` + id + `","properties":{"instanceView":{"statuses":[{"code":"PowerState/` + state + `"}]}}}`
	}
	text := `{"value":[` + strings.Join([]string{
		one(blue.VM.String(), "running"), one("x", "running"), `{"id":"` + blue.Group.VM("a").String() + `"}`,
		`{"id":"` + blue.Group.VM("b").String() + `","properties":{}}`,
		one(arm.GroupID(second, "blue").VM("win-1").String(), "running"),
	}, ",") + "]}"
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return http.StatusOK, text }))
	s, elsewhere := a.lists.Scope(blue.Group), a.lists.Scope(arm.GroupID(second, "blue"))
	ours := lists.Record{Key: blue.VM.Key(), Mark: blue.Mark(), Original: true}
	stateIn(s).VMs["win-1"], stateIn(s).Listed = ours, blue.Noon
	stateIn(elsewhere).VMs["win-1"] = lists.Record{
		Key: arm.GroupID(second, "blue").VM("win-1").Key(), Mark: cloud.Marked{Key: cloud.Key{Name: "far"}}, Original: true,
	}
	list := func() string {
		powersIn(s.Power).Due = time.Time{}
		return names(a.pollPowers(t.Context(), s.Power))
	}
	expect.Same(t, "woken", "m", list())
	expect.Same(t, "powers that are kept until all is listed", 2, len(powersIn(s.Power).States))
	expect.Same(t, "woken by the same list", "", list())
	expect.Same(t, "state", next.PoweredOn, s.Power.Get(blue.VM.Key()))
	expect.Same(t, "heard", blue.Noon, powersIn(s.Power).Answered)
	stateIn(elsewhere).VMs, stateIn(elsewhere).Listed = map[string]lists.Record{}, blue.Noon
	list()
	expect.Same(t, "powers of VMs that are listed", 1, len(powersIn(s.Power).States))
}

// TestPowersThatAreRefused: the right that lacks is remembered until Azure answers, and any other error is not.
func TestPowersThatAreRefused(t *testing.T) {
	const lacks = `{"error":{"code":"AuthorizationFailed","message":"no authorization to perform action 'Microsoft.Compute/x/read'` +
		` over scope '/subscriptions/1'"}}`
	status, text := http.StatusForbidden, lacks
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return status, text }))
	s := a.lists.Scope(blue.Group)
	refused := func() bool { return stateIn(s).Refusal() != nil }
	_, err := a.listPowers(t.Context(), s.Power)
	expect.Says(t, "no right", err, "Microsoft.Compute/x/read")
	expect.Same(t, "it is remembered", true, refused())
	status, text = http.StatusOK, "{}"
	_, err = a.listPowers(t.Context(), s.Power)
	expect.OK(t, err)
	expect.Same(t, "it is remembered once Azure answers", false, refused())
	status, text = http.StatusBadRequest, denied
	_, err = a.listPowers(t.Context(), s.Power)
	expect.Says(t, "another error", err, "no")
	expect.Same(t, "that is remembered", false, refused())
}

// TestSweepWaitsForPublicIPs: a sweep whose last list has to wait goes on with it; what else is wrong with it stops nothing.
func TestSweepWaitsForPublicIPs(t *testing.T) {
	for name, c := range map[string]struct {
		waits, wanted bool
		status        int
		says          string
		swept, found  bool
		calls         int
	}{
		"it waits":          {waits: true, wanted: true, status: http.StatusOK, says: "this account's turn"},
		"it is read":        {wanted: true, status: http.StatusOK, swept: true, found: true, calls: 1},
		"it cannot be read": {wanted: true, status: http.StatusForbidden, found: true, calls: 1},
		"nobody has one":    {status: http.StatusOK, swept: true, found: true},
	} {
		made := 0
		a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { made++; return c.status, "{}" }))
		s := a.lists.Scope(blue.Group)
		stateIn(s).Public = c.wanted
		began := blue.Noon.Add(-time.Minute)
		disks := []lists.Resource{{ID: blue.Group.Disk("d")}}
		stateIn(s).Sweeping = lists.Sweeping{Began: began, Adapters: []lists.Resource{}, Disks: disks}
		if c.waits {
			silence(a, limiter.ListNetwork)
		}
		_, err := a.listRemnants(t.Context(), s)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": calls", c.calls, made)
		expect.Same(t, name+": swept", c.swept, stateIn(s).Swept.Equal(began))
		expect.Same(t, name+": remnants", c.found, len(stateIn(s).Remnants) == 1)
		expect.Same(t, name+": it goes on later", c.waits, stateIn(s).Sweeping.Disks != nil)
	}
}

// TestRestOfWhom: what a refused request left is a machine's if the identity is its own, or its Machine has it, too. Of one whose
// VM was proved in another way, by its data or the operator, it is that without disks: somebody may have detached one before.
func TestRestOfWhom(t *testing.T) {
	nic, disk := blue.Group.Adapter("win-1-node-a"), blue.Group.Disk("win-1-os")
	s := &lists.State{Remnants: map[string]lists.Remnant{}}
	for _, id := range []arm.ID{nic, disk} {
		s.Remnants[id.Key()] = lists.Remnant{ID: id, Mark: blue.Mark(), UniqueID: "of " + id.Name()}
	}
	refused := work{Memory: next.Memory{Put: next.Put{Answer: next.Refused}}}
	seen := refused
	seen.existed = true
	for name, c := range map[string]struct {
		proof cloud.Proof
		w     work
		want  []string
	}{
		"its own":                    {cloud.Proof{Own: true}, refused, []string{nic.Name(), disk.Name()}},
		"its Machine has it":         {cloud.Proof{Vouched: true}, refused, []string{nic.Name(), disk.Name()}},
		"its VM was proved":          {cloud.Proof{Digest: "x"}, seen, []string{nic.Name()}},
		"proved, and none refused":   {cloud.Proof{Digest: "x"}, work{existed: true}, nil},
		"chosen":                     {cloud.Proof{}, refused, nil},
		"chosen, with data":          {cloud.Proof{Digest: "x"}, refused, nil},
		"chosen, of another manager": {cloud.Proof{TookOver: []types.UID{"here"}}, refused, nil},
	} {
		m := blue.Machine()
		m.Proof = c.proof
		var got []string
		for _, one := range c.w.rest(s, m, nil) {
			got = append(got, one.ID.Name())
		}
		slices.Sort(got)
		expect.Same(t, name, c.want, got)
	}
}

// TestToLook: who waits for another look is told when it is due, once.
func TestToLook(t *testing.T) {
	by := func(name string) cloud.MachineID { return cloud.MachineID{Key: cloud.Key{Name: name}} }
	l := &ledger{works: map[cloud.MachineID]*work{
		by("due"): {lookAt: blue.Noon}, by("later"): {lookAt: blue.Noon.Add(1)}, by("never"): {},
	}}
	expect.Same(t, "told", "due", names(l.toLook(blue.Noon)))
	expect.Same(t, "told again", "", names(l.toLook(blue.Noon)))
	expect.Same(t, "told later", "later", names(l.toLook(blue.Noon.Add(1))))
}
