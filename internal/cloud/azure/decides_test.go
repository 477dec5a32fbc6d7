package azure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// whoseIs says whose a VM is of which Azure has shown no ID.
func whoseIs(m cloud.Machine, r lists.Record) cloud.Whose {
	return next.Survey{}.OwnerOf(m, r.Shown(m))
}

// withMark is a resource with the tags of a mark.
func withMark(mark cloud.Marked) calls.Resource {
	m := cloud.Machine{Key: mark.Key, Identity: cloud.Identity{ProviderID: mark.ProviderID}, Cluster: mark.Cluster}
	return calls.Resource{Tags: arm.Tags(m, nil, "")}
}

// TestWhoseItIs: a VM, an adapter and what is left belong to the machine whose marks or names they have.
func TestWhoseItIs(t *testing.T) {
	m, mark := blue.Machine(), blue.Mark()
	for name, c := range map[string]struct {
		of   cloud.Marked
		want bool
	}{
		"ours": {mark, true}, "no marks": {cloud.Marked{}, false},
		"another machine's": {cloud.Marked{Key: cloud.Key{Namespace: "team", Name: "o"}, ProviderID: mark.ProviderID}, false},
		"another VM's":      {cloud.Marked{Key: mark.Key, ProviderID: arm.ProviderID(blue.Group.VM("win-2"))}, false},
		"half a mark":       {cloud.Marked{Key: mark.Key}, false},
		"without a Cluster": {cloud.Marked{Key: mark.Key, ProviderID: mark.ProviderID}, false},
	} {
		expect.Same(t, "a VM, "+name, c.want, whoseIs(m, lists.Record{Mark: c.of}) == cloud.Ours)
		r := withMark(c.of)
		expect.Same(t, "an adapter, "+name, c.want, isAdapterOf(r, m, blue.VM))
		r.Properties.VirtualMachine.ID = strings.ToUpper(blue.VM.String())
		expect.Same(t, "an adapter of the VM, "+name, c.want, isAdapterOf(r, m, blue.VM))
		r.Properties.VirtualMachine.ID = blue.Group.VM("win-2").String()
		expect.Same(t, "an adapter of another VM, "+name, false, isAdapterOf(r, m, blue.VM))
	}
	nobody := m
	nobody.ProviderID = ""
	ours := whoseIs(nobody, lists.Record{Mark: cloud.Marked{Key: m.Key, Cluster: m.Cluster}}) == cloud.Ours
	expect.Same(t, "no VM is that of a machine without an ID", false, ours)
	for name, want := range map[string]bool{"WIN-1-os": true, "win-1-data": true, "win-1-data-2": false} {
		expect.Same(t, name, want, belongings.Fits(blue.Group.Disk(name), m))
	}
	for name, want := range map[string]bool{"win-1-pods-abc": true, "win-1-node": true, "win-1-x-abc": false} {
		expect.Same(t, name, want, belongings.Fits(blue.Group.Adapter(name), m))
	}
	m.Spec.Azure = nil
	expect.Same(t, "names without a spec", []string{"win-1-os"}, belongings.Names(m))
	m.Spec.Azure = &infrav1.AzureVM{}
	expect.Same(t, "names of a VM with one adapter", 2, len(belongings.Names(m)))
	expect.Same(t, "the group of what is not in Azure", "", lists.Key("x"))
}

// TestAdapterOfAManager: what another management cluster marked is its namesake's there, unless the identity follows from the
// machine's own UID, or the machine was moved from there.
func TestAdapterOfAManager(t *testing.T) {
	for name, c := range map[string]struct {
		marked types.UID
		own    bool
		want   bool
	}{
		"ours":                             {"here", false, true},
		"of none, as before there was one": {"", false, true},
		"of one that was taken over":       {"before", false, true},
		"of another":                       {"there", false, false},
		"of another, with our own UID":     {"there", true, true},
	} {
		m, mark := blue.Machine(), blue.Mark()
		m.Own, m.TookOver, m.Cluster.Manager = c.own, []types.UID{"before"}, "here"
		mark.Cluster.Manager = c.marked
		expect.Same(t, name, c.want, isAdapterOf(withMark(mark), m, blue.VM))
	}
}

// TestLedgerOfManyMachines: those that nobody asked for in a day are forgotten, once there are very many.
func TestLedgerOfManyMachines(t *testing.T) {
	by := func(id string) cloud.MachineID { return cloud.MachineID{ProviderID: id} }
	l := &ledger{works: map[cloud.MachineID]*work{
		by("old"): {used: blue.Noon.Add(-keptFor - 1)}, by("day"): {used: blue.Noon.Add(-keptFor)},
	}}
	for i := range manyMachines - 3 {
		l.works[by(fmt.Sprint(i))] = &work{used: blue.Noon}
	}
	l.note(cloud.Machine{Identity: cloud.Identity{ProviderID: "one more"}}, blue.Noon, func(*work) {})
	expect.Same(t, "machines", manyMachines, len(l.works))
	l.note(cloud.Machine{Identity: cloud.Identity{ProviderID: "too many"}}, blue.Noon, func(*work) {})
	expect.Same(t, "machines after one too many", manyMachines, len(l.works))
	expect.Same(t, "one that was asked for a day ago", true, l.works[by("day")] != nil)
}

// TestLedgerOfAScope: what is told and expected of a group is not that of another.
func TestLedgerOfAScope(t *testing.T) {
	making := next.Put{Sent: blue.Noon, Answer: next.Accepted}
	one, two := cloud.Key{Name: "one"}, cloud.Key{Name: "two"}
	l := &ledger{works: map[cloud.MachineID]*work{
		{Key: one}: {scope: "blue"}, {Key: two, UID: "3"}: {scope: "blue", gone: blue.Noon},
		{Key: two}: {scope: "red", Memory: next.Memory{Put: making}},
	}}
	expect.Same(t, "keys", []cloud.Key{one}, l.keys("blue"))
	expect.Same(t, "something changes in another group", false, l.busy("blue", blue.Noon))
	expect.Same(t, "something changes in its own", true, l.busy("red", blue.Noon))
}

// TestShelves: each region has its sizes, and what has no region none.
func TestShelves(t *testing.T) {
	var l sizeCaches
	enter := func(subscription, location string) *sizeCache {
		cache, ok := l.enter(regionOf(subscription, location), team(blue.Noon))
		expect.Same(t, "it enters", true, ok)
		return cache
	}
	var none *sizeCache
	expect.Same(t, "no subscription", none, enter("", "westeurope"))
	expect.Same(t, "no location", none, enter("s", ""))
	p, s := pursued(&account{}, placed()), &next.Survey{Now: blue.Noon}
	p.cache = none
	p.choose(s)
	expect.Same(t, "without sizes any is good, and none are due", true, s.Choice != nil && !s.SizesDue && s.SizesUnknown == nil)
	same := enter("S", "West Europe") == enter("s", "westeurope")
	expect.Same(t, "one for a region, however it is written", true, same)
	for name, c := range map[string]struct {
		of      sizeList
		refuses bool
		want    bool
	}{
		"never asked for":         {sizeList{}, false, true},
		"not before its time":     {sizeList{notBefore: blue.Noon.Add(1)}, false, false},
		"in time":                 {sizeList{notBefore: blue.Noon}, false, true},
		"good":                    {sizeList{began: blue.Noon.Add(1 - sizesFor)}, false, false},
		"old":                     {sizeList{began: blue.Noon.Add(-sizesFor)}, false, true},
		"old, and asked for":      {sizeList{began: blue.Noon.Add(-sizesFor), asking: true}, false, false},
		"doubted too soon":        {sizeList{began: blue.Noon.Add(1 - doubtsAfter)}, true, false},
		"doubted":                 {sizeList{began: blue.Noon.Add(-doubtsAfter)}, true, true},
		"unknown while asked for": {sizeList{asking: true}, false, true},
	} {
		expect.Same(t, name, c.want, c.of.due(blue.Noon, c.refuses))
	}
}

// TestLocationOf: that of the status goes before that of the spec.
func TestLocationOf(t *testing.T) {
	m := blue.Machine()
	expect.Same(t, "of the spec", "spec", locationOf(m))
	m.Status.Azure = &infrav1.AzurePlacement{Location: "status"}
	expect.Same(t, "of the status", "status", locationOf(m))
	expect.Same(t, "of neither", "", locationOf(cloud.Machine{}))
}

// TestSynced: the watch has told of all VMs of all groups, of which there is one at least.
func TestSynced(t *testing.T) {
	a := &account{}
	a.watching.Store(true)
	expect.Same(t, "no group", false, a.synced())
	one, two := a.lists.Scope(blue.Group), a.lists.Scope(blue.OtherGroup)
	stateIn(one).Reported = true
	expect.Same(t, "one of two", false, a.synced())
	stateIn(two).Reported = true
	expect.Same(t, "both", true, a.synced())
	a.watching.Store(false)
	expect.Same(t, "nobody watches", false, a.synced())
	a.watching.Store(true)
	expect.Says(t, "a second watch", a.Watch(t.Context(), nil), "already being watched")
}

// TestPatient: that adapters are not ready is no error for two minutes after they were needed.
func TestPatient(t *testing.T) {
	m := blue.Machine()
	for name, c := range map[string]struct {
		since  time.Duration
		effect fault.Effect
		waits  bool
	}{
		"just now": {1, fault.Unready, true}, "long ago": {adapterTimeout, fault.Unready, false},
		"not long ago": {adapterTimeout - 1, fault.Unready, true}, "never": {0, fault.Unready, false},
		"another cause": {1, fault.Taken, false},
	} {
		a := &account{now: func() time.Time { return blue.Noon }}
		a.ledger.note(m, blue.Noon, func(w *work) {
			if c.since > 0 {
				w.separate.firstNeeded = blue.Noon.Add(-c.since)
			}
		})
		verdict := fault.Verdict{Effect: c.effect, Error: cloud.Errorf(cloud.Transient, "Other", "no")}
		waits := cloud.IsLater(pursued(a, m).waitWhileUnready(calls.Answer{Verdict: &verdict}).Err())
		expect.Same(t, name, c.waits, waits)
	}
	answer := pursued(&account{now: time.Now}, m).waitWhileUnready(calls.Answer{})
	expect.Same(t, "an answer without a fault", true, answer.Err() == nil)
}

// TestIsGone: what was proven is believed for ten minutes, unless a list shows the VM.
func TestIsGone(t *testing.T) {
	m := blue.Machine()
	for name, c := range map[string]struct {
		ago   time.Duration
		shown bool
		want  bool
	}{
		"never": {-1, false, false}, "just now": {0, false, true}, "lately": {lists.OldEnough - 1, false, true},
		"long ago": {lists.OldEnough, false, false}, "and shown since": {0, true, false},
	} {
		a := &account{now: func() time.Time { return blue.Noon }}
		s := a.lists.Scope(blue.Group)
		if c.ago >= 0 {
			a.ledger.bury(m, name, blue.Noon.Add(-c.ago))
		}
		if c.shown {
			stateIn(s).VMs["win-1"] = lists.Record{}
		}
		left, gone := a.isGone(m)
		expect.Same(t, name, c.want, gone)
		expect.Same(t, name+": what is left", c.ago >= 0, left == name)
	}
	expect.Same(t, "a group that no list has", false, (&lists.Lists{}).HasVM(m))
}

// stateIn is what is known of a group, for a test whose goroutine is the only one.
func stateIn(s *lists.Scope) (of *lists.State) {
	s.Do(func(state *lists.State) { of = state })
	return of
}

// powersIn is what is known of the power states of a subscription, for such a test.
func powersIn(p *lists.Powers) (of *lists.PowerState) {
	p.Do(func(state *lists.PowerState) { of = state })
	return of
}
