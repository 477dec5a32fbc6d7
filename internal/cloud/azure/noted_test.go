package azure

import (
	"context"
	"errors"
	"net/http"
	"strings"
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

// TestAfterARequest: what each answer to a request leaves in the ledger, and whether another request may follow at once.
func TestAfterARequest(t *testing.T) {
	choice := request.Choice{Size: "Standard_D4s_v5"}
	for name, c := range map[string]struct {
		answer        said
		silent, blank bool // the request waits for its turn, or has no user data
		says          string
		over          bool
		want          next.Answer
		lost, took    bool
		adapters      int
		closed        bool
	}{
		"accepted": {answer: said{http.StatusCreated, "{}"}, over: true, want: next.Accepted},
		"taken":    {answer: said{http.StatusPreconditionFailed, "{}"}, want: next.Refused, took: true, adapters: 1},
		"no room": {
			answer: said{http.StatusConflict, blue.Fault("SkuNotAvailable")}, want: next.Refused, adapters: 1, closed: true,
		},
		"refused":        {answer: said{http.StatusForbidden, denied}, says: "no", over: true, want: next.Refused, adapters: 1},
		"lost":           {answer: said{http.StatusBadGateway, ""}, says: "Bad", over: true, want: next.Lost, lost: true, adapters: 1},
		"not its turn":   {silent: true, says: "this account's turn", over: true, adapters: 1},
		"no user data":   {blank: true, says: "no user data", over: true, adapters: 1},
		"not its format": {answer: said{http.StatusBadRequest, denied}, says: "no", over: true, want: next.Refused, adapters: 1},
	} {
		a, m := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return c.answer.status, c.answer.text })), placed()
		if c.silent {
			silence(a, limiter.PutVM)
		}
		if c.blank {
			m.UserData = func(context.Context) (cloud.UserData, error) { return nil, errors.New("no user data") }
		}
		s := a.lists.Scope(blue.Group)
		stateIn(s).Remnants[blue.NIC.Key()] = lists.Remnant{}
		missed := next.Missed{Times: 1}
		a.ledger.note(m, blue.Noon, func(w *work) {
			w.Looked, w.Ran, w.Missed, w.View, w.separate.made = blue.Noon, true, missed, &fault.Verdict{}, []asked{{id: blue.NIC}}
		})
		over, err := pursued(a, m).create(t.Context(), choice)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": it is over", c.over, over)
		w := a.ledger.recall(m)
		expect.Same(t, name+": answer", c.want, w.Put.Answer)
		expect.Same(t, name+": it is lost", c.lost, w.Lost.Equal(blue.Noon))
		expect.Same(t, name+": it is looked at anew", c.took, w.Looked.IsZero())
		expect.Same(t, name+": adapters", c.adapters, len(w.separate.made))
		expect.Same(t, name+": what was left", c.adapters, len(stateIn(s).Remnants))
		sent := c.want != ""
		expect.Same(t, name+": what was before is over", sent, !w.Ran && w.Missed.Times == 0 && w.View == nil && w.choice == choice)
		closed := a.blocks.reason(pursued(a, m).region(), choice, cloud.MachineID{UID: "x"}, blue.Noon) != nil
		expect.Same(t, name+": closed", c.closed, closed)
	}
}

// TestStepsGoOn: after a look, a view, a check and a list of sizes it is decided again.
func TestStepsGoOn(t *testing.T) {
	for _, act := range []next.Act{next.Sizes, next.Look, next.View, next.Check} {
		paths := ""
		a := blueAccount(t, blue.Says(func(r *http.Request) (int, string) { paths += r.URL.Path; return http.StatusOK, "{}" }))
		over, err := pursued(a, placed()).perform(t.Context(), next.Step{Act: act, ID: blue.NIC.String()})
		expect.OK(t, err)
		expect.Same(t, string(act)+": it is over", false, over)
		want := map[next.Act]string{
			next.Sizes: "/skus", next.Look: "/win-1", next.View: "/instanceView", next.Check: "/win-1-node",
		}[act]
		expect.Same(t, string(act)+": asks for "+paths, true, strings.HasSuffix(paths, want))
	}
}

// TestGathered: what a look at a machine's VM teaches of the machine and of its group.
func TestGathered(t *testing.T) {
	for name, c := range map[string]struct {
		seen, ours, public, wants bool
	}{
		"nothing": {}, "ours": {seen: true, ours: true}, "a stranger's": {seen: true}, "a public address before": {public: true},
		"a public address": {wants: true},
	} {
		a, m := &account{now: func() time.Time { return blue.Noon }, calls: &calls.Client{}}, placed()
		s := a.lists.Scope(blue.Group)
		stateIn(s).Public = c.public
		if c.wants {
			m.Spec.Azure.NetworkInterfaces[0].PublicIP = infrav1.AzureEnabled
		}
		if c.seen {
			stateIn(s).VMs[m.Name] = lists.Record{Key: blue.VM.Key()}
		}
		if c.ours {
			stateIn(s).VMs[m.Name] = lists.Record{Key: blue.VM.Key(), Mark: blue.Mark(), Adapters: []string{"nic"}}
			powersIn(s.Power).States[blue.VM.Key()], stateIn(s).Addresses["nic"] = next.PoweredOn, []string{"10.0.0.9"}
		}
		p := pursued(a, m)
		got := p.gather()
		expect.Same(t, name+": it is seen", c.seen, got.Seen != nil)
		expect.Same(t, name+": it existed, and ran", []bool{c.ours, c.ours}, []bool{p.m.Asked == cloud.Existed, got.Ran})
		expect.Same(t, name+": it has an address", c.ours, got.Seen != nil && len(got.Seen.VM.Addresses) == 3)
		expect.Same(t, name+": public addresses may be there", c.public || c.wants, stateIn(s).Public)
	}
}

// TestMarked: the VMs of machines are told of, but for copies, and what they left long ago, and whether these are all.
func TestMarked(t *testing.T) {
	a := &account{now: func() time.Time { return blue.Noon }}
	s := a.lists.Scope(blue.Group)
	left, young := blue.Mark(), lists.Remnant{ID: blue.Group.Disk("win-1-data"), Mark: blue.Mark()}
	young.FirstSeen = blue.Noon
	old := next.Remnant{FirstSeen: blue.Noon.Add(-lists.OldEnough)}
	stateIn(s).Remnants["old"] = lists.Remnant{ID: blue.NIC, Mark: left, Remnant: old}
	stateIn(s).Remnants["young"] = young
	left.Kind, left.Name = "network interface", blue.NIC.Name()
	stateIn(s).VMs["win-1"] = lists.Record{Mark: blue.Mark(), Original: true}
	stateIn(s).VMs["copy"] = lists.Record{Mark: blue.Mark()}
	for _, told := range []bool{false, true} {
		stateIn(s).Reported = told
		a.watching.Store(true)
		all, known := a.Marked()
		expect.Same(t, "marked", []cloud.Marked{blue.Mark(), left}, all)
		expect.Same(t, "these are all", told, known)
	}
	a.restart()
	expect.Same(t, "it is told", false, stateIn(s).Reported)
}

// TestSweepInParts: a list that fails ends a sweep, and addresses that are known by then are told.
func TestSweepInParts(t *testing.T) {
	shown := `{"value":[{"id":"` + blue.NIC.String() +
		`","properties":{"ipConfigurations":[{"properties":{"privateIPAddress":"10.0.0.9"}}]}}]}`
	for name, c := range map[string]struct {
		fails string
		says  string
		woken string
		swept bool
	}{
		"adapters": {"/networkInterfaces", "no", "", false}, "disks": {"/disks", "no", "m", false}, "none": {"-", "", "m", true},
	} {
		a := blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
			if strings.HasSuffix(r.URL.Path, c.fails) {
				return http.StatusForbidden, denied
			}
			return http.StatusOK, shown
		}))
		s := a.lists.Scope(blue.Group)
		stateIn(s).VMs["a"] = lists.Record{Mark: blue.Mark(), Original: true, Adapters: []string{blue.NIC.Key()}}
		keys, err := a.listRemnants(t.Context(), s)
		expect.Says(t, name, err, c.says)
		expect.Same(t, name+": woken", c.woken, names(keys))
		expect.Same(t, name+": swept", c.swept, stateIn(s).Swept.Equal(blue.Noon))
		expect.Same(t, name+": began", blue.Noon, stateIn(s).SweepBegan)
	}
}

// TestListsThatWait for their turn are due when it comes.
func TestListsThatWait(t *testing.T) {
	a := blueAccount(t, blue.Says(func(*http.Request) (int, string) { return http.StatusOK, "{}" }))
	s := a.lists.Scope(blue.Group)
	stateIn(s).VMs["a"] = lists.Record{Key: "a", Mark: blue.Mark(), Original: true}
	powersIn(s.Power).States["a"], stateIn(s).Due[lists.Remnants] = next.PoweredOn, blue.Noon.Add(time.Hour)
	silence(a, limiter.ListNetwork)
	silence(a, limiter.ListVMs)
	a.pollRest(t.Context(), s)
	a.pollPowers(t.Context(), s.Power)
	for what, at := range map[string]time.Time{"addresses": stateIn(s).Due[lists.Addresses], "powers": powersIn(s.Power).Due} {
		after := at.Sub(blue.Noon)
		expect.Same(t, what+" are due after "+after.String(), true, after > 59*time.Second && after <= time.Minute)
	}
	expect.Same(t, "powers are known", false, stateIn(s).Powered)
}

// TestOneAtATime: while a list is under way, who needs it waits.
func TestOneAtATime(t *testing.T) {
	var a *account
	var s *lists.Scope
	calls := 0
	a = blueAccount(t, blue.Says(func(r *http.Request) (int, string) {
		calls++
		_, err := a.listVMs(r.Context(), s)
		expect.Says(t, "another list", err, "waiting for Azure's list of VMs")
		return http.StatusOK, "{}"
	}))
	s = a.lists.Scope(blue.Group)
	stateIn(s).Missed = next.Missed{Times: 2}
	_, err := a.listVMs(t.Context(), s)
	expect.OK(t, err)
	expect.Same(t, "a group with a list is missed", next.Missed{}, stateIn(s).Missed)
	expect.Same(t, "a list is under way", false, stateIn(s).Listing)
	expect.Same(t, "lists", 1, calls)
}

// TestIdentifyAgain: what spec.providerID says is the identity, if it is a VM's of a computer's name.
func TestIdentifyAgain(t *testing.T) {
	m := &infrav1.WindowsMachine{}
	m.Spec.ProviderID = arm.ProviderID(blue.VM)
	expect.Same(t, "identity", blue.Machine().Identity, expect.Got(Provider{}.Identify(m))(t))
	m.Spec.ProviderID = "vsphere://x"
	_, err := Provider{}.Identify(m)
	expect.Says(t, "another cloud's", err, "is not valid for Azure")
	before := len(arm.ProviderID(blue.Group.VM("")))
	for over, cut := range []bool{false, true} {
		m.Spec.ProviderID = arm.ProviderID(blue.Group.VM(strings.Repeat("x", 256-before+over)))
		_, err = Provider{}.Identify(m)
		expect.Says(t, "no computer's name", err, "does not end with the name of a Windows computer")
		expect.Same(t, "it is cut", cut, err != nil && strings.Contains(err.Error(), "..."))
	}
}
