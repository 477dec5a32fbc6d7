package crash

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// besideOthers are the effects that could meet another machine: what is made, changed and removed for one of several.
var besideOthers = []string{
	"vcenter CloneVM_Task #1", "vcenter ReconfigVM_Task #1", "workload DELETE secrets #1", "vcenter PowerOffVM_Task #1",
	"vcenter Destroy_Task #1", "management PATCH windowsmachines finalizers #1",
}

// TestBystander has a node stand by while another machine of its namespace lives and processes are killed: nothing that is the
// node's changes.
//
//nolint:tparallel // one life after the other, beside the same node
func TestBystander(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	at := newPlace(t)
	var bystander *run
	t.Run("bystander", func(t *testing.T) {
		bystander = begin(t, at, false)
		bystander.claimed(t)
		bystander.joined(t)
	})
	if t.Failed() {
		return
	}
	before := bystander.belongings(t, at)
	for i, effect := range besideOthers {
		plan := world.Plan{Effect: effect, After: i%2 == 0}
		t.Run(plan.String(), func(t *testing.T) {
			r := begin(t, at, false, plan)
			r.others = []string{bystander.machine.Load(t).Windows.Status.ComputerName}
			r.claimed(t)
			r.joinedAndGone(t)
			if !r.Hit() {
				t.Error("the effect did not come about")
			}
			expect.Same(t, "what belongs to the bystander", before, bystander.belongings(t, at))
		})
	}
	t.Run("end", func(t *testing.T) {
		begin(t, at, false).machine.End(t)
		bystander.machine.End(t)
	})
}

// belongings are all that our controllers could change of a node's: its objects, by their versions, and its VM, byte by byte.
func (r *run) belongings(t *testing.T, at place) map[string]string {
	t.Helper()
	s := r.machine.Load(t)
	name := s.Windows.Status.ComputerName
	return map[string]string{
		"WindowsMachine": s.Windows.ResourceVersion, "WindowsBootstrapConfig": s.Config.ResourceVersion,
		"Secret": s.Data.ResourceVersion, "VM": at.vcenter.Owner(t).Inspect(name),
	}
}
