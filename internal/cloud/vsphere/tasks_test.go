package vsphere

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// stoppedClock gives an account a clock that the test alone moves on: on a slow machine a pause must not end by itself.
func stoppedClock(a *account) (later func(time.Duration)) {
	began := time.Now()
	var moved atomic.Int64
	a.now = func() time.Time { return began.Add(time.Duration(moved.Load())) }
	return func(d time.Duration) { moved.Add(int64(d)) }
}

// tasksDrive takes a step with each machine, and then with each whose key is sent, until all are done. It counts the steps of
// each.
func tasksDrive(t *testing.T, keys <-chan cloud.Key, machines []cloud.Machine, step func(cloud.Machine) bool) map[cloud.Key]int {
	t.Helper()
	left, steps := map[cloud.Key]cloud.Machine{}, map[cloud.Key]int{}
	for _, m := range machines {
		left[m.Key] = m
	}
	take := func(key cloud.Key) {
		if m, known := left[key]; known {
			steps[key]++
			if step(m) {
				delete(left, key)
			}
		}
	}
	for _, m := range machines {
		take(m.Key)
	}
	for deadline := time.After(wait.Patience); len(left) > 0; {
		select {
		case key := <-keys:
			take(key)
		case <-deadline:
			t.Fatalf("no key was sent, and these are not done: %v", left)
		}
	}
	return steps
}

func (v *stage) runs(a *account) func(cloud.Machine) bool {
	return func(m cloud.Machine) bool {
		return expect.Got(a.Ensure(v.t.Context(), m))(v.t).State == cloud.Running
	}
}

func (v *stage) isGone(a *account) func(cloud.Machine) bool {
	return func(m cloud.Machine) bool {
		_, err := a.Delete(v.t.Context(), m)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) {
			v.t.Fatal(err)
		}
		return err != nil
	}
}

// TestTasksOfOthers: a backup clones for an hour, and so do other users of our template. Our own clones for older machines hold
// up no machine that nobody else can have asked for.
func TestTasksOfOthers(t *testing.T) {
	t.Parallel()
	const older = "older than the machine"
	for name, begin := range map[string]func(*stage) func(){
		"a backup":         func(v *stage) func() { return v.BeginClone("backup@vsphere.local", "database") },
		"another user":     func(v *stage) func() { return v.BeginClone(vcenter.Another, vcenter.Template) },
		"another template": func(v *stage) func() { return v.BeginClone(vcenter.Username, "linux") },
		older:              func(v *stage) func() { return v.BeginClone(vcenter.Username, vcenter.Template) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			defer begin(v)()
			made := func(machine string) cloud.Machine {
				m := v.machine(machine)
				if name == older {
					m.Asked = cloud.NeverAsked
				}
				return m
			}
			a := v.account()
			keys := watched(t, a)
			m, never := made("m"), made("never")
			driven(t, keys, m, func() bool { return v.runs(a)(m) })
			driven(t, keys, m, func() bool { return v.isGone(a)(m) })
			wait.Until(t, "a machine that never had a VM to go", func() (any, bool) { return nil, v.isGone(a)(never) })

			b := v.account()
			if name != older { // no clock tells our own clone from that of this VM
				lost := made("lost")
				v.cloneBy(lost, lost.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
				later := stoppedClock(b)
				v.runs(b)(lost)
				later(next.PushTime)
				running(t, b, lost)
			}

			stopped := made("stopped")
			running(t, b, stopped)
			v.PowerOff(stopped.Name)
			stopped.Asked = cloud.Existed
			v.Count()
			wait.Until(t, "the VM that was off to go", func() (any, bool) { return nil, v.isGone(v.account())(stopped) })
		})
	}
}

// TestTasksJustEnded: a clone of a process before us has ended since it was listed. Its VM is looked for before the next clone.
func TestTasksJustEnded(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	release := v.BeginClone(vcenter.Username, vcenter.Template)
	a := v.account()
	watched(t, a)
	_, _, err := a.clones.Earlier(t.Context(), v.machine("other")) // as another machine asks
	expect.OK(t, err)
	release()
	wait.Until(t, "the clone to end", func() (any, bool) {
		running, _, err := a.clones.Earlier(t.Context(), v.machine("third"))
		return err, err == nil && !running
	})
	v.Count()
	expect.Got(a.Ensure(t.Context(), m))(t)
	calls := v.Count()
	expect.Same(t, "looks and clones", []int{1, 1}, []int{calls["FindByUuid"], calls["CloneVM_Task"]})
}

// TestTasksSwitchedOn: the watch has told that the VM is on, so that nothing is asked when the task that did it has ended.
func TestTasksSwitchedOn(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	v.cloneBy(m, m.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	a := v.account()
	later := stoppedClock(a)
	holdLists(a)
	watched(t, a)
	expect.Got(a.Ensure(t.Context(), m))(t)
	later(next.PushTime)
	expect.Got(a.Ensure(t.Context(), m))(t)
	expect.Same(t, "task", next.SwitchOn, a.ledger.recall(m).job.Act)
	wait.Until(t, "the watch to tell of it", func() (any, bool) {
		vm := found(a, m).VM
		return vm, vm != nil && vm.Started()
	})
	v.Count()
	expect.Same(t, "state", cloud.Running, expect.Got(a.Ensure(t.Context(), m))(t).State)
	compare(t, "after the task", v, map[string]int{})
}

// TestTasksOfOursBeforeUs: clones that another process of ours began are waited for, and wake those who wait.
func TestTasksOfOursBeforeUs(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m, never := v.machine("m"), v.machine("never")
	release := v.BeginClone(vcenter.Username, vcenter.Template)
	a := v.account()
	list := holdLists(a)
	keys := watched(t, a)
	for range 3 {
		if vm := expect.Got(a.Ensure(t.Context(), m))(t); vm.Detail != "waiting for clones that were started earlier" {
			t.Fatalf("Ensure = %+v, want it to wait", vm)
		}
		if v.isGone(a)(never) {
			t.Fatal("a machine is let go while its VM may be being made")
		}
	}
	if calls := v.Count(); calls["CloneVM_Task"] != 0 {
		t.Errorf("calls %v, want no clone", calls)
	}
	list()
	wait.Until(t, "the clone to be followed", func() (any, bool) {
		calls := v.Calls()
		return calls, calls["ModifyListView"] >= 1
	})
	release()
	both := []cloud.Machine{m, never}
	steps := tasksDrive(t, keys, both, func(m cloud.Machine) bool {
		if m.Name == never.Name {
			return v.isGone(a)(m)
		}
		return v.runs(a)(m)
	})
	t.Logf("steps %v, calls %v", steps, v.Calls())
}

// TestTasksThatLeave: a vCenter tells that a task has left the view when we take it out, and when it forgets the task.
func TestTasksThatLeave(t *testing.T) {
	t.Parallel()
	a := newStage(t).account()
	task := func(n int) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: "Task", Value: fmt.Sprint("task-", n)}
	}
	const many = 5000
	first := machines.VSphere("m0")
	for n := range many {
		m := first
		if n > 0 {
			m.Key.Name, m.ProviderID = fmt.Sprint("m", n), fmt.Sprint(seen.Scheme, n)
		}
		a.ledger.note(m, func(w *work) { w.job = next.Job{Act: next.Destroy, Task: task(n), Watched: true} })
	}
	leaves := func(n int) []cloud.Key {
		left := []types.ObjectUpdate{{Kind: types.ObjectUpdateKindLeave, Obj: task(n)}}
		return a.apply(&watcher{guests: &guestView{}}, &types.UpdateSet{
			FilterSet: []types.PropertyFilterUpdate{{ObjectSet: left}},
		})
	}
	if keys := leaves(many); len(keys) != 0 {
		t.Errorf("an old task wakes %d machines", len(keys))
	}
	if keys := leaves(0); !slices.Equal(keys, []cloud.Key{first.Key}) {
		t.Errorf("the task of a machine wakes %v", keys)
	}
	if a.ledger.recall(first).job.Watched {
		t.Error("a task that has left the view counts as watched")
	}
}

// TestTasksCost pins what machines cost in a crowd: calls to the vCenter, and looks at a machine.
func TestTasksCost(t *testing.T) {
	t.Parallel()
	const many, removed, others = 100, 40, 400
	v := newStage(t)
	v.Populate(others)
	a := gathersAsMade(v.account())
	keys := watched(t, a)
	var machines []cloud.Machine
	for n := range many {
		machines = append(machines, v.machine(fmt.Sprint("m", n)))
	}
	v.Count()
	most := func(steps map[cloud.Key]int) int { return slices.Max(slices.Collect(maps.Values(steps))) }
	steps := tasksDrive(t, keys, machines, v.runs(a))
	made := v.Count()
	t.Logf("making %d: calls %v, at most %d looks each", many, made, most(steps))
	if made["CloneVM_Task"] != many || sum(made)-many >= removed {
		t.Errorf("making %d machines: calls %v, want a clone each and less than one other", many, made)
	}
	for _, m := range machines {
		expect.Got(a.Observe(t.Context(), m))(t)
	}
	compare(t, "while nothing changes", v, map[string]int{})

	for _, name := range []string{"in this process", "in a new one"} {
		group := machines[:removed]
		machines = machines[removed:]
		if name != "in this process" {
			a = gathersAsMade(v.account())
			keys = watched(t, a)
			for i := range group {
				group[i].Asked = cloud.Existed
			}
		}
		for len(keys) > 0 {
			<-keys
		}
		v.Count()
		steps := tasksDrive(t, keys, group, v.isGone(a))
		gone := v.Count()
		looks := 0
		for _, n := range steps {
			looks += n
		}
		t.Logf("removing %d %s: calls %v, %d looks, at most %d at one", len(group), name, gone, looks, most(steps))
		if gone["PowerOffVM_Task"] != len(group) || gone["Destroy_Task"] != len(group) || sum(gone) >= 3*len(group) {
			t.Errorf("removing %d %s: calls %v, want two tasks each and less than one other", len(group), name, gone)
		}
		// The first look, the end of two tasks, and the watch's word on what each did: a key is sent for each of them, at once or late.
		if looks > 5*len(group) {
			t.Errorf("removing %d %s: %d looks, want 5 at most at each", len(group), name, looks)
		}
	}
}

// TestTasksListHangs: the vCenter does not answer when tasks are to be followed. Nothing of ours waits for that; the tasks that
// destroy VMs, which nothing else shows, are asked for.
func TestTasksListHangs(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a := v.account()
	later := stoppedClock(a)
	keys := watched(t, a)
	hangs := v.HoldMethod("ModifyListView")
	t.Cleanup(hangs.Release)
	release := v.HoldClones()
	first, second := v.machine("first"), v.machine("second")
	v.runs(a)(first)
	wait.Until(t, "the list to be asked for", func() (any, bool) {
		now, _ := hangs.Now()
		return now, now == 1
	})
	v.runs(a)(second)
	release()
	both := []cloud.Machine{first, second}
	tasksDrive(t, keys, both, v.runs(a))
	for _, m := range both {
		wait.Until(t, "the VM to go", func() (any, bool) {
			later(time.Second)
			return nil, v.isGone(a)(m)
		})
	}
}
