package azure

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

var (
	blueGroup  = arm.GroupID(armsim.Subscription, "blue")
	otherGroup = arm.GroupID(armsim.Subscription, "other")
	blueVM     = blueGroup.VM("win-1")
	blueNoon   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// blueMachine is a machine with two adapters and a data disk.
func blueMachine() cloud.Machine {
	return cloud.Machine{
		Identity: cloud.Identity{Name: "win-1", ProviderID: arm.ProviderID(blueVM)}, Key: cloud.Key{Namespace: "team", Name: "m"},
		Cluster: cloud.ClusterMark{Name: "blue", UID: "u", Manager: "here"}, Proof: cloud.Proof{Own: true},
		Spec: infrav1.WindowsMachineSpec{Azure: &infrav1.AzureVM{
			Location: "spec", DataDisks: []infrav1.AzureDataDisk{{Name: "Data"}},
			NetworkInterfaces: []infrav1.AzureNetworkInterface{{Name: "node"}, {Name: "Pods"}},
		}},
	}
}

func blueMark() cloud.Marked {
	m := blueMachine()
	return cloud.Marked{Key: m.Key, ProviderID: m.ProviderID, Cluster: m.Cluster}
}

// whoseIs says whose a VM is of which Azure has shown no ID.
func whoseIs(m cloud.Machine, r vmRecord) cloud.Whose { return next.Survey{}.Whose(m, r.shown(m)) }

// TestRecordOf: what is read of a VM, and of what is none.
func TestRecordOf(t *testing.T) {
	of := vm{ID: blueVM.String(), Tags: arm.Tags(blueMachine(), nil), Zones: []string{strings.Repeat("z", 65), "2"}}
	r, ok := recordOf(of)
	expect.Same(t, "a VM without properties", true, ok && r.original && r.state == "")
	expect.Same(t, "bytes of a long zone", true, len(r.zone) <= 64 && strings.HasSuffix(r.zone, "..."))
	of.Zones = []string{strings.Repeat("z", 64)}
	r, _ = recordOf(of)
	expect.Same(t, "the longest zone", of.Zones[0], r.zone)
	for _, id := range []string{"", "x", blueGroup.Disk("win-1").String()} {
		_, ok := recordOf(vm{ID: id})
		expect.Same(t, "a VM of ID "+id, false, ok)
	}
}

// TestSame: each thing that is told of a VM is news.
func TestSame(t *testing.T) {
	whole := vmRecord{
		mark: blueMark(), state: next.Succeeded, zone: "1", size: "D2", image: "1.2.3", evictable: true, adapters: []string{"a"},
	}
	expect.Same(t, "nothing new", true, whole.same(whole))
	for name, change := range map[string]func(*vmRecord){
		"mark": func(r *vmRecord) { r.mark.Name = "x" }, "state": func(r *vmRecord) { r.state = next.Failed },
		"zone": func(r *vmRecord) { r.zone = "2" }, "size": func(r *vmRecord) { r.size = "D4" },
		"image": func(r *vmRecord) { r.image = "1.2.4" }, "evictable": func(r *vmRecord) { r.evictable = false },
		"adapters": func(r *vmRecord) { r.adapters = nil },
	} {
		other := whole
		change(&other)
		expect.Same(t, name, false, whole.same(other))
	}
}

// TestWhoseItIs: a VM, an adapter and what is left belong to the machine whose marks or names they have.
func TestWhoseItIs(t *testing.T) {
	m, mark := blueMachine(), blueMark()
	for name, c := range map[string]struct {
		of   cloud.Marked
		want bool
	}{
		"ours": {mark, true}, "no marks": {cloud.Marked{}, false},
		"another machine's": {cloud.Marked{Key: cloud.Key{Namespace: "team", Name: "o"}, ProviderID: mark.ProviderID}, false},
		"another VM's":      {cloud.Marked{Key: mark.Key, ProviderID: arm.ProviderID(blueGroup.VM("win-2"))}, false},
		"half a mark":       {cloud.Marked{Key: mark.Key}, false},
		"without a Cluster": {cloud.Marked{Key: mark.Key, ProviderID: mark.ProviderID}, false},
	} {
		expect.Same(t, "a VM, "+name, c.want, whoseIs(m, vmRecord{mark: c.of}) == cloud.Ours)
		r := resource{Tags: arm.Tags(cloud.Machine{
			Key: c.of.Key, Identity: cloud.Identity{ProviderID: c.of.ProviderID}, Cluster: c.of.Cluster,
		}, nil)}
		expect.Same(t, "an adapter, "+name, c.want, r.of(m, blueVM))
		r.Properties.VirtualMachine.ID = strings.ToUpper(blueVM.String())
		expect.Same(t, "an adapter of the VM, "+name, c.want, r.of(m, blueVM))
		r.Properties.VirtualMachine.ID = blueGroup.VM("win-2").String()
		expect.Same(t, "an adapter of another VM, "+name, false, r.of(m, blueVM))
	}
	nobody := m
	nobody.ProviderID = ""
	ours := whoseIs(nobody, vmRecord{mark: cloud.Marked{Key: m.Key, Cluster: m.Cluster}}) == cloud.Ours
	expect.Same(t, "no VM is that of a machine without an ID", false, ours)
	for name, want := range map[string]bool{"WIN-1-os": true, "win-1-data": true, "win-1-data-2": false} {
		expect.Same(t, name, want, belongings.Fits(blueGroup.Disk(name), m))
	}
	for name, want := range map[string]bool{"win-1-pods-abc": true, "win-1-node": true, "win-1-x-abc": false} {
		expect.Same(t, name, want, belongings.Fits(blueGroup.Adapter(name), m))
	}
	m.Spec.Azure = nil
	expect.Same(t, "names without a spec", []string{"win-1-os"}, belongings.Names(m))
	m.Spec.Azure = &infrav1.AzureVM{}
	expect.Same(t, "names of a VM with one adapter", 2, len(belongings.Names(m)))
	expect.Same(t, "the group of what is not in Azure", "", scopeOf("x"))
}

// TestLedgerOfManyMachines: those that nobody asked for in a day are forgotten, once there are very many.
func TestLedgerOfManyMachines(t *testing.T) {
	by := func(id string) cloud.MachineID { return cloud.MachineID{ProviderID: id} }
	l := &ledger{works: map[cloud.MachineID]*work{
		by("old"): {used: blueNoon.Add(-keptFor - 1)}, by("day"): {used: blueNoon.Add(-keptFor)},
	}}
	for i := range manyMachines - 3 {
		l.works[by(fmt.Sprint(i))] = &work{used: blueNoon}
	}
	l.note(cloud.Machine{Identity: cloud.Identity{ProviderID: "one more"}}, blueNoon, func(*work) {})
	expect.Same(t, "machines", manyMachines, len(l.works))
	l.note(cloud.Machine{Identity: cloud.Identity{ProviderID: "too many"}}, blueNoon, func(*work) {})
	expect.Same(t, "machines after one too many", manyMachines, len(l.works))
	expect.Same(t, "one that was asked for a day ago", true, l.works[by("day")] != nil)
}

// TestLedgerOfAScope: what is told and expected of a group is not that of another.
func TestLedgerOfAScope(t *testing.T) {
	making := next.Put{At: blueNoon, Answer: next.Accepted}
	one, two := cloud.Key{Name: "one"}, cloud.Key{Name: "two"}
	l := &ledger{works: map[cloud.MachineID]*work{
		{Key: one}: {scope: "blue"}, {Key: two}: {scope: "red", put: making}, {Key: two, UID: "3"}: {scope: "blue", gone: blueNoon},
	}}
	expect.Same(t, "keys", []cloud.Key{one}, l.keys("blue"))
	expect.Same(t, "something changes in another group", false, l.busy("blue", blueNoon))
	expect.Same(t, "something changes in its own", true, l.busy("red", blueNoon))
}

// TestShelves: each region has its sizes, and what has no region none.
func TestShelves(t *testing.T) {
	var l shelves
	var none *shelf
	expect.Same(t, "no subscription", none, l.shelf("", "westeurope"))
	expect.Same(t, "no location", none, l.shelf("s", ""))
	sizes, why := none.get()
	expect.Same(t, "sizes of none", 0, len(sizes))
	expect.Same(t, "why there are none", true, why == nil)
	expect.Same(t, "none is due", false, none.due(blueNoon, false))
	expect.Same(t, "one for a region, however it is written", true, l.shelf("S", "West Europe") == l.shelf("s", "westeurope"))
	for name, c := range map[string]struct {
		of      *shelf
		refuses bool
		want    bool
	}{
		"never asked for":         {&shelf{}, false, true},
		"not before its time":     {&shelf{notBefore: blueNoon.Add(1)}, false, false},
		"in time":                 {&shelf{notBefore: blueNoon}, false, true},
		"good":                    {&shelf{began: blueNoon.Add(1 - sizesFor)}, false, false},
		"old":                     {&shelf{began: blueNoon.Add(-sizesFor)}, false, true},
		"old, and asked for":      {&shelf{began: blueNoon.Add(-sizesFor), asking: true}, false, false},
		"doubted too soon":        {&shelf{began: blueNoon.Add(1 - doubtsAfter)}, true, false},
		"doubted":                 {&shelf{began: blueNoon.Add(-doubtsAfter)}, true, true},
		"unknown while asked for": {&shelf{asking: true}, false, true},
	} {
		expect.Same(t, name, c.want, c.of.due(blueNoon, c.refuses))
	}
}

// TestLocationOf: that of the status goes before that of the spec.
func TestLocationOf(t *testing.T) {
	m := blueMachine()
	expect.Same(t, "of the spec", "spec", locationOf(m))
	m.Place.Azure = &infrav1.AzurePlacement{Location: "status"}
	expect.Same(t, "of the status", "status", locationOf(m))
	expect.Same(t, "of neither", "", locationOf(cloud.Machine{}))
}

// TestLimitsOfAList: a list that is too long is none, to the item and to the byte, and neither is one that is no list.
func TestLimitsOfAList(t *testing.T) {
	const more = `,"nextLink":"https://a?b"}`
	zeros := func(n int) string { return `{"value":[` + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	for name, c := range map[string]struct {
		have, bytes int
		text        string
		endless, ok bool
	}{
		"nothing":                 {0, 0, `{"value":null}`, false, true},
		"no list":                 {0, 0, `{"value":{}}`, false, true},
		"another type":            {0, 0, `{"value":["x"]}`, false, false},
		"as many as can be":       {0, 0, zeros(maxItems) + "}", false, true},
		"one more":                {0, 0, zeros(maxItems+1) + "}", true, false},
		"as many as fit":          {maxItems - 2, 0, zeros(2) + "}", false, true},
		"one more than fit":       {maxItems - 1, 0, zeros(2) + "}", true, false},
		"as many bytes as fit":    {0, maxList - len(zeros(1)+more), zeros(1) + more, false, true},
		"a byte more than fits":   {0, maxList - len(zeros(1)+more) + 1, zeros(1) + more, true, false},
		"bytes of the last page":  {0, maxList, zeros(1) + "}", false, true},
		"a text that is cut off":  {0, 0, `{"value":[0`, false, false},
		"a next page that is odd": {0, 0, zeros(1) + `,"nextLink":"%zz"}`, false, true},
	} {
		b := begun[int]{all: make([]int, c.have), bytes: c.bytes, seen: map[string]bool{}}
		_, err := b.take([]byte(c.text), nil)
		expect.Same(t, name+": is taken", c.ok, err == nil)
		expect.Same(t, name+": has no end", c.endless, errors.Is(err, errEndless))
	}
}

// TestHasPublic: public IPs are looked for where a machine wants one, or an adapter of a machine has one.
func TestHasPublic(t *testing.T) {
	adapter := func(address string, tags map[string]string) resource {
		r := resource{Tags: tags}
		r.Properties.IPConfigurations = slices.Grow(r.Properties.IPConfigurations, 1)[:1]
		r.Properties.IPConfigurations[0].Properties.PublicIPAddress.ID = address
		return r
	}
	marks := arm.Tags(blueMachine(), nil)
	for name, c := range map[string]struct {
		wanted   bool
		adapters []resource
		want     bool
	}{
		"none":                   {false, []resource{adapter("", marks)}, false},
		"a stranger's":           {false, []resource{adapter("ip", nil)}, false},
		"a machine's":            {false, []resource{adapter("", marks), adapter("ip", marks)}, true},
		"one that is wanted":     {true, nil, true},
		"wanted, and not theirs": {true, []resource{adapter("ip", nil)}, true},
	} {
		s := &scope{public: c.wanted}
		expect.Same(t, name, c.want, s.hasPublic(c.adapters))
		expect.Same(t, name+", and it is remembered", c.want, s.hasPublic(nil))
	}
}

// TestSynced: the watch has told of all VMs of all groups, of which there is one at least.
func TestSynced(t *testing.T) {
	a := &account{}
	a.watching.Store(true)
	expect.Same(t, "no group", false, a.synced())
	one, two := a.lists.scope(blueGroup), a.lists.scope(otherGroup)
	one.told = true
	expect.Same(t, "one of two", false, a.synced())
	two.told = true
	expect.Same(t, "both", true, a.synced())
	a.watching.Store(false)
	expect.Same(t, "nobody watches", false, a.synced())
	a.watching.Store(true)
	expect.Says(t, "a second watch", a.Watch(t.Context(), nil), "already being watched")
}

// TestTellable: the first list is told if it is a good one, and not older than a minute.
func TestTellable(t *testing.T) {
	for name, c := range map[string]struct {
		of   *scope
		want bool
	}{
		"just now":     {&scope{listed: blueNoon}, true},
		"a minute ago": {&scope{listed: blueNoon.Add(-idlePowers)}, false},
		"before":       {&scope{listed: blueNoon.Add(1 - idlePowers)}, true},
		"never":        {&scope{}, false},
		"told":         {&scope{listed: blueNoon, told: true}, false},
		"failed":       {&scope{listed: blueNoon, failed: true}, false},
	} {
		expect.Same(t, name, c.want, c.of.tellable(blueNoon))
	}
}

// TestPatient: that adapters are not ready is no error for two minutes after they were needed.
func TestPatient(t *testing.T) {
	m := blueMachine()
	for name, c := range map[string]struct {
		since  time.Duration
		effect fault.Effect
		waits  bool
	}{
		"just now": {1, fault.Unready, true}, "long ago": {adapterPatience, fault.Unready, false},
		"not long ago": {adapterPatience - 1, fault.Unready, true}, "never": {0, fault.Unready, false},
		"another cause": {1, fault.Taken, false},
	} {
		a := &account{now: func() time.Time { return blueNoon }}
		a.ledger.note(m, blueNoon, func(w *work) {
			if c.since > 0 {
				w.separate.since = blueNoon.Add(-c.since)
			}
		})
		verdict := fault.Verdict{Effect: c.effect, Error: cloud.Errorf(cloud.Transient, "Other", "no")}
		_, waits := asLater(a.patient(m, answer{verdict: &verdict}).err())
		expect.Same(t, name, c.waits, waits)
	}
	expect.Same(t, "an answer without a fault", true, (&account{now: time.Now}).patient(m, answer{}).err() == nil)
}

// TestIsGone: what was proven is believed for ten minutes, unless a list shows the VM.
func TestIsGone(t *testing.T) {
	m := blueMachine()
	for name, c := range map[string]struct {
		ago   time.Duration
		shown bool
		want  bool
	}{
		"never": {-1, false, false}, "just now": {0, false, true}, "lately": {oldEnough - 1, false, true},
		"long ago": {oldEnough, false, false}, "and shown since": {0, true, false},
	} {
		a := &account{now: func() time.Time { return blueNoon }}
		s := a.lists.scope(blueGroup)
		if c.ago >= 0 {
			a.ledger.bury(m, name, blueNoon.Add(-c.ago))
		}
		if c.shown {
			s.vms["win-1"] = vmRecord{}
		}
		left, gone := a.isGone(m)
		expect.Same(t, name, c.want, gone)
		expect.Same(t, name+": what is left", c.ago >= 0, left == name)
	}
	expect.Same(t, "a group that no list has", false, (&lists{}).has(m))
}
