package vsphere

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// viewOf makes an empty list of tasks.
func (v *stage) viewOf(a *account) *taskView {
	v.t.Helper()
	return expect.Got(session.Do(v.t.Context(), a.session, func(ctx context.Context, c *vim25.Client) (*taskView, error) {
		made, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager})
		if err != nil {
			return nil, err
		}
		return &taskView{client: c, ref: made.Returnval}, nil
	}))(v.t)
}

// task is one that the vCenter knows.
func (v *stage) task() types.ManagedObjectReference {
	v.t.Helper()
	task := expect.Got(v.Template().Rename(v.t.Context(), "renamed"))(v.t)
	v.Must(task.Wait(v.t.Context()))
	return task.Reference()
}

// TestTaskList: a request is made only for a new task, and what it did not add is not taken for followed.
func TestTaskList(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	view := v.viewOf(v.account())
	known, unknown := v.task(), types.ManagedObjectReference{Type: "Task", Value: "task-of-old"}
	list := func(want bool, calls int, tasks ...types.ManagedObjectReference) {
		t.Helper()
		wanted := clones.Tasks{}
		for _, one := range tasks {
			wanted[one] = true
		}
		v.Count()
		expect.Same(t, "listed", want, view.list(t.Context(), wanted))
		expect.Same(t, "requests", calls, v.Count()["ModifyListView"])
	}
	v.Deny("ModifyListView", "System.View")
	list(false, 1, known)
	expect.Same(t, "tasks after a refusal", 0, len(view.tasks))
	v.Deny("ModifyListView", "")
	list(true, 1, known, unknown)
	expect.Same(t, "tasks", clones.Tasks{known: true}, view.tasks)
	list(false, 0, known)
	list(false, 0)
	expect.Same(t, "tasks that are left", clones.Tasks{known: true}, view.tasks)
}

// TestSuspectsAreFollowed: clones that may make a machine's VM are to be listed, and what is known of them is remembered.
func TestSuspectsAreFollowed(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	view := &taskView{added: make(chan struct{}, 1)}
	a.view.Store(view)
	finds := func(q next.Act, suspects bool) {
		t.Helper()
		s := next.Survey{Asked: map[next.Act]int{}}
		expect.OK(t, a.findOut(t.Context(), m, q, &s))
		expect.Same(t, "suspects after "+string(q), suspects, s.Earlier || s.Rivals)
		expect.Same(t, "to be listed after "+string(q), suspects, len(view.added) == 1)
		for range len(view.added) {
			<-view.added
		}
	}
	finds(next.Rivals, false)
	a.clones.Forget(m)
	defer v.BeginClone(vcenter.Username, vcenter.Template)()
	expect.Same(t, "a doubt at first", false, a.ledger.recall(m).Unsure)
	finds(next.Earlier, true)
	expect.Same(t, "a doubt that is remembered", true, a.ledger.recall(m).Unsure)
	a.clones.Forget(m)
	finds(next.Rivals, true)
	s := next.Survey{Asked: map[next.Act]int{}, Memory: next.Memory{Unsure: true}}
	expect.OK(t, a.findOut(t.Context(), v.machine("other"), next.Earlier, &s))
	expect.Same(t, "a doubt that was there", true, s.Memory.Unsure)
}

// TestSuspectIsNotPolled: once the vCenter tells of its end, a clone that may make a machine's VM costs no more calls.
func TestSuspectIsNotPolled(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	view := v.viewOf(a)
	defer v.BeginClone(vcenter.Username, vcenter.Template)()
	looks := func(what string, asks bool) {
		t.Helper()
		v.Count()
		running, _, err := a.clones.Earlier(t.Context(), m)
		expect.OK(t, err)
		expect.Same(t, what+": it may make the VM", true, running)
		if calls := v.Count(); (len(calls) > 0) != asks {
			t.Errorf("%s: calls are %v", what, calls)
		}
	}
	looks("at first", true)
	looks("when it is polled", true)
	view.listAll(t.Context(), a)
	looks("when it is followed", false)
}

// TestLookByReference: a VM that was seen before is read, and not looked for.
func TestLookByReference(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	v.cloneBy(m, m.Name, func(*types.VirtualMachineCloneSpec) {})
	first := expect.Got(a.look(t.Context(), m, next.Survey{}))(t)
	v.Count()
	again := expect.Got(a.look(t.Context(), m, next.Survey{Memory: next.Memory{Object: first.VM.Ref}}))(t)
	expect.Same(t, "what is found", cloud.Ours, again.Whose)
	compare(t, "of a look by reference", v, map[string]int{"RetrievePropertiesEx": 1})
}

// TestFollowed: a task counts as followed once the vCenter has listed it, and not any more when it has left the list.
func TestFollowed(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	view, task := v.viewOf(a), v.task()
	a.ledger.note(m, func(w *work) { w.job = next.Job{Act: next.Destroy, Task: task, State: types.TaskInfoStateRunning} })
	follow := func(what string, want bool) {
		t.Helper()
		view.listAll(t.Context(), a)
		expect.Same(t, "followed "+what, want, a.ledger.recall(m).job.Watched)
	}
	v.Deny("ModifyListView", "System.View")
	follow("after a refusal", false)
	v.Deny("ModifyListView", "")
	follow("after it was listed", true)
	a.ledger.update(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: task})
	follow("after it left", false)
}
