package vsphere

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// requests ask for a task with a VM.
var requests = map[next.Act]func(object.VirtualMachine, context.Context) (*object.Task, error){
	next.SwitchOn:  object.VirtualMachine.PowerOn,
	next.SwitchOff: object.VirtualMachine.PowerOff,
	next.Destroy:   object.VirtualMachine.Destroy,
	next.Erase:     erase,
}

// erase takes the user data away, and notes so where the guest cannot write: what the guest writes there later is its own. Keys
// with empty values are removed. The metadata stay: they have no secret, and cloudbase-init needs the id in them at each start.
//
//nolint:revive // because it is called as the methods beside it
func erase(vm object.VirtualMachine, ctx context.Context) (*object.Task, error) {
	return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: seen.UserDataKey, Value: ""},
		&types.OptionValue{Key: seen.UserDataEncodingKey, Value: ""},
		&types.OptionValue{Key: seen.MarkUserData, Value: seen.Taken},
	}})
}

// start starts a task and remembers it. The end of the caller's context does not interrupt the request, because a lost answer
// can leave a VM that this process has no record of.
func (a *account) start(ctx context.Context, m cloud.Machine, act next.Act, vm types.ManagedObjectReference) error {
	begin := requests[act]
	if act == next.Clone {
		placement, err := a.places.Find(ctx, *m.Spec.VSphere)
		if err != nil {
			return err
		}
		data, err := m.UserData(ctx)
		if err != nil {
			return err
		}
		spec, err := request.CloneSpec(m, data, placement)
		if err != nil {
			return err
		}
		vm, begin = placement.Template, func(template object.VirtualMachine, ctx context.Context) (*object.Task, error) {
			return template.Clone(ctx, object.NewFolder(template.Client(), placement.Folder), m.Name, spec)
		}
	}
	task, err := session.Do(context.WithoutCancel(ctx), a.session, func(ctx context.Context, c *vim25.Client) (*object.Task, error) {
		return begin(*object.NewVirtualMachine(c, vm), ctx)
	})
	if err != nil {
		return a.notStarted(m, act, err)
	}
	j := next.Job{Act: act, Task: task.Reference(), VM: vm, Begun: a.now(), State: types.TaskInfoStateQueued}
	logr.FromContextOrDiscard(ctx).Info("Started a vCenter task", "machine", m.Key, "vm", m.Name, "act", act, "task", j.Task.Value)
	a.ledger.begin(m, j)
	a.follow()
	return nil
}

// notStarted handles a request that failed. If there was no answer, the clone may have been started all the same.
func (a *account) notStarted(m cloud.Machine, act next.Act, err error) error {
	switch {
	case !session.Asked(err):
	case act == next.Clone && !session.Answered(err):
		a.clones.Forget(m)
		a.ledger.note(m, func(w *work) { w.AnswerLost, w.Unsure, w.deletion = a.now(), true, "" })
	case act == next.Clone && session.Is[*types.ManagedObjectNotFound](err):
		a.places.Forget(*m.Spec.VSphere)
	case act == next.Erase:
		a.ledger.note(m, func(w *work) { w.postpone(err, a.now()) })
	case overtaken(act, err):
		_ = a.ledger.settle(m, failedAtOnce(act, err), a.now())
		return errOvertaken
	}
	return err
}

// errOvertaken means that the vCenter refused a task because its work is done, or is being done.
var errOvertaken = errors.New("overtaken")

// failedAtOnce is a job whose request was refused.
func failedAtOnce(act next.Act, err error) next.Job {
	fault := &types.LocalizedMethodFault{Fault: &types.InvalidPowerState{}}
	if session.Is[*types.DuplicateName](err) {
		fault.Fault = &types.DuplicateName{}
	}
	return next.Job{Act: act, State: types.TaskInfoStateError, Fault: fault}
}

// progress brings a job up to date. It asks the vCenter if neither the VM nor the watch shows that the job is done. The vCenter
// forgets tasks that have ended; then only the VM shows the result.
func (a *account) progress(ctx context.Context, j *next.Job, found seen.Found) error {
	switch {
	case j.Shown(found):
		j.State = types.TaskInfoStateSuccess
		return nil
	case j.Watched, a.view.Load() != nil && a.now().Before(j.Begun.Add(pollAfter)):
		return nil
	}
	read, err := session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (session.Objects, error) {
		return session.Read(ctx, c, session.Source{Object: j.Task}, "Task", next.TaskPaths...)
	})
	for path, value := range read[j.Task] {
		j.Set(path, value)
	}
	if session.Is[*types.ManagedObjectNotFound](err) {
		j.State, j.Forgotten, err = types.TaskInfoStateSuccess, true, nil
	}
	return err
}

// everRan reports whether a VM was ever switched on. It reads events, because a VM that is switched off shows no other trace of
// it.
func (a *account) everRan(ctx context.Context, vm types.ManagedObjectReference) (bool, error) {
	return session.Do(ctx, a.session, func(ctx context.Context, c *vim25.Client) (bool, error) {
		r, err := methods.QueryEvents(ctx, c, &types.QueryEvents{
			This: *c.ServiceContent.EventManager,
			Filter: types.EventFilterSpec{
				Entity:      &types.EventFilterSpecByEntity{Entity: vm, Recursion: types.EventFilterSpecRecursionOptionSelf},
				EventTypeId: []string{"VmPoweredOnEvent", "DrsVmPoweredOnEvent"},
				MaxCount:    1,
			},
		})
		return err == nil && len(r.Returnval) > 0, err
	})
}
