package lists

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestSeenWithIsBounded: what is remembered of adapters and their VMs begins anew when it is full, so that VMs that come and go
// do not fill the memory. What is seen then is remembered.
func TestSeenWithIsBounded(t *testing.T) {
	s := stateIn((&Lists{}).Scope(blue.Group))
	s.seenWith = map[string]seenVM{}
	for n := range manyParts - 1 {
		s.seenWith[strconv.Itoa(n)] = seenVM{}
	}
	for _, left := range []int{manyParts, 1, 2} {
		adapter := "adapter-" + strconv.Itoa(left)
		s.Remember(Record{Key: blue.VM.Key(), Adapters: []string{adapter}}, blue.Machine())
		expect.Same(t, "adapters that are remembered", left, len(s.seenWith))
		expect.Same(t, "the VM of the last", blue.VM.Key(), s.seenWith[adapter].key)
	}
}

// TestPartsOfAVM: its adapters and public IPs are remembered with it. A disk is not: people attach it to another VM.
func TestPartsOfAVM(t *testing.T) {
	s := stateIn((&Lists{}).Scope(blue.Group))
	address, _ := arm.Parse(blue.Group.String() + "/providers/Microsoft.Network/publicIPAddresses/win-1")
	s.Parts = map[string][]Part{blue.VM.Key(): {{ID: address}, {ID: blue.Group.Disk("win-1-os")}}}
	s.Remember(Record{Key: blue.VM.Key(), Adapters: []string{blue.NIC.Key()}}, blue.Machine())
	want := []string{blue.NIC.Key(), address.Key()}
	slices.Sort(want)
	expect.Same(t, "parts", want, slices.Sorted(maps.Keys(s.seenWith)))
}

// TestOwns: a VM has the adapters and disks that it names itself, and a VM that is not seen has none.
func TestOwns(t *testing.T) {
	disk := blue.Group.Disk("win-1-os")
	r := &Record{Adapters: []string{blue.NIC.Key()}, Disks: []string{disk.Key()}}
	expect.Same(t, "its adapter", true, r.Owns(blue.NIC))
	expect.Same(t, "its disk", true, r.Owns(disk))
	expect.Same(t, "another disk", false, r.Owns(blue.Group.Disk("win-2-os")))
	expect.Same(t, "the disk of no VM", false, (*Record)(nil).Owns(disk))
}

// TestIsProved: an adapter that has all marks and was seen with the machine's VM is the machine's if our management cluster
// marked it, and not if another one did. Anything that is in the machine's record by Azure's own ID is.
func TestIsProved(t *testing.T) {
	m, disk := blue.Machine(), blue.Group.Disk("win-1-os")
	foreign := blue.Mark()
	foreign.Cluster.Manager = "elsewhere"
	recorded := belongings.Add(infrav1.AzureRecord{}, m, blue.NIC, blue.ID)
	for name, c := range map[string]struct {
		of     Remnant
		with   arm.ID // the VM that it was seen with
		record infrav1.AzureRecord
		want   bool
	}{
		"seen, with our mark":      {Remnant{ID: blue.NIC, Mark: blue.Mark(), UniqueID: blue.ID}, blue.VM, infrav1.AzureRecord{}, true},
		"seen, with a foreign one": {Remnant{ID: blue.NIC, Mark: foreign, UniqueID: blue.ID}, blue.VM, infrav1.AzureRecord{}, false},
		"seen with another VM": {
			Remnant{ID: blue.NIC, Mark: blue.Mark(), UniqueID: blue.ID}, blue.Group.VM("win-2"), infrav1.AzureRecord{}, false,
		},
		"a disk that was seen":   {Remnant{ID: disk, Mark: blue.Mark(), UniqueID: blue.ID}, blue.VM, infrav1.AzureRecord{}, false},
		"in the record, foreign": {Remnant{ID: blue.NIC, Mark: foreign, UniqueID: blue.ID}, arm.ID{}, recorded, true},
		"another of its name":    {Remnant{ID: blue.NIC, Mark: blue.Mark(), UniqueID: "other"}, arm.ID{}, recorded, false},
	} {
		s := &State{seenWith: map[string]seenVM{c.of.ID.Key(): {c.with.Key(), Mark{m.Key, m.ProviderID}}}}
		expect.Same(t, name, c.want, s.isProved(c.of, m, c.record))
	}
}

// TestLeftOfAMachine: of what is left of a machine, that is looked at first which is due first.
func TestLeftOfAMachine(t *testing.T) {
	m := blue.Machine()
	s := &State{Remnants: map[string]Remnant{}}
	expect.Same(t, "nothing", true, s.Left(m, infrav1.AzureRecord{}, blue.Noon) == nil)
	for i, name := range []string{"win-1-node-a", "win-1-node-b", "win-1-node-c", "strangers"} {
		id := blue.Group.Adapter(name)
		since := blue.Noon.Add([]time.Duration{20, 10, 30, 0}[i])
		s.Remnants[name] = Remnant{ID: id, Remnant: next.Remnant{ID: name, FirstSeen: since}}
	}
	for range 20 { // in any order of the map
		expect.Same(t, "first", "win-1-node-b", s.Left(m, infrav1.AzureRecord{}, blue.Noon).ID)
	}
}
