package azure

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// around says that a time is a pause after noon, or a tenth of the pause earlier or later.
func around(at time.Time, pause time.Duration) bool {
	after := at.Sub(blueNoon)
	return after >= pause*9/10 && after <= pause*11/10
}

// TestPause: each pause is up to a tenth longer or shorter, so that accounts do not ask in step.
func TestPause(t *testing.T) {
	for busy, want := range map[bool]time.Duration{true: whileBusy, false: idleList} {
		var all []time.Duration
		for range 500 {
			all = append(all, pause(busy, idleList))
		}
		for what, at := range map[string]time.Duration{"shortest": slices.Min(all), "longest": slices.Max(all)} {
			expect.Same(t, what+": "+at.String(), true, around(blueNoon.Add(at), want))
		}
		expect.Same(t, "they differ", true, slices.Max(all)-slices.Min(all) > want/10)
	}
}

// busyScope is a scope in which a VM is made, or one where nothing happens.
func busyScope(a *account, group arm.ID, busy bool) *scope {
	s := a.lists.scope(group)
	if busy {
		s.vms["x"] = vmRecord{original: true, state: next.Creating}
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
		"in time, and busy":     {0, idleList, true, true, whileBusy},
		"busy, and soon":        {2 * whileBusy, idleList, true, false, 0},
		"busy, and later":       {2*whileBusy + 1, idleList, true, true, whileBusy},
		"a sweep":               {0, 0, false, true, sweepEvery},
		"a sweep, and busy":     {0, 0, true, true, sweepEvery},
		"a later sweep, busy":   {time.Hour, 0, true, false, 0},
		"a later list, at ease": {time.Hour, idleList, false, false, 0},
	} {
		a := &account{now: func() time.Time { return blueNoon }}
		s, at := busyScope(a, blueGroup, c.busy), blueNoon.Add(c.at)
		expect.Same(t, name, c.want, a.due(s, &at, c.idle))
		if c.want {
			expect.Same(t, name+": the next is due at "+at.String(), true, around(at, c.next))
		} else {
			expect.Same(t, name+": is due as before", blueNoon.Add(c.at), at)
		}
	}
}

// TestPaceOfPowers: the power states of a subscription are asked for more often while something changes in any of its groups.
func TestPaceOfPowers(t *testing.T) {
	const second = "22222222-2222-3333-4444-555555555555"
	for name, c := range map[string]struct {
		busy arm.ID
		due  time.Duration
		want time.Duration // the pause that follows; zero if they are not asked for
	}{
		"nothing changes":                {arm.ID{}, 0, idlePowers},
		"in the first group":             {blueGroup, 0, whileBusy},
		"in the other group":             {otherGroup, 0, whileBusy},
		"in another subscription":        {arm.GroupID(second, "a"), 0, idlePowers},
		"in another subscription, later": {arm.GroupID(second, "z"), 0, idlePowers},
		"it is too early":                {blueGroup, 1, 0},
	} {
		calls := 0
		a := blueAccount(t, says(func(*http.Request) (int, string) { calls++; return http.StatusOK, "{}" }))
		for _, group := range []arm.ID{blueGroup, otherGroup, arm.GroupID(second, "a"), arm.GroupID(second, "z")} {
			busyScope(a, group, group.Key() == c.busy.Key())
		}
		p, before := a.lists.scope(blueGroup).power, a.lists.scope(arm.GroupID(second, "z"))
		p.due, before.powered = blueNoon.Add(c.due), true
		a.pollPowers(t.Context(), p)
		expect.Same(t, name+": lists", c.want > 0, calls == 1)
		if c.want > 0 {
			expect.Same(t, name+": the next is due at "+p.due.String(), true, around(p.due, c.want))
		}
		for _, s := range a.lists.all() {
			expect.Same(t, name+": "+s.key+" has powers", s == before || c.want > 0 && s.power == p, s.powered)
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
		one(blueVM.String(), "running"), one("x", "running"), `{"id":"` + blueGroup.VM("a").String() + `"}`,
		`{"id":"` + blueGroup.VM("b").String() + `","properties":{}}`, one(arm.GroupID(second, "blue").VM("win-1").String(), "running"),
	}, ",") + "]}"
	a := blueAccount(t, says(func(*http.Request) (int, string) { return http.StatusOK, text }))
	s, elsewhere := a.lists.scope(blueGroup), a.lists.scope(arm.GroupID(second, "blue"))
	ours := vmRecord{key: blueVM.Key(), mark: blueMark(), original: true}
	s.vms["win-1"], s.listed = ours, blueNoon
	elsewhere.vms["win-1"] = vmRecord{
		key: arm.GroupID(second, "blue").VM("win-1").Key(), mark: cloud.Marked{Key: cloud.Key{Name: "far"}}, original: true,
	}
	list := func() string {
		s.power.due = time.Time{}
		return names(a.pollPowers(t.Context(), s.power))
	}
	expect.Same(t, "woken", "m", list())
	expect.Same(t, "powers that are kept until all is listed", 2, len(s.power.of))
	expect.Same(t, "woken by the same list", "", list())
	expect.Same(t, "state", next.On, s.power.get(blueVM.Key()))
	expect.Same(t, "heard", blueNoon, s.power.heard)
	elsewhere.vms, elsewhere.listed = map[string]vmRecord{}, blueNoon
	list()
	expect.Same(t, "powers of VMs that are listed", 1, len(s.power.of))
}

// TestPowersThatAreRefused: the right that lacks is remembered until Azure answers, and any other error is not.
func TestPowersThatAreRefused(t *testing.T) {
	const lacks = `{"error":{"code":"AuthorizationFailed","message":"no authorization to perform action 'Microsoft.Compute/x/read'` +
		` over scope '/subscriptions/1'"}}`
	status, text := http.StatusForbidden, lacks
	a := blueAccount(t, says(func(*http.Request) (int, string) { return status, text }))
	s := a.lists.scope(blueGroup)
	refused := func() bool { return s.refusal() != nil }
	_, err := a.listPowers(t.Context(), s.power)
	expect.Says(t, "no right", err, "Microsoft.Compute/x/read")
	expect.Same(t, "it is remembered", true, refused())
	status, text = http.StatusOK, "{}"
	_, err = a.listPowers(t.Context(), s.power)
	expect.OK(t, err)
	expect.Same(t, "it is remembered once Azure answers", false, refused())
	status, text = http.StatusBadRequest, denied
	_, err = a.listPowers(t.Context(), s.power)
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
		calls := 0
		a := blueAccount(t, says(func(*http.Request) (int, string) { calls++; return c.status, "{}" }))
		s := a.lists.scope(blueGroup)
		s.public = c.wanted
		began := blueNoon.Add(-time.Minute)
		s.sweeping = sweeping{began: began, adapters: []resource{}, disks: []resource{{ID: blueGroup.Disk("d").String()}}}
		if c.waits {
			silence(a, limiter.ListNetwork)
		}
		_, err := a.listRemnants(t.Context(), s)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": calls", c.calls, calls)
		expect.Same(t, name+": swept", c.swept, s.swept.Equal(began))
		expect.Same(t, name+": remnants", c.found, len(s.remnants) == 1)
		expect.Same(t, name+": it goes on later", c.waits, s.sweeping.disks != nil)
	}
}

// TestTakeRemnants: what nothing uses is a remnant, since when it was first seen, and what is used tells of its VM.
func TestTakeRemnants(t *testing.T) {
	s := (&lists{}).scope(blueGroup)
	disk := resource{ID: blueGroup.Disk("d").String()}
	used := resource{ID: blueGroup.Disk("u").String(), ManagedBy: blueGroup.VM("WIN-1").String()}
	ip := resource{ID: blueGroup.String() + "/providers/Microsoft.Network/publicIPAddresses/ip"}
	ip.Properties.IPConfiguration.ID = "adapter"
	odd := resource{ID: blueGroup.Disk("o").String(), ManagedBy: "x"}
	s.takeRemnants(sweeping{disks: []resource{disk, used, {ID: "x"}, odd}, public: []resource{ip}}, blueNoon)
	expect.Same(t, "remnants", 1, len(s.remnants))
	expect.Same(t, "used", map[string]bool{"win-1": true}, s.used)
	one := s.remnants[blueGroup.Disk("d").Key()]
	one.Looked = blueNoon.Add(1)
	s.remnants[blueGroup.Disk("d").Key()] = one
	ip.Properties.IPConfiguration.ID = ""
	s.takeRemnants(sweeping{disks: []resource{disk}, public: []resource{ip}}, blueNoon.Add(time.Minute))
	expect.Same(t, "remnants, later", 2, len(s.remnants))
	one = s.remnants[blueGroup.Disk("d").Key()]
	expect.Same(t, "since, and looked at", []time.Time{blueNoon, blueNoon.Add(1)}, []time.Time{one.Since, one.Looked})
	expect.Same(t, "none is used", 0, len(s.used))
	s.takeRemnants(sweeping{}, blueNoon)
	expect.Same(t, "nothing is left", 0, len(s.remnants))
}

// TestLeftOfAMachine: of what is left of a machine, that is looked at first which is due first.
func TestLeftOfAMachine(t *testing.T) {
	m := blueMachine()
	s := &scope{remnants: map[string]remnant{}}
	expect.Same(t, "nothing", true, s.left(m, infrav1.AzureRecord{}, blueNoon) == nil)
	for i, name := range []string{"win-1-node-a", "win-1-node-b", "win-1-node-c", "strangers"} {
		id := blueGroup.Adapter(name)
		since := blueNoon.Add([]time.Duration{20, 10, 30, 0}[i])
		s.remnants[name] = remnant{id: id, Remnant: next.Remnant{ID: name, Since: since}}
	}
	for range 20 { // in any order of the map
		expect.Same(t, "first", "win-1-node-b", s.left(m, infrav1.AzureRecord{}, blueNoon).ID)
	}
}

// TestRestOfWhom: what a refused request left is a machine's if the identity is its own, or its Machine has it, too. Of one whose
// VM was proved in another way, by its data or the operator, it is that without disks: somebody may have detached one before.
func TestRestOfWhom(t *testing.T) {
	nic, disk := blueGroup.Adapter("win-1-node-a"), blueGroup.Disk("win-1-os")
	s := &scope{remnants: map[string]remnant{}}
	for _, id := range []arm.ID{nic, disk} {
		s.remnants[id.Key()] = remnant{id: id, mark: blueMark(), uniqueID: "of " + id.Name()}
	}
	refused, seen := work{put: next.Put{Answer: next.Refused}}, work{put: next.Put{Answer: next.Refused}, was: true}
	for name, c := range map[string]struct {
		proof cloud.Proof
		w     work
		want  []string
	}{
		"its own":                    {cloud.Proof{Own: true}, refused, []string{nic.Name(), disk.Name()}},
		"its Machine has it":         {cloud.Proof{Vouched: true}, refused, []string{nic.Name(), disk.Name()}},
		"its VM was proved":          {cloud.Proof{Digest: "x"}, seen, []string{nic.Name()}},
		"proved, and none refused":   {cloud.Proof{Digest: "x"}, work{was: true}, nil},
		"chosen":                     {cloud.Proof{}, refused, nil},
		"chosen, with data":          {cloud.Proof{Digest: "x"}, refused, nil},
		"chosen, of another manager": {cloud.Proof{TookOver: []types.UID{"here"}}, refused, nil},
	} {
		m := blueMachine()
		m.Proof = c.proof
		var got []string
		for _, one := range s.rest(m, c.w, nil) {
			got = append(got, one.id.Name())
		}
		slices.Sort(got)
		expect.Same(t, name, c.want, got)
	}
}

// TestHeed: a right that is lacked is told until Azure answers, the first by name.
func TestHeed(t *testing.T) {
	a := blueAccount(t, says(func(*http.Request) (int, string) { return http.StatusOK, "{}" }))
	s := a.lists.scope(blueGroup)
	lacks := func(what string) answer {
		got := failed(cloud.Errorf(cloud.Denied, "Other", "%s", what))
		got.verdict.Lacks = what
		return got
	}
	told := func() string {
		if err := s.refusal(); err != nil {
			return err.Message
		}
		return ""
	}
	s.heed(publicList, failed(cloud.Errorf(cloud.Transient, "Other", "later")))
	expect.Same(t, "an error of no right", "", told())
	s.heed("b", lacks("b"))
	s.heed("a", lacks("a"))
	expect.Same(t, "two", "a", told())
	expect.Same(t, "no list is hidden", true, s.hidden() == nil)
	for _, what := range []string{publicList, diskList, adapterList} {
		s.heed(what, lacks(what))
		expect.Same(t, "hidden", what, s.hidden().Message)
	}
	s.heed("a", answer{})
	expect.Same(t, "one is there again", "b", told())
	s.power.refused = cloud.Errorf(cloud.Denied, "Other", "powers")
	expect.Same(t, "that to the power states", "powers", told())
}

// TestToLook: who waits for another look is told when it is due, once.
func TestToLook(t *testing.T) {
	by := func(name string) cloud.MachineID { return cloud.MachineID{Key: cloud.Key{Name: name}} }
	l := &ledger{works: map[cloud.MachineID]*work{
		by("due"): {lookAt: blueNoon}, by("later"): {lookAt: blueNoon.Add(1)}, by("never"): {},
	}}
	expect.Same(t, "told", "due", names(l.toLook(blueNoon)))
	expect.Same(t, "told again", "", names(l.toLook(blueNoon)))
	expect.Same(t, "told later", "later", names(l.toLook(blueNoon.Add(1))))
}
