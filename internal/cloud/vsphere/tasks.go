package vsphere

import (
	"context"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

var zeroTime time.Time

// settle reports how far m's job is, nil if there is none. One that has ended is forgotten; its error is returned, this once.
func (a *account) settle(ctx context.Context, m cloud.Machine) (*job, error) {
	j, ok := a.ledger.job(m)
	if !ok {
		return nil, nil
	}
	if !j.watched && !j.ended() {
		if err := a.poll(ctx, &j); err != nil {
			return nil, err
		}
	}
	if !j.ended() {
		return &j, nil
	}
	a.ledger.end(m, j.task)
	if j.harmless() {
		return &j, nil
	}
	err := classify(j.err())
	if j.act == cloning && err != nil {
		a.ledger.with(m, func(w *work) { w.fail(err, a.now()) })
	}
	return &j, err
}

// harmless errors say that somebody else was faster: what there is now has to be looked at.
func (j *job) harmless() bool {
	return overtaken(j.act, j.err())
}

func overtaken(by act, err error) bool {
	if is[*types.DuplicateName](err) {
		return by == cloning
	}
	return by != cloning && (is[*types.InvalidPowerState](err) || is[*types.ManagedObjectNotFound](err))
}

// poll reads a task that is not watched. Tasks vanish some minutes after their end: then only the VM can tell how it was.
func (a *account) poll(ctx context.Context, j *job) error {
	err := a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) error {
		found, err := read(ctx, c, source{object: j.task}, "Task", taskPaths...)
		for path, value := range found[j.task] {
			j.set(path, value)
		}
		return err
	})
	if is[*types.ManagedObjectNotFound](err) {
		j.state, err = types.TaskInfoStateSuccess, nil
	}
	return err
}

// start begins something with a VM.
func (a *account) start(ctx context.Context, m cloud.Machine, what act, vm types.ManagedObjectReference) (*job, error) {
	return a.begin(ctx, m, job{act: what, vm: vm}, func(ctx context.Context, c *vim25.Client) (types.ManagedObjectReference, error) {
		switch what {
		case switchingOn:
			r, err := methods.PowerOnVM_Task(ctx, c, &types.PowerOnVM_Task{This: vm})
			return taskOf(r, err)
		case switchingOff:
			r, err := methods.PowerOffVM_Task(ctx, c, &types.PowerOffVM_Task{This: vm})
			return taskOf((*types.PowerOnVM_TaskResponse)(r), err)
		default:
			r, err := methods.Destroy_Task(ctx, c, &types.Destroy_Task{This: vm})
			return taskOf((*types.PowerOnVM_TaskResponse)(r), err)
		}
	})
}

func (a *account) startClone(ctx context.Context, m cloud.Machine, req *types.CloneVM_Task) (*job, error) {
	return a.begin(ctx, m, job{act: cloning}, func(ctx context.Context, c *vim25.Client) (types.ManagedObjectReference, error) {
		r, err := methods.CloneVM_Task(ctx, c, req)
		return taskOf((*types.PowerOnVM_TaskResponse)(r), err)
	})
}

// The answers of all tasks are alike.
func taskOf(r *types.PowerOnVM_TaskResponse, err error) (types.ManagedObjectReference, error) {
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return r.Returnval, nil
}

// begin starts a task and remembers it. The end of the caller's context does not interrupt it: an answer that nobody
// waits for is one more VM of which nobody knows.
func (a *account) begin(ctx context.Context, m cloud.Machine, j job,
	request func(context.Context, *vim25.Client) (types.ManagedObjectReference, error),
) (*job, error) {
	err := a.connection.do(context.WithoutCancel(ctx), func(ctx context.Context, c *vim25.Client) error {
		var err error
		j.task, err = request(ctx, c)
		return err
	})
	if err != nil {
		if j.act == cloning && !answered(err) {
			a.ledger.with(m, func(w *work) { w.lost, w.may = a.now(), suspects{} })
		}
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).Info("started a vCenter task", "machine", m.Key, "vm", m.Name, "act", j.act, "task", j.task.Value)
	j.state = types.TaskInfoStateQueued
	remembered := j // the watch changes it as soon as it is remembered
	a.ledger.with(m, func(w *work) { w.job = &remembered })
	a.follow(ctx)
	return &j, nil
}

// earlierClones says whether something may be on its way that this process has not begun, or does not know that it has.
func (a *account) earlierClones(ctx context.Context, m cloud.Machine) (bool, error) {
	if busy, err := a.narrow(ctx, m, &a.ledger.own); err != nil || busy {
		return busy, err
	}
	lost := false
	a.ledger.with(m, func(w *work) { lost = !w.lost.IsZero() })
	if !lost {
		return false, nil
	}
	return a.clonesOf(ctx, m)
}

// clonesOf says whether a clone is under way that may make m's VM, whoever began it.
func (a *account) clonesOf(ctx context.Context, m cloud.Machine) (bool, error) {
	var s *suspects
	a.ledger.with(m, func(w *work) { s = &w.may })
	return a.narrow(ctx, m, s)
}

// narrow asks which of the suspects are left, unless there are none.
func (a *account) narrow(ctx context.Context, m cloud.Machine, s *suspects) (bool, error) {
	cleared := false
	a.ledger.with(m, func(*work) { cleared = s.cleared() })
	if cleared {
		return false, nil
	}
	running, err := a.clones(ctx)
	if err != nil {
		return false, err
	}
	a.ledger.with(m, func(*work) {
		s.narrow(running, a.ledger.others(m))
		cleared = s.cleared()
	})
	a.follow(ctx)
	return !cleared, nil
}

// clones lists the clones under way in the vCenter. Its list has all tasks that are queued or running, and for ten minutes
// those that have ended. Which VM a clone makes, a task does not tell.
func (a *account) clones(ctx context.Context) ([]types.ManagedObjectReference, error) {
	var running []types.ManagedObjectReference
	err := a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) error {
		tasks, err := read(ctx, c, source{*c.ServiceContent.TaskManager, "recentTask"}, "Task", "info.descriptionId", "info.state")
		running = nil
		for ref, p := range tasks {
			id, _ := p["info.descriptionId"].(string)
			active := p["info.state"] == types.TaskInfoStateQueued || p["info.state"] == types.TaskInfoStateRunning
			if active && strings.HasPrefix(id, "VirtualMachine.clone") {
				running = append(running, ref)
			}
		}
		return err
	})
	return running, err
}

// everRan asks vCenter's events whether a VM was ever switched on.
func (a *account) everRan(ctx context.Context, vm types.ManagedObjectReference) (bool, error) {
	ran := false
	err := a.connection.do(ctx, func(ctx context.Context, c *vim25.Client) error {
		r, err := methods.QueryEvents(ctx, c, &types.QueryEvents{
			This: *c.ServiceContent.EventManager,
			Filter: types.EventFilterSpec{
				Entity:      &types.EventFilterSpecByEntity{Entity: vm, Recursion: types.EventFilterSpecRecursionOptionSelf},
				EventTypeId: []string{"VmPoweredOnEvent", "DrsVmPoweredOnEvent"},
				MaxCount:    1,
			},
		})
		ran = err == nil && len(r.Returnval) > 0
		return err
	})
	return ran, err
}
