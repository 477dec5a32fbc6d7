package azure

import (
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestStale: what is left is removed for machines that are gone if it is an adapter or public IP with all marks of ours, which
// this process saw with its VM, and for machines that are there if it belonged to a try that failed.
func TestStale(t *testing.T) {
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
		"old enough":           {mark: blueMark(), id: blueNIC, age: oldEnough, want: 1},
		"too young":            {mark: blueMark(), id: blueNIC, age: oldEnough - 1},
		"its VM is there":      {mark: blueMark(), id: blueNIC, age: oldEnough, vm: "win-1"},
		"another VM is":        {mark: blueMark(), id: blueNIC, age: oldEnough, vm: "win-2", want: 1},
		"not seen with its VM": {mark: blueMark(), id: blueNIC, age: oldEnough, unseen: true},
		"a disk":               {mark: blueMark(), id: blueGroup.Disk("win-1-os"), age: oldEnough},
		"a stranger's":         {mark: cloud.Marked{}, id: blueNIC, age: oldEnough},
		"another name":         {mark: blueMark(), id: blueGroup.Adapter("db-vip"), age: oldEnough},
		"another group's":      {mark: cloud.Marked{ProviderID: arm.ProviderID(otherGroup.VM("win-1"))}, id: blueNIC, age: oldEnough},
		"another manager's":    {mark: change(func(m *cloud.Marked) { m.Cluster.Manager = "there" }), id: blueNIC, age: oldEnough},
		"no manager's":         {mark: change(func(m *cloud.Marked) { m.Cluster.Manager = "" }), id: blueNIC, age: oldEnough},
		"without a Cluster":    {mark: change(func(m *cloud.Marked) { m.Cluster = cloud.ClusterMark{} }), id: blueNIC, age: oldEnough},
		"no Cluster's name":    {mark: change(func(m *cloud.Marked) { m.Cluster.Name = "" }), id: blueNIC, age: oldEnough},
		"without a namespace":  {mark: change(func(m *cloud.Marked) { m.Key.Namespace = "" }), id: blueNIC, age: oldEnough},
		"its machine is there": {mark: blueMark(), id: blueNIC, age: oldEnough, work: func(*work) {}},
		"of a failed try":      {mark: blueMark(), id: blueNIC, age: oldEnough, work: failed, want: 1},
		"a disk of one":        {mark: blueMark(), id: blueGroup.Disk("win-1-os"), age: oldEnough, work: failed, vm: "win-1", want: 1},
		"made before the VM": {mark: blueMark(), id: blueNIC, age: oldEnough, work: func(w *work) {
			failed(w)
			w.separate.made = []asked{{id: blueNIC}}
		}},
		"of a failed try of another machine": {
			mark: change(func(m *cloud.Marked) { m.Key.Name = "other" }), id: blueNIC, age: oldEnough, work: failed,
		},
		"its machine was let go by hand": {mark: blueMark(), id: blueNIC, age: oldEnough, want: 1, work: func(w *work) {
			w.going, w.used = true, blueNoon.Add(-oldEnough)
		}},
	} {
		a := &account{now: func() time.Time { return blueNoon }, manager: manager}
		s := a.lists.scope(blueGroup)
		s.remnants["one"] = remnant{id: c.id, uniqueID: blueID, mark: c.mark, Remnant: next.Remnant{Since: blueNoon.Add(-c.age)}}
		s.vms[c.vm] = vmRecord{}
		if !c.unseen {
			s.saw(vmRecord{key: blueVM.Key(), adapters: []string{c.id.Key()}}, blueMachine())
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
	a, m := &account{now: func() time.Time { return blueNoon }, calls: &calls{}, manager: manager}, blueMachine()
	m.Record.Azure = infrav1.AzureRecord{VMID: blueID, Disks: []infrav1.AzureResource{{Name: "win-1-data", UniqueID: blueID}}}
	s := a.lists.scope(blueGroup)
	s.vms[m.Name] = vmRecord{key: blueVM.Key(), mark: blueMark(), vmID: blueID}
	s.parts = map[string][]part{blueVM.Key(): {{blueNIC, "22222222-aaaa-bbbb-cccc-555555555555"}}}
	detached := remnant{id: blueGroup.Disk("win-1-data"), uniqueID: blueID, mark: blueMark()}
	detached.Since = blueNoon.Add(-oldEnough)
	s.remnants[detached.id.Key()] = detached
	a.ledger.note(m, blueNoon, func(w *work) {
		w.put.Answer, w.failed = next.Accepted, map[string]bool{} // an earlier try failed
	})
	a.gather(&m, place{vm: blueVM, scope: s})
	expect.Same(t, "adapters that are known", 1, len(a.ledger.recall(m).record.NetworkInterfaces))
	expect.Same(t, "what a sweep removes", 0, len(a.stale(s)))
}
