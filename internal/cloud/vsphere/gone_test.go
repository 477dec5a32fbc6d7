package vsphere

import (
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

// TestGoneLately: a machine whose VM is gone is remembered for a while, also when another one goes, and forgotten after that.
func TestGoneLately(t *testing.T) {
	t.Parallel()
	var g goneLately
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	note := func(id string, at time.Time, want int) {
		t.Helper()
		g.note(cloud.Machine{Identity: cloud.Identity{ProviderID: id}}, "look", at)
		expect.Same(t, "machines", want, len(g))
	}
	note("a", noon, 1)
	note("b", noon.Add(keepGone-1), 2)
	note("c", noon.Add(keepGone), 2) // a is forgotten
	if _, known := g[cloud.MachineID{ProviderID: "a"}]; known {
		t.Error("a is known for longer than " + keepGone.String())
	}
}

// TestGoneIsForgotten: what was found out about the clones of a machine is kept no longer than the machine.
func TestGoneIsForgotten(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	expect.Same(t, "gone", true, v.isGone(a)(m))
	v.Count()
	expect.Got(a.clones.Rivals(t.Context(), m, time.Time{}))(t)
	expect.Same(t, "the vCenter is asked anew", true, sum(v.Count()) > 0)
}

// TestBackAfterItWasGone: a VM that shows up soon after its machine was let go is removed all the same.
func TestBackAfterItWasGone(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	watched(t, a)
	a.ledger.strike(m, "", a.now())
	expect.Got(a.Delete(t.Context(), m))(t)
	expect.Same(t, "what is done", next.SwitchOff, a.ledger.recall(m).job.Act)
}

// TestSawAfterDeletion: an accepted deletion came to nothing if the VM is seen, unless it is being destroyed.
func TestSawAfterDeletion(t *testing.T) {
	t.Parallel()
	vm := &seen.VM{Ref: vmOf(1)}
	for name, c := range map[string]struct {
		found seen.Found
		job   next.Act
		kept  bool
	}{
		"ours":               {seen.Found{Whose: cloud.Ours, VM: vm}, "", false},
		"ours, switched off": {seen.Found{Whose: cloud.Ours, VM: vm}, next.SwitchOff, false},
		"being destroyed":    {seen.Found{Whose: cloud.Ours, VM: vm}, next.Destroy, true},
		"cannot be read":     {seen.Found{Whose: cloud.Unseen, VM: vm}, "", false},
		"not proved":         {seen.Found{Whose: cloud.Unproved, VM: vm}, "", false},
		"another's":          {seen.Found{Whose: cloud.Foreign, VM: vm}, "", true},
		"nothing":            {seen.Found{}, "", true},
	} {
		var a account
		m := machines.VSphere("m")
		a.ledger.note(m, func(w *work) { w.deletion, w.job.Act = infrav1.DeletionAccepted, c.job })
		a.saw(m, &next.Survey{}, c.found)
		expect.Same(t, name, c.kept, a.ledger.recall(m).deletion == infrav1.DeletionAccepted)
	}
}
