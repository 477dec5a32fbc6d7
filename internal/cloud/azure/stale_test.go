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
)

// TestStale: what is left is removed for machines that are gone if it is an adapter or public IP with all marks of ours, which
// this process saw with its VM, and for machines that are there if it belonged to a try that failed.
func TestStale(t *testing.T) {
	const old = lists.OldEnough
	failed := func(w *work) { w.failed = map[string]bool{blueID: true} }
	change := func(of func(*cloud.Marked)) cloud.Marked {
		mark := blueMark()
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
		"old enough":           {mark: blueMark(), id: blueNIC, age: old, want: 1},
		"too young":            {mark: blueMark(), id: blueNIC, age: old - 1},
		"its VM is there":      {mark: blueMark(), id: blueNIC, age: old, vm: "win-1"},
		"another VM is":        {mark: blueMark(), id: blueNIC, age: old, vm: "win-2", want: 1},
		"not seen with its VM": {mark: blueMark(), id: blueNIC, age: old, unseen: true},
		"a disk":               {mark: blueMark(), id: blueGroup.Disk("win-1-os"), age: old},
		"a stranger's":         {mark: cloud.Marked{}, id: blueNIC, age: old},
		"another name":         {mark: blueMark(), id: blueGroup.Adapter("db-vip"), age: old},
		"another group's":      {mark: cloud.Marked{ProviderID: arm.ProviderID(otherGroup.VM("win-1"))}, id: blueNIC, age: old},
		"another manager's":    {mark: change(func(m *cloud.Marked) { m.Cluster.Manager = "there" }), id: blueNIC, age: old},
		"no manager's":         {mark: change(func(m *cloud.Marked) { m.Cluster.Manager = "" }), id: blueNIC, age: old},
		"without a Cluster":    {mark: change(func(m *cloud.Marked) { m.Cluster = cloud.ClusterMark{} }), id: blueNIC, age: old},
		"no Cluster's name":    {mark: change(func(m *cloud.Marked) { m.Cluster.Name = "" }), id: blueNIC, age: old},
		"without a namespace":  {mark: change(func(m *cloud.Marked) { m.Key.Namespace = "" }), id: blueNIC, age: old},
		"its machine is there": {mark: blueMark(), id: blueNIC, age: old, work: func(*work) {}},
		"of a failed try":      {mark: blueMark(), id: blueNIC, age: old, work: failed, want: 1},
		"a disk of one":        {mark: blueMark(), id: blueGroup.Disk("win-1-os"), age: old, work: failed, vm: "win-1", want: 1},
		"made before the VM": {mark: blueMark(), id: blueNIC, age: old, work: func(w *work) {
			failed(w)
			w.separate.made = []asked{{id: blueNIC}}
		}},
		"of a failed try of another machine": {
			mark: change(func(m *cloud.Marked) { m.Key.Name = "other" }), id: blueNIC, age: old, work: failed,
		},
		"its machine was let go by hand": {mark: blueMark(), id: blueNIC, age: old, want: 1, work: func(w *work) {
			w.going, w.used = true, blueNoon.Add(-old)
		}},
	} {
		a := &account{now: func() time.Time { return blueNoon }, manager: manager}
		s := a.lists.Scope(blueGroup)
		since := next.Remnant{FirstSeen: blueNoon.Add(-c.age)}
		stateIn(s).Remnants["one"] = lists.Remnant{ID: c.id, UniqueID: blueID, Mark: c.mark, Remnant: since}
		stateIn(s).VMs[c.vm] = lists.Record{}
		if !c.unseen {
			stateIn(s).Remember(lists.Record{Key: blueVM.Key(), Adapters: []string{c.id.Key()}}, blueMachine())
		}
		if c.work != nil {
			a.ledger.note(blueMachine(), blueNoon, c.work)
		}
		expect.Same(t, name, c.want, len(a.stale(s)))
	}
}

// blueID is an ID that Azure itself gives.
const blueID = "11111111-aaaa-bbbb-cccc-555555555555"

// TestDetachedIsNoRemnant: a disk that was with the VM is none of an earlier try's, although it has no VM now: somebody detached
// it, and may want its data. That holds whatever else is learned of the VM at the same time.
func TestDetachedIsNoRemnant(t *testing.T) {
	a, m := &account{now: func() time.Time { return blueNoon }, calls: &calls.Client{}, manager: manager}, blueMachine()
	m.Record.Azure = infrav1.AzureRecord{VMID: blueID, Disks: []infrav1.AzureResource{{Name: "win-1-data", UniqueID: blueID}}}
	s := a.lists.Scope(blueGroup)
	stateIn(s).VMs[m.Name] = lists.Record{Key: blueVM.Key(), Mark: blueMark(), VMID: blueID}
	stateIn(s).Parts = map[string][]lists.Part{blueVM.Key(): {{ID: blueNIC, UniqueID: "22222222-aaaa-bbbb-cccc-555555555555"}}}
	detached := lists.Remnant{ID: blueGroup.Disk("win-1-data"), UniqueID: blueID, Mark: blueMark()}
	detached.FirstSeen = blueNoon.Add(-lists.OldEnough)
	stateIn(s).Remnants[detached.ID.Key()] = detached
	a.ledger.note(m, blueNoon, func(w *work) {
		w.put.Answer, w.failed = next.Accepted, map[string]bool{} // an earlier try failed
	})
	a.gather(&m, place{vm: blueVM, scope: s})
	expect.Same(t, "adapters that are known", 1, len(a.ledger.recall(m).record.NetworkInterfaces))
	expect.Same(t, "what a sweep removes", 0, len(a.stale(s)))
}
