package azure

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// move has another management cluster take over, as clusterctl move does: the status is lost, and the Cluster has another UID.
func (p *proof) move() {
	p.restart()
	p.a.manager = "there"
	p.m.Record = cloud.Record{}
	p.m.Cluster = cloud.ClusterMark{Name: p.m.Cluster.Name, UID: "new", Manager: "there"}
}

// TestMovedCluster: after a move, a VM with all marks is the machine's again, and one that is removed by hand has vanished: the
// machine gets no second one.
func TestMovedCluster(t *testing.T) {
	p := newProof(t, false)
	p.runs()
	was := p.m.Record.Azure.VMID
	p.move()
	p.runs()
	expect.Same(t, "it is known again", was, p.m.Record.Azure.VMID)
	p.move()
	p.Vanish(armsim.VMID(p.m.Name))
	puts := p.ByClass()["PUT vm"]
	vanished := false
	for range 60 {
		_, err := p.a.Observe(t.Context(), p.m)
		vanished = vanished || errors.Is(err, cloud.ErrNotFound)
		p.live(p.a, 30*time.Second)
	}
	expect.Same(t, "it has vanished", true, vanished)
	expect.Same(t, "VMs that are made", puts, p.ByClass()["PUT vm"])
}

// TestMovedThenDeleted: what Azure leaves of a VM that was made before a move has the UID of the old management cluster. It is
// removed with the machine if the machine's record has it again, and told otherwise.
func TestMovedThenDeleted(t *testing.T) {
	for _, seen := range []bool{true, false} {
		p := newProof(t, false)
		p.runs()
		leave := func() {
			p.Change(func(in *armsim.Inside) { in.Network.Leave, in.Compute.Faults.LeaveDisks = true, true })
		}
		if seen {
			p.move()
			p.runs() // long enough for the lists of disks and adapters
			leave()
		} else { // somebody removes the VM before the new process looks
			leave()
			p.Change(func(in *armsim.Inside) { in.Compute.Delete(armsim.VMID(p.m.Name), true) })
			p.Advance(20 * time.Minute)
			p.move()
		}
		vm := p.gone(p.a, p.m)
		left := len(p.resources(belongings.Disk)) + len(p.resources(belongings.Adapter))
		expect.Same(t, "resources that stay", map[bool]int{true: 0, false: 2}[seen], left)
		expect.Same(t, "those that are told", left, len(vm.Orphans))
		p.live(p.a, 2*time.Hour)
		swept := len(p.resources(belongings.Disk)) + len(p.resources(belongings.Adapter))
		expect.Same(t, "resources that stay, after sweeps", left, swept)
	}
}

// TestStaticAdapterStays: an adapter with an address of its own, whose VM Azure refuses for hours, belongs to the try that goes
// on.
func TestStaticAdapterStays(t *testing.T) {
	p := newProof(t, false)
	p.m.Spec.Azure.NetworkInterfaces[0] = infrav1.AzureNetworkInterface{
		Name: "node", Subnet: infrav1.AzureSubnet{ID: armsim.SubnetID}, PrivateAddress: ownAddress,
	}
	p.Change(func(in *armsim.Inside) {
		in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
			if call.Method != http.MethodPut || call.Class != "vm" {
				return nil
			}
			return &armsim.Refusal{Status: http.StatusConflict, Code: "SkuNotAvailable", Message: "not here"}
		}
	})
	p.lives(3 * time.Hour)
	expect.Same(t, "adapters", 1, len(p.resources(belongings.Adapter)))
	p.Change(func(in *armsim.Inside) { in.Faults.Refuse = nil })
	p.lives(2 * time.Hour)
	expect.Same(t, "it runs with it", []any{true, 1}, []any{p.vmExists(), len(p.resources(belongings.Adapter))})
	expect.Same(t, "it goes with all", []any{true, 0}, []any{p.goes(), len(p.resources(belongings.Adapter))})
}

// TestTagsAtTheirLimits: users' full share of tags, with names and values as long as Azure takes them, leaves room for our marks.
func TestTagsAtTheirLimits(t *testing.T) {
	p := newProof(t, false)
	p.m.Spec.Azure.AdditionalTags = map[string]infrav1.AzureTagValue{}
	for i := range 45 {
		name := fmt.Sprintf("%03d%s", i, strings.Repeat("n", 509))
		p.m.Spec.Azure.AdditionalTags[name] = infrav1.AzureTagValue(strings.Repeat("v", 256))
	}
	p.runs()
	expect.Same(t, "tags", 50, len(p.Tags(armsim.VMID(p.m.Name))))
	expect.Same(t, "it goes", []bool{true, false}, []bool{p.goes(), p.vmExists()})
}
