package lists

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// shownVM is what is kept of a VM of a list, with the marks of a machine of its name.
func shownVM(id arm.ID, marked string) Record {
	m := cloud.Machine{Key: cloud.Key{Namespace: "team", Name: id.Name()}, Identity: cloud.Identity{ProviderID: marked}}
	r, _ := RecordOf(calls.VM{ID: id.String(), Tags: arm.Tags(m, nil, "")})
	return r
}

// ofMarks are the keys by which the account wakes machines, as long as it knows only the marks of VMs.
func ofMarks(r Record) (keys []cloud.Key) {
	if r.Original {
		keys = append(keys, r.Mark.Key)
	}
	return keys
}

// TestTakeOver: a list wakes the machines whose VMs are new, changed or gone. A copy wakes none.
func TestTakeOver(t *testing.T) {
	s := (&Lists{}).Scope(blue.Group)
	of := func(name string) Record { id := blue.Group.VM(name); return shownVM(id, arm.ProviderID(id)) }
	copied := shownVM(blue.Group.VM("copy"), arm.ProviderID(blue.Group.VM("a")))
	moved := of("b")
	moved.Zone = "2"
	for _, step := range []struct {
		name  string
		vms   []Record
		woken string
		known string
	}{
		{"the first list", []Record{of("a"), of("b"), copied}, "a b", "a b"},
		{"the same", []Record{of("b"), of("a"), copied}, "", "a b"},
		{"one changes", []Record{of("a"), moved}, "b", "a b"},
		{"one goes", []Record{moved}, "a", "b"},
		{"all go", nil, "b", ""},
	} {
		at := blue.Noon.Add(time.Duration(len(step.vms)))
		expect.Same(t, step.name+": woken", step.woken, names(stateIn(s).take(step.vms, at, ofMarks)))
		expect.Same(t, step.name+": known", step.known, names(s.Machines(ofMarks, IsListed)))
		expect.Same(t, step.name+": time", at, stateIn(s).Listed)
	}
}

// TestAddressesOfAdapters: a machine is woken when its VM gets another address, and asked about while it runs without one.
func TestAddressesOfAdapters(t *testing.T) {
	s := (&Lists{}).Scope(blue.Group)
	nic := blue.Group.Adapter("nic")
	stateIn(s).VMs["a"] = Record{Key: "a", Mark: blue.Mark(), Original: true, Adapters: []string{nic.Key()}}
	with := func(addresses ...string) []Resource {
		one := calls.Resource{ID: strings.ToUpper(nic.String())}
		for _, address := range addresses {
			of := one.Properties.IPConfigurations
			of = slices.Grow(of, 1)[:len(of)+1]
			of[len(of)-1].Properties.PrivateIPAddress = address
			one.Properties.IPConfigurations = of
		}
		kept, _ := KeepResource(one)
		return []Resource{kept}
	}
	lacksAddress := func() bool { return len(s.Machines(ofMarks, LacksAddress)) == 1 }
	expect.Same(t, "off: it lacks none", false, lacksAddress())
	powersIn(s.Power).States["a"] = next.PoweredOn
	expect.Same(t, "on: it lacks one", true, lacksAddress())
	for _, step := range []struct {
		name  string
		shown []Resource
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
		expect.Same(t, step.name, step.woken, len(s.TakeAddresses(step.shown, ofMarks)) == 1)
		expect.Same(t, step.name+": addresses", step.has, strings.Join(stateIn(s).VMs["a"].Addresses(stateIn(s).Addresses), " "))
		expect.Same(t, step.name+": it lacks one", step.has == "", lacksAddress())
	}
	stranger := stateIn(s).VMs["a"]
	stranger.Original = false
	stateIn(s).VMs["a"] = stranger
	expect.Same(t, "a stranger's VM lacks none", false, lacksAddress())
	expect.Same(t, "and wakes nobody", 0, len(s.TakeAddresses(with("10.0.0.9"), ofMarks)))
}

// TestChangesOfAScope: something changes while a VM of ours is made or removed.
func TestChangesOfAScope(t *testing.T) {
	for shown, want := range map[next.ProvisioningState]bool{
		next.Creating: true, next.Deleting: true, next.Succeeded: false, next.Failed: false,
	} {
		for _, ours := range []bool{true, false} {
			s := (&Lists{}).Scope(blue.Group)
			stateIn(s).VMs["a"] = Record{State: shown, Original: ours}
			expect.Same(t, string(shown), want && ours, len(s.Machines(ofMarks, Changes)) == 1)
		}
	}
}

// TestTellable: the first list is told if it is a good one, and not older than a minute.
func TestTellable(t *testing.T) {
	for name, c := range map[string]struct {
		of   State
		want bool
	}{
		"just now":     {State{Listed: blue.Noon}, true},
		"a minute ago": {State{Listed: blue.Noon.Add(-IdlePowers)}, false},
		"before":       {State{Listed: blue.Noon.Add(1 - IdlePowers)}, true},
		"never":        {State{}, false},
		"told":         {State{Listed: blue.Noon, Reported: true}, false},
		"failed":       {State{Listed: blue.Noon, Failed: true}, false},
	} {
		expect.Same(t, name, c.want, (&Scope{guarded: guarded[State]{value: c.of}}).IsReportable(blue.Noon))
	}
}

// TestLatest: of a list and a look, the later tells; the list if they are of the same time.
func TestLatest(t *testing.T) {
	s := &State{VMs: map[string]Record{"win-1": {Zone: "list"}}, Listed: blue.Noon}
	for name, c := range map[string]struct {
		of   Look
		want string
	}{
		"no look": {Look{}, "list"}, "an earlier look": {Look{Began: blue.Noon.Add(-1), Record: &Record{Zone: "look"}}, "list"},
		"at the same time": {Look{Began: blue.Noon, Record: &Record{Zone: "look"}}, "list"},
		"a later look":     {Look{Began: blue.Noon.Add(1), Record: &Record{Zone: "look"}}, "look"},
	} {
		expect.Same(t, name, c.want, s.Latest("win-1", c.of).Zone)
	}
	expect.Same(t, "a later look that found none", true, s.Latest("win-1", Look{Began: blue.Noon.Add(1)}) == nil)
	expect.Same(t, "another name", true, s.Latest("win-2", Look{}) == nil)
}
