package vsphere

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

func failedWith(what next.Act, fault types.BaseMethodFault) next.Job {
	return next.Job{Act: what, State: types.TaskInfoStateError, Fault: &types.LocalizedMethodFault{Fault: fault}}
}

// TestSettle: what is remembered of a task that has ended.
func TestSettle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := machines.VSphere("m")
	denied := &types.NoPermission{}
	for name, c := range map[string]struct {
		job      next.Job
		fails    string
		idle     bool
		postpone bool
		made     bool
		unsure   bool
	}{
		"switched on":           {next.Job{Act: next.SwitchOn, State: types.TaskInfoStateSuccess}, "", true, false, false, false},
		"not switched on":       {failedWith(next.SwitchOn, denied), "NoPermission", false, false, false, false},
		"was on":                {failedWith(next.SwitchOn, &types.InvalidPowerState{}), "", true, false, false, false},
		"gone":                  {failedWith(next.Destroy, &types.ManagedObjectNotFound{}), "", false, false, false, false},
		"cloned":                {next.Job{Act: next.Clone, State: types.TaskInfoStateSuccess}, "", false, false, true, false},
		"not cloned":            {failedWith(next.Clone, denied), "NoPermission", false, true, false, false},
		"name taken":            {failedWith(next.Clone, &types.DuplicateName{}), "", false, true, false, true},
		"failed, nobody knows":  {next.Job{Act: next.SwitchOff, State: types.TaskInfoStateError}, "", false, false, false, false},
		"erased":                {next.Job{Act: next.Erase, State: types.TaskInfoStateSuccess}, "", false, true, false, false},
		"erased after its life": {failedWith(next.Erase, &types.ManagedObjectNotFound{}), "", false, true, false, false},
	} {
		var l ledger
		err := l.settle(m, c.job, now)
		expect.Same(t, name+": it fails", c.fails != "", err != nil)
		w := l.recall(m)
		expect.Same(t, name+": off since now", c.idle, w.Idle.Equal(now))
		expect.Same(t, name+": not tried at once", c.postpone, w.NotBefore.Equal(now.Add(firstPause)))
		expect.Same(t, name+": made", c.made, w.Made.Equal(now))
		expect.Same(t, name+": looked for before the next clone", c.unsure, w.Unsure)
	}
}

// TestCloned: the clones of this process are known, also when they have ended and something else is under way.
func TestCloned(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	clone := types.ManagedObjectReference{Type: "Task", Value: "task-1"}
	other := types.ManagedObjectReference{Type: "Task", Value: "task-2"}
	var l ledger
	l.begin(m, next.Job{Act: next.Clone, Task: clone})
	l.begin(m, next.Job{Act: next.SwitchOn, Task: other})
	expect.Same(t, "clones", clones.Tasks{clone: true}, l.cloned())
}

// TestLeaving: that a VM leaves wakes its machine, unless it is being destroyed: then the end of the task does.
func TestLeaving(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	for name, c := range map[string]struct {
		job   next.Job
		wakes int
	}{
		"it is being destroyed":      {next.Job{Act: next.Destroy, VM: vmOf(1)}, 0},
		"it was to be destroyed":     {next.Job{Act: next.Destroy, VM: vmOf(1), State: types.TaskInfoStateError}, 1},
		"another is being destroyed": {next.Job{Act: next.Destroy, VM: vmOf(2)}, 1},
		"it is being switched off":   {next.Job{Act: next.SwitchOff, VM: vmOf(1)}, 1},
	} {
		a := &account{}
		a.inventory.Begin()
		a.inventory.Update(types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: vmOf(1), ChangeSet: []types.PropertyChange{
			{Name: seen.ExtraConfig(seen.MarkOwner), Val: types.OptionValue{Value: m.Key.String()}},
		}})
		a.ledger.begin(m, c.job)
		w := &watcher{guests: &guestView{}}
		keys := a.apply(w, &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: vmOf(3), ObjectSet: []types.ObjectUpdate{
			{Kind: types.ObjectUpdateKindLeave, Obj: vmOf(1)},
		}}}})
		expect.Same(t, name, c.wakes, len(keys))
	}
}
