package vsphere

import (
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func failedWith(what act, fault types.BaseMethodFault) job {
	return job{act: what, state: types.TaskInfoStateError, fault: &types.LocalizedMethodFault{Fault: fault}}
}

// TestShown: a VM shows what has been done with it, and no other VM does.
func TestShown(t *testing.T) {
	t.Parallel()
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	vm := func(power types.VirtualMachinePowerState) found {
		return found{cloud.Ours, &sighting{ref: ref, power: power}}
	}
	const on, off = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff
	for name, c := range map[string]struct {
		act   act
		there found
		want  bool
	}{
		"cloned":                  {cloning, vm(on), true},
		"cloned, and off":         {cloning, vm(off), false},
		"not cloned":              {cloning, found{}, false},
		"switched on":             {switchingOn, vm(on), true},
		"not switched on":         {switchingOn, vm(off), false},
		"switched off":            {switchingOff, vm(off), true},
		"not switched off":        {switchingOff, vm(on), false},
		"switched off, not known": {switchingOff, vm(""), false},
		"erased":                  {erasing, vm(on), true},
		"not erased":              {erasing, found{cloud.Ours, &sighting{ref: ref, userData: true}}, false},
		"not seen any more":       {destroying, found{}, false},
		"not destroyed":           {destroying, vm(off), false},
	} {
		expect.Same(t, name, c.want, job{act: c.act, vm: ref}.shown(c.there))
		other := job{act: c.act, vm: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-2"}}
		expect.Same(t, name+": another VM", c.want && c.act == cloning, other.shown(c.there))
	}
}

// TestSettle: what is remembered of a task that has ended.
func TestSettle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{VSphere: &infrav1.VSphereVM{}})
	denied := &types.NoPermission{}
	for name, c := range map[string]struct {
		job      job
		fails    string
		idle     bool
		postpone bool
		made     bool
		unsure   bool
	}{
		"switched on":           {job{act: switchingOn, state: types.TaskInfoStateSuccess}, "", true, false, false, false},
		"not switched on":       {failedWith(switchingOn, denied), "NoPermission", false, false, false, false},
		"was on":                {failedWith(switchingOn, &types.InvalidPowerState{}), "", true, false, false, false},
		"gone":                  {failedWith(destroying, &types.ManagedObjectNotFound{}), "", false, false, false, false},
		"cloned":                {job{act: cloning, state: types.TaskInfoStateSuccess}, "", false, false, true, false},
		"not cloned":            {failedWith(cloning, denied), "NoPermission", false, true, false, false},
		"name taken":            {failedWith(cloning, &types.DuplicateName{}), "", false, true, false, true},
		"failed, nobody knows":  {job{act: switchingOff, state: types.TaskInfoStateError}, "", false, false, false, false},
		"erased":                {job{act: erasing, state: types.TaskInfoStateSuccess}, "", false, true, false, false},
		"erased after its life": {failedWith(erasing, &types.ManagedObjectNotFound{}), "", false, true, false, false},
	} {
		var l ledger
		err := l.settle(m, c.job, now)
		expect.Same(t, name+": it fails", c.fails != "", err != nil)
		w := l.recall(m)
		expect.Same(t, name+": off since now", c.idle, w.idle.Equal(now))
		expect.Same(t, name+": not tried at once", c.postpone, w.notBefore.Equal(now.Add(firstPause)))
		expect.Same(t, name+": made", c.made, w.made.Equal(now))
		expect.Same(t, name+": looked for before the next clone", c.unsure, w.unsure)
	}
}

// TestCloned: the clones of this process are known, also when they have ended and something else is under way.
func TestCloned(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	clone := types.ManagedObjectReference{Type: "Task", Value: "task-1"}
	other := types.ManagedObjectReference{Type: "Task", Value: "task-2"}
	var l ledger
	l.begin(m, job{act: cloning, task: clone})
	l.begin(m, job{act: switchingOn, task: other})
	expect.Same(t, "clones", clones.Tasks{clone: true}, l.cloned())
}

// TestNotGone: a VM that left the inventory may be hidden. Only its task says that it is destroyed.
func TestNotGone(t *testing.T) {
	t.Parallel()
	a := &account{}
	a.inventory.begin()
	a.inventory.complete()
	j := job{act: destroying, vm: vmOf(1), watched: true, state: types.TaskInfoStateRunning}
	expect.OK(t, a.progress(t.Context(), &j, found{}))
	expect.Same(t, "it is destroyed", false, j.ended())
}

// TestLeaving: that a VM leaves wakes its machine, unless it is being destroyed: then the end of the task does.
func TestLeaving(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	for name, c := range map[string]struct {
		job   job
		wakes int
	}{
		"it is being destroyed":      {job{act: destroying, vm: vmOf(1)}, 0},
		"it was to be destroyed":     {job{act: destroying, vm: vmOf(1), state: types.TaskInfoStateError}, 1},
		"another is being destroyed": {job{act: destroying, vm: vmOf(2)}, 1},
		"it is being switched off":   {job{act: switchingOff, vm: vmOf(1)}, 1},
	} {
		a := &account{}
		a.inventory.begin()
		a.inventory.update(appeared("vm-1", types.ObjectUpdateKindEnter, oursAs(m)))
		a.ledger.begin(m, c.job)
		w := &watcher{guests: &guestView{}}
		keys := a.apply(w, &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: vmOf(3), ObjectSet: []types.ObjectUpdate{
			{Kind: types.ObjectUpdateKindLeave, Obj: vmOf(1)},
		}}}})
		expect.Same(t, name, c.wakes, len(keys))
	}
}

// TestUpdateOfATask: news of a task that is not followed do not make it one that is.
func TestUpdateOfATask(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "m", infrav1.WindowsMachineSpec{})
	task := types.ManagedObjectReference{Type: "Task", Value: "task-1"}
	for _, watched := range []bool{true, false} {
		var l ledger
		l.note(m, func(w *work) { w.job = job{act: destroying, task: task, watched: watched} })
		keys := l.update(types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: task, ChangeSet: []types.PropertyChange{
			{Name: "info.state", Val: types.TaskInfoStateRunning},
		}})
		expect.Same(t, "keys of a task that runs", 0, len(keys))
		expect.Same(t, "followed", watched, l.recall(m).job.watched)
	}
}
