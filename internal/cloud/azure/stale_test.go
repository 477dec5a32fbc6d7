package azure

import (
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/blue"
)

// TestStale: what is left is removed for machines that are gone if it is an adapter or public IP with all marks of ours, which
// this process saw with its VM, and for machines that are there if it belonged to a try that failed.
func TestStale(t *testing.T) {
	const old = lists.OldEnough
	failed := func(w *work) { w.failed = map[string]bool{blue.ID: true} }
	change := func(of func(*cloud.Marked)) cloud.Marked {
		mark := blue.Mark()
		of(&mark)
		return mark
	}
	for name, c := range map[string]struct {
		mark   cloud.Marked
		id     arm.ID
		age    time.Duration
		vm     string
		work   func(*work)
		unseen bool
		want   int
	}{
		"old enough":           {mark: blue.Mark(), id: blue.NIC, age: old, want: 1},
		"too young":            {mark: blue.Mark(), id: blue.NIC, age: old - 1},
		"its VM is there":      {mark: blue.Mark(), id: blue.NIC, age: old, vm: "win-1"},
		"another VM is":        {mark: blue.Mark(), id: blue.NIC, age: old, vm: "win-2", want: 1},
		"not seen with its VM": {mark: blue.Mark(), id: blue.NIC, age: old, unseen: true},
		"a disk":               {mark: blue.Mark(), id: blue.Group.Disk("win-1-os"), age: old},
		"a stranger's":         {mark: cloud.Marked{}, id: blue.NIC, age: old},
		"another name":         {mark: blue.Mark(), id: blue.Group.Adapter("db-vip"), age: old},
		"another group's":      {mark: cloud.Marked{ProviderID: arm.ProviderID(blue.OtherGroup.VM("win-1"))}, id: blue.NIC, age: old},
		"another manager's":    {mark: change(func(m *cloud.Marked) { m.Cluster.Manager = "there" }), id: blue.NIC, age: old},
		"no manager's":         {mark: change(func(m *cloud.Marked) { m.Cluster.Manager = "" }), id: blue.NIC, age: old},
		"without a Cluster":    {mark: change(func(m *cloud.Marked) { m.Cluster = cloud.ClusterMark{} }), id: blue.NIC, age: old},
		"no Cluster's name":    {mark: change(func(m *cloud.Marked) { m.Cluster.Name = "" }), id: blue.NIC, age: old},
		"without a namespace":  {mark: change(func(m *cloud.Marked) { m.Key.Namespace = "" }), id: blue.NIC, age: old},
		"its machine is there": {mark: blue.Mark(), id: blue.NIC, age: old, work: func(*work) {}},
		"of a failed try":      {mark: blue.Mark(), id: blue.NIC, age: old, work: failed, want: 1},
		"a disk of one":        {mark: blue.Mark(), id: blue.Group.Disk("win-1-os"), age: old, work: failed, vm: "win-1", want: 1},
		"made before the VM": {mark: blue.Mark(), id: blue.NIC, age: old, work: func(w *work) {
			failed(w)
			w.separate.made = []asked{{id: blue.NIC}}
		}},
		"of a failed try of another machine": {
			mark: change(func(m *cloud.Marked) { m.Key.Name = "other" }), id: blue.NIC, age: old, work: failed,
		},
		"its machine was let go by hand": {mark: blue.Mark(), id: blue.NIC, age: old, want: 1, work: func(w *work) {
			w.going, w.used = true, blue.Noon.Add(-old)
		}},
	} {
		a := &account{now: func() time.Time { return blue.Noon }, manager: manager}
		s := a.lists.Scope(blue.Group)
		since := next.Remnant{FirstSeen: blue.Noon.Add(-c.age)}
		stateIn(s).Remnants["one"] = lists.Remnant{ID: c.id, UniqueID: blue.ID, Mark: c.mark, Remnant: since}
		stateIn(s).VMs[c.vm] = lists.Record{}
		if !c.unseen {
			stateIn(s).Remember(lists.Record{Key: blue.VM.Key(), Adapters: []string{c.id.Key()}}, blue.Machine())
		}
		if c.work != nil {
			a.ledger.note(blue.Machine(), blue.Noon, c.work)
		}
		expect.Same(t, name, c.want, len(a.stale(s)))
	}
}

// TestDetachedIsNoRemnant: a disk that was with the VM is none of an earlier try's, although it has no VM now: somebody detached
// it, and may want its data. That holds whatever else is learned of the VM at the same time.
func TestDetachedIsNoRemnant(t *testing.T) {
	a, m := &account{now: func() time.Time { return blue.Noon }, calls: &calls.Client{}, manager: manager}, blue.Machine()
	m.Record.Azure = infrav1.AzureRecord{VMID: blue.ID, Disks: []infrav1.AzureResource{{Name: "win-1-data", UniqueID: blue.ID}}}
	s := a.lists.Scope(blue.Group)
	stateIn(s).VMs[m.Name] = lists.Record{Key: blue.VM.Key(), Mark: blue.Mark(), VMID: blue.ID}
	stateIn(s).Parts = map[string][]lists.Part{blue.VM.Key(): {{ID: blue.NIC, UniqueID: "22222222-aaaa-bbbb-cccc-555555555555"}}}
	detached := lists.Remnant{ID: blue.Group.Disk("win-1-data"), UniqueID: blue.ID, Mark: blue.Mark()}
	detached.FirstSeen = blue.Noon.Add(-lists.OldEnough)
	stateIn(s).Remnants[detached.ID.Key()] = detached
	a.ledger.note(m, blue.Noon, func(w *work) {
		w.Put.Answer, w.failed = next.Accepted, map[string]bool{} // an earlier try failed
	})
	pursued(a, m).gather()
	expect.Same(t, "adapters that are known", 1, len(a.ledger.recall(m).record.NetworkInterfaces))
	expect.Same(t, "what a sweep removes", 0, len(a.stale(s)))
}
