package azure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/limiter"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// shownVM is a VM as a list has it, with the marks of a machine of its name.
func shownVM(id arm.ID, marked string) vm {
	m := cloud.Machine{Key: cloud.Key{Namespace: "team", Name: id.Name()}, Identity: cloud.Identity{ProviderID: marked}}
	return vm{ID: id.String(), Tags: arm.Tags(m, nil)}
}

// names are those of keys, in order.
func names(keys []cloud.Key) string {
	var all []string
	for _, key := range keys {
		all = append(all, key.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestTakeOver: a list wakes the machines whose VMs are new, changed or gone. A copy, and what is elsewhere, wakes nobody.
func TestTakeOver(t *testing.T) {
	a := &account{}
	s := a.lists.scope(blueGroup)
	of := func(name string) vm { id := blueGroup.VM(name); return shownVM(id, arm.ProviderID(id)) }
	elsewhere := shownVM(otherGroup.VM("x"), arm.ProviderID(otherGroup.VM("x")))
	copied := shownVM(blueGroup.VM("copy"), arm.ProviderID(blueGroup.VM("a")))
	moved := of("b")
	moved.Zones = []string{"2"}
	for _, step := range []struct {
		name  string
		vms   []vm
		woken string
		known string
	}{
		{"the first list", []vm{of("a"), of("b"), elsewhere, copied, {ID: "x"}}, "a b", "a b"},
		{"the same", []vm{of("b"), of("a"), copied}, "", "a b"},
		{"one changes", []vm{of("a"), moved}, "b", "a b"},
		{"one goes", []vm{moved}, "a", "b"},
		{"all go", nil, "b", ""},
	} {
		at := blueNoon.Add(time.Duration(len(step.vms)))
		expect.Same(t, step.name+": woken", step.woken, names(s.take(step.vms, at, a.keysOf)))
		expect.Same(t, step.name+": known", step.known, names(a.known(s)))
		expect.Same(t, step.name+": time", at, s.listed)
	}
}

// TestAddressesOfAdapters: a machine is woken when its VM gets another address, and asked about while it runs without one.
func TestAddressesOfAdapters(t *testing.T) {
	a := &account{}
	s := a.lists.scope(blueGroup)
	nic := blueGroup.Adapter("nic")
	s.vms["a"] = vmRecord{key: "a", mark: blueMark(), original: true, adapters: []string{nic.Key()}}
	with := func(addresses ...string) []resource {
		one := resource{ID: strings.ToUpper(nic.String())}
		for _, address := range addresses {
			of := one.Properties.IPConfigurations
			of = slices.Grow(of, 1)[:len(of)+1]
			of[len(of)-1].Properties.PrivateIPAddress = address
			one.Properties.IPConfigurations = of
		}
		return []resource{one}
	}
	expect.Same(t, "off: it lacks none", false, a.lacksAddress(s))
	s.power.of["a"] = next.On
	expect.Same(t, "on: it lacks one", true, a.lacksAddress(s))
	for _, step := range []struct {
		name  string
		shown []resource
		woken bool
		has   string
	}{
		{"none", with(""), false, ""},
		{"one", with("10.0.0.9"), true, "10.0.0.9"},
		{"the same", with("10.0.0.9", ""), false, "10.0.0.9"},
		{"two", with("10.0.0.9", "10.0.0.8"), true, "10.0.0.9 10.0.0.8"},
		{"a long one", with(strings.Repeat("9", 65)), true, strings.Repeat("9", 61) + "..."},
		{"the longest", with(strings.Repeat("9", 64)), true, strings.Repeat("9", 64)},
		{"gone", nil, true, ""},
	} {
		expect.Same(t, step.name, step.woken, len(s.takeAddresses(step.shown, a.keysOf)) == 1)
		expect.Same(t, step.name+": addresses", step.has, strings.Join(s.vms["a"].addresses(s.addresses), " "))
		expect.Same(t, step.name+": it lacks one", step.has == "", a.lacksAddress(s))
	}
	stranger := s.vms["a"]
	stranger.original = false
	s.vms["a"] = stranger
	expect.Same(t, "a stranger's VM lacks none", false, a.lacksAddress(s))
	expect.Same(t, "and wakes nobody", 0, len(s.takeAddresses(with("10.0.0.9"), a.keysOf)))
}

// TestChangesOfAScope: something changes while a VM of ours is made or removed.
func TestChangesOfAScope(t *testing.T) {
	for state, want := range map[next.ProvisioningState]bool{
		next.Creating: true, next.Deleting: true, next.Succeeded: false, next.Failed: false,
	} {
		for _, ours := range []bool{true, false} {
			s := &scope{vms: map[string]vmRecord{"a": {state: state, original: ours}}}
			expect.Same(t, string(state), want && ours, (&account{}).changes(s))
		}
	}
}

// TestNextOfAnAdapter: one that failed is asked for again after a while, one of another speed once, and any other is awaited.
func TestNextOfAnAdapter(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		state string
		fast  bool
		was   asked
		want  adapterStep
	}{
		"ready":                        {"succeeded", true, asked{}, adapterReady},
		"Azure works on it":            {"Updating", true, asked{}, adapterWorks},
		"it works, and is slow":        {"Updating", false, asked{}, adapterWorks},
		"failed":                       {"failed", true, asked{}, adapterRepair},
		"failed, and asked for lately": {"Failed", true, asked{again: blueNoon.Add(1 - adapterAgain)}, adapterFails},
		"failed, and asked for before": {"Failed", true, asked{again: blueNoon.Add(-adapterAgain)}, adapterRepair},
		"slow, of another process":     {"Succeeded", false, asked{}, adapterChange},
		"slow, as it was asked for":    {"Succeeded", false, asked{fast: &no}, adapterChange},
		"slow, and asked for as fast":  {"Succeeded", false, asked{fast: &yes}, adapterReady},
	} {
		var found resource
		found.Properties.ProvisioningState, found.Properties.EnableAcceleratedNetworking = c.state, c.fast
		expect.Same(t, name, c.want, c.was.next(found, wanted{fast: true}, blueNoon))
	}
}

// TestGroupThatIsMissed: it counts that a group does not exist, once in 15 seconds, and while the subscription answers.
func TestGroupThatIsMissed(t *testing.T) {
	s := newStage(t)
	a := s.account()
	at := a.lists.scope(arm.GroupID(armsim.Subscription, "nowhere"))
	for _, step := range []struct{ after, times int }{{0, 1}, {14, 1}, {1, 2}} {
		s.Advance(time.Duration(step.after) * time.Second)
		keys, err := a.listVMs(t.Context(), at)
		expect.OK(t, err)
		expect.Same(t, "keys", 0, len(keys))
		expect.Same(t, "times", step.times, at.missed.Times)
	}
	expect.Same(t, "it is listed", false, at.listed.IsZero())
	unknown := a.lists.scope(arm.GroupID("22222222-2222-3333-4444-555555555555", "nowhere"))
	_, _ = a.listVMs(t.Context(), unknown)
	expect.Same(t, "times in a subscription that is not ours", 0, unknown.missed.Times)
	at.listing = true
	_, err := a.listVMs(t.Context(), at)
	expect.Says(t, "who comes meanwhile", err, "waiting for Azure's list of VMs")
}

// TestSweepThatWaits: a sweep whose next list has to wait goes on with it, and is due when its turn comes.
func TestSweepThatWaits(t *testing.T) {
	s := newStage(t)
	a := s.account()
	at := a.lists.scope(arm.GroupID(armsim.Subscription, armsim.Group))
	_, err := a.listVMs(t.Context(), at)
	expect.OK(t, err)
	began := s.Now()
	at.sweeping = sweeping{began: began, adapters: []resource{}}
	silence(a, limiter.ListNetwork)
	a.pollRest(t.Context(), at)
	expect.Same(t, "due in a minute", true, at.sweepDue.Sub(s.Now()) <= time.Minute)
	expect.Same(t, "what was read is kept", true, at.sweeping.adapters != nil && at.sweeping.disks == nil)
	expect.Same(t, "swept", true, at.swept.IsZero())
	s.Advance(time.Minute + time.Second)
	a.pollRest(t.Context(), at)
	expect.Same(t, "swept since the first list", began, at.swept)
	expect.Same(t, "lists of adapters", 0, s.ByClass()["GET nic list"])
	expect.Same(t, "lists of disks", 1, s.ByClass()["GET disk list"])
	expect.Same(t, "nothing is kept", true, at.sweeping.adapters == nil)
}

// TestAddressesThatAreHidden: the right that is missing is remembered, and forgotten when it is there.
func TestAddressesThatAreHidden(t *testing.T) {
	s := newStage(t)
	a := s.account()
	at := a.lists.scope(arm.GroupID(armsim.Subscription, armsim.Group))
	without("Microsoft.Network/networkInterfaces/read")(s, nil)
	_, err := a.listAddresses(t.Context(), at)
	expect.Says(t, "addresses", err, "Microsoft.Network/networkInterfaces/read")
	expect.Same(t, "the right is missing", true, at.refused[adapterList] != nil)
	without()(s, nil)
	_, err = a.listAddresses(t.Context(), at)
	expect.OK(t, err)
	expect.Same(t, "the right is missing still", false, at.refused[adapterList] != nil)
}

// TestRequestThatWaits: a request that was not sent is none.
func TestRequestThatWaits(t *testing.T) {
	s := newStage(t)
	a, m := s.account(), s.machine("m")
	silence(a, limiter.PutVM)
	var err error
	for range 5 {
		_, err = a.Ensure(t.Context(), m)
		s.Advance(5 * time.Second)
	}
	_, waits := asLater(err)
	expect.Same(t, "it waits for its turn", true, waits)
	expect.Same(t, "a request", next.Put{}, a.ledger.recall(m).put)
	s.Advance(time.Minute)
	for range 5 {
		_, err = a.Ensure(t.Context(), m)
		s.Advance(5 * time.Second)
	}
	expect.OK(t, err)
	expect.Same(t, "a request in its turn", next.Accepted, a.ledger.recall(m).put.Answer)
	silence(a, limiter.DeleteVM)
	_, waits = asLater(expect.ErrorOf(a.Delete(t.Context(), m)))
	expect.Same(t, "a deletion waits for its turn", true, waits)
	expect.Same(t, "a deletion", next.Delete{}, a.ledger.recall(m).del)
}
