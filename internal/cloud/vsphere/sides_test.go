package vsphere

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func taskOf(n int) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Task", Value: fmt.Sprint("task-", n)}
}

func vmOf(n int) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: fmt.Sprint("vm-", n)}
}

// noFilter is a vCenter that notes what it is asked for, and makes no filter.
type noFilter struct{ calls []string }

// RoundTrip is part of soap.RoundTripper.
func (n *noFilter) RoundTrip(_ context.Context, request, answer soap.HasFault) error {
	n.calls = append(n.calls, strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", request), "*methods."), "Body"))
	switch a := answer.(type) {
	case *methods.CreateContainerViewBody:
		a.Res = &types.CreateContainerViewResponse{Returnval: vmOf(1)}
	case *methods.CreateFilterBody:
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (n *noFilter) client() *vim25.Client {
	return &vim25.Client{RoundTripper: n, ServiceContent: types.ServiceContent{ViewManager: &types.ManagedObjectReference{}}}
}

// TestUnfiltered: VMs of which no changes would be told are not followed, and their view is removed with the watcher.
func TestUnfiltered(t *testing.T) {
	t.Parallel()
	var n noFilter
	w := &watcher{client: n.client()}
	err := w.addView(t.Context(), vmOf(0))
	expect.Same(t, "it says why", true, errors.Is(err, io.ErrUnexpectedEOF))
	w.free(t.Context())
	expect.Same(t, "calls", []string{"CreateContainerView", "CreateFilter", "DestroyPropertyCollector", "DestroyView"}, n.calls)
}

// TestUnreadChanges: a wait for changes that fails ends the watch with why.
func TestUnreadChanges(t *testing.T) {
	t.Parallel()
	a := &account{now: time.Now}
	err := a.readChanges(t.Context(), &watcher{client: &vim25.Client{RoundTripper: unheard{io.ErrUnexpectedEOF}}}, nil, newPace())
	expect.Same(t, "it says why", true, errors.Is(err, io.ErrUnexpectedEOF))
}

// TestLeftWatchers: watchers that were left are removed in the session that they were made in, once.
func TestLeftWatchers(t *testing.T) {
	t.Parallel()
	var here, elsewhere noFilter
	now := here.client()
	whole := &watcher{client: now, lists: []types.ManagedObjectReference{vmOf(1), vmOf(2)}}
	whole.views = append(whole.views, vmOf(3))
	a := &account{left: []*watcher{{client: elsewhere.client()}, {client: now}, whole}}
	for range 2 {
		a.freeLeft(t.Context(), now)
	}
	const collector, view = "DestroyPropertyCollector", "DestroyView"
	expect.Same(t, "calls here", []string{collector, collector, view, view, view}, here.calls)
	expect.Same(t, "calls elsewhere", 0, len(elsewhere.calls))
}

// TestWatchedAndAfter: while a watch runs, a place that is free wakes who waits for it. What holds only then ends with it.
func TestWatchedAndAfter(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	ctx, end := context.WithCancel(t.Context())
	keys, ended := make(chan cloud.Key, 10), make(chan error, 1)
	go func() { ended <- a.Watch(ctx, cloudtest.Into(keys)) }()
	over := func() (any, bool) {
		a.waiting.mu.Lock()
		defer a.waiting.mu.Unlock()
		return a.waiting.begun, a.waiting.wake != nil && a.waiting.begun.IsZero()
	}
	wait.Until(t, "the list of all VMs", func() (any, bool) { _, done := over(); return nil, done && hasListed(a) })
	wantLater(t, a.waiting.note(m.Key, &cloud.Error{Kind: cloud.Later, After: time.Second}))
	a.waiting.freed()
	expect.Same(t, "woken", m.Key, <-keys)
	a.ledger.note(m, func(w *work) { w.NeverRan, w.job.Watched = true, true })
	end()
	expect.OK(t, <-ended)
	expect.Same(t, "a list of tasks", true, a.view.Load() == nil)
	expect.Same(t, "up to date", false, a.Health().Synced)
	expect.Same(t, "who is woken", true, a.waiting.wake == nil)
	w := a.ledger.recall(m)
	expect.Same(t, "what is believed of the machine", []bool{false, false}, []bool{w.NeverRan, w.job.Watched})
	expect.Same(t, "watched", false, a.watching.Load())
}

// TestBrokenBetweenFolders: a vCenter that is silent is not asked for one folder after the other.
func TestBrokenBetweenFolders(t *testing.T) {
	t.Parallel()
	v := newAway(t)
	a := lateConnect(t, v.door.Credentials())
	v.shut.Store(true)
	a.session.Check(t.Context())
	for n := range 2 {
		a.folders.note(&infrav1.VSphereVM{Folder: fmt.Sprint(n)})
	}
	err := a.addFolders(t.Context(), &watcher{}, errMoreFolders)
	expect.Same(t, "it says that the vCenter is silent", true, session.Silent(err))
}

// TestLateUntil: a request of a process before us may arrive for a machine that has no VM, unless this process was the first.
func TestLateUntil(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked cloud.Asked
		seen  types.ManagedObjectReference
		late  bool
	}{
		"another process may have asked": {late: true},
		"no other process asked":         {asked: cloud.NeverAsked},
		"it had a VM":                    {asked: cloud.Existed},
		"its VM was seen":                {seen: vmOf(1)},
		"it had one, and it was seen":    {asked: cloud.Existed, seen: vmOf(1)},
	} {
		a, m := &account{opened: noon, now: func() time.Time { return noon }}, machines.VSphere("m")
		m.Asked = c.asked
		a.ledger.note(m, func(w *work) { w.Object = c.seen })
		s := expect.Got(a.gather(t.Context(), m))(t)
		expect.Same(t, name, c.late, s.LateUntil.Equal(noon.Add(next.LateRequest)))
		expect.Same(t, name+": it ran", c.asked == cloud.Existed, s.Ran)
	}
}

// TestSaw: since when a VM is off counts for one that never ran, from the first time on that it is seen.
func TestSaw(t *testing.T) {
	t.Parallel()
	const on, off = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff
	for name, c := range map[string]struct {
		what  cloud.Whose
		power types.VirtualMachinePowerState
		ran   bool
		idle  time.Time
		want  time.Time
		runs  bool
	}{
		"off":              {cloud.Ours, off, false, time.Time{}, noon, false},
		"off for long":     {cloud.Ours, off, false, noon.Add(-1), noon.Add(-1), false},
		"off after it ran": {cloud.Ours, off, true, time.Time{}, time.Time{}, true},
		"on":               {cloud.Ours, on, false, time.Time{}, time.Time{}, true},
		"another's":        {cloud.Foreign, on, false, time.Time{}, time.Time{}, false},
	} {
		var a account
		m, s := machines.VSphere("m"), next.Survey{Now: noon}
		a.ledger.note(m, func(w *work) { w.Idle, w.Made, w.ran = c.idle, noon, c.ran })
		vm := seen.VM{
			Ref: vmOf(1), Parent: "group-1", ID: seen.IDOf(m), Owner: m.Key.String(), ProviderID: m.ProviderID, Power: c.power,
		}
		a.saw(m, &s, seen.Found{Whose: c.what, VM: &vm})
		w := a.ledger.recall(m)
		expect.Same(t, name+": off since", true, w.Idle.Equal(c.want))
		expect.Same(t, name+": it ran", c.runs, w.ran)
		expect.Same(t, name+": its VM is known, and a clone's is awaited", []bool{c.what == cloud.Ours, c.what != cloud.Ours},
			[]bool{w.Object == vmOf(1) && w.Folder == "group-1", !w.Made.IsZero()})
	}
}

// TestStruck: a machine is known to be gone for a minute, unless something is begun for it.
func TestStruck(t *testing.T) {
	t.Parallel()
	var l ledger
	m := machines.VSphere("m")
	expect.Same(t, "wanted no more, first and then", []bool{true, false}, []bool{l.abandon(m), l.abandon(m)})
	l.strike(m, "look", noon)
	for at, want := range map[time.Time]bool{noon: true, noon.Add(keepGone - 1): true, noon.Add(keepGone): false} {
		left, is := l.struck(m, at)
		expect.Same(t, "gone at "+at.String(), []any{want, "look"}, []any{is, left})
	}
	l.note(m, func(w *work) { w.Unsure, w.Made = true, noon })
	l.begin(m, next.Job{Act: next.Clone})
	w := l.recall(m)
	expect.Same(t, "doubts of a clone before", []bool{false, true}, []bool{w.Unsure, w.Made.IsZero()})
	expect.Same(t, "machines", []cloud.Key{m.Key}, l.machines())
	_, is := l.struck(m, noon)
	expect.Same(t, "gone when something was begun", false, is)
}

// TestPostpone: each failure doubles the pause, up to five minutes.
func TestPostpone(t *testing.T) {
	t.Parallel()
	w := work{}
	for n, seconds := range []float64{30, 60, 120, 240, 300, 300} {
		w.postpone(io.ErrUnexpectedEOF, noon)
		expect.Same(t, fmt.Sprint("pause after failure ", n+1), seconds, w.NotBefore.Sub(noon).Seconds())
		expect.Same(t, "failures", n+1, w.failures)
	}
	w.failures = 1000
	w.postpone(io.ErrUnexpectedEOF, noon)
	expect.Same(t, "pause after many failures", 300*time.Second, w.NotBefore.Sub(noon))
}

// TestSettled: a task that has ended is forgotten, and no other one; a VM is forgotten once it is known to be destroyed.
func TestSettled(t *testing.T) {
	t.Parallel()
	destroyed := next.Job{Act: next.Destroy, Task: taskOf(1), State: types.TaskInfoStateSuccess}
	forgotten := next.Job{Act: next.Destroy, State: types.TaskInfoStateSuccess, Forgotten: true}
	for name, c := range map[string]struct {
		job     next.Job
		current types.ManagedObjectReference
		left    next.Act
		object  bool
	}{
		"destroyed":            {destroyed, taskOf(1), "", false},
		"ended, nobody knows":  {forgotten, taskOf(0), next.Erase, true},
		"not destroyed":        {failedWith(next.Destroy, &types.NoPermission{}), taskOf(1), next.Erase, true},
		"another is under way": {destroyed, taskOf(2), next.Erase, false},
	} {
		var l ledger
		m := machines.VSphere("m")
		l.note(m, func(w *work) { w.job, w.Object = next.Job{Act: next.Erase, Task: c.current}, vmOf(1) })
		_ = l.settle(m, c.job, noon)
		w := l.recall(m)
		expect.Same(t, name+": what is under way", c.left, w.job.Act)
		expect.Same(t, name+": its VM is known", c.object, w.Object == vmOf(1))
	}
}

// TestNewsOfTasks: a task that ends or leaves the list wakes its machine; of what is under way the list is made.
func TestNewsOfTasks(t *testing.T) {
	t.Parallel()
	m := machines.VSphere("m")
	state := func(s types.TaskInfoState) []types.PropertyChange {
		return []types.PropertyChange{{Name: "info.state", Val: s}}
	}
	const runs, ended = types.TaskInfoStateRunning, types.TaskInfoStateSuccess
	for name, c := range map[string]struct {
		news    types.ObjectUpdate
		wakes   int
		watched bool
		listed  int
	}{
		"it ends":      {types.ObjectUpdate{Obj: taskOf(1), ChangeSet: state(ended)}, 1, true, 0},
		"it runs":      {types.ObjectUpdate{Obj: taskOf(1), ChangeSet: state(runs)}, 0, true, 1},
		"it leaves":    {types.ObjectUpdate{Obj: taskOf(1), Kind: types.ObjectUpdateKindLeave}, 1, false, 1},
		"another ends": {types.ObjectUpdate{Obj: taskOf(2), ChangeSet: state(ended)}, 0, true, 1},
	} {
		var l ledger
		l.begin(m, next.Job{Act: next.Destroy, Task: taskOf(1)})
		l.note(machines.VSphere("idle"), func(w *work) { w.job.Task = taskOf(2) })
		l.markWatched(clones.Tasks{taskOf(1): true})
		expect.Same(t, name+": machines that are woken", c.wakes, len(l.update(c.news)))
		expect.Same(t, name+": followed", c.watched, l.recall(m).job.Watched)
		expect.Same(t, name+": tasks under way", c.listed, len(l.tasks()))
		l.markWatched(clones.Tasks{taskOf(3): true})
		l.update(c.news)
		expect.Same(t, name+": followed when others are", false, l.recall(m).job.Watched)
	}
}

// TestWayOut: the way out is told where the place is not found, and nowhere else.
func TestWayOut(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{infrav1.PlacementNotFoundReason: true, infrav1.SpecInvalidReason: false} {
		err := withWayOut(cloud.Errorf(cloud.Invalid, reason, "x"))
		known, _ := errors.AsType[*cloud.Error](err)
		expect.Same(t, reason+": more rights may come", want, known.Kind == cloud.Denied)
		expect.Same(t, reason, want, strings.Contains(err.Error(), infrav1.MachineFinalizer))
	}
	expect.Same(t, "no error of a cloud", true, errors.Is(withWayOut(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF))
	expect.OK(t, withWayOut(nil))
}
