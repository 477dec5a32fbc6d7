package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/capwin/cluster-api-provider-windows/test/world"
)

// slowClone makes the clones of a front take until it is released: whoever asks for one gets a task that runs, as all can
// see, and the VM is made when the test says so.
type slowClone struct {
	mu     sync.Mutex
	asked  []*methods.CloneVM_TaskBody
	tasks  []types.ManagedObjectReference
	opened bool
}

// start begins the task and answers as the vCenter would.
func (s *slowClone) start(d *datacenter, body []byte) answer {
	request, err := cloneRequest(body)
	if err != nil {
		return answer{}
	}
	ctx := context.Background()
	made, err := d.beginTask(ctx, request.Req.This)
	if err != nil {
		return answer{}
	}
	s.mu.Lock()
	s.asked, s.tasks = append(s.asked, request), append(s.tasks, made)
	opened := s.opened
	s.mu.Unlock()
	if opened {
		go func() { _ = d.finish(ctx, request, made) }()
	}
	response := soap.Envelope{Body: &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: made}}}
	var text bytes.Buffer
	text.WriteString(xml.Header)
	if err := xml.NewEncoder(&text).Encode(response); err != nil {
		return answer{}
	}
	return answer{http.StatusOK, http.Header{"Content-Type": {"text/xml; charset=utf-8"}}, text.Bytes()}
}

func cloneRequest(body []byte) (*methods.CloneVM_TaskBody, error) {
	request := &methods.CloneVM_TaskBody{}
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.TypeFunc = types.TypeFunc()
	if err := decoder.Decode(&soap.Envelope{Body: request}); err != nil {
		return nil, err
	}
	if request.Req == nil {
		return nil, fmt.Errorf("no clone in %s", body)
	}
	return request, nil
}

// begun says how many clones were asked for.
func (s *slowClone) begun() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// release lets the clones be made, and all that are asked for later.
func (s *slowClone) release(ctx context.Context, d *datacenter) error {
	s.mu.Lock()
	asked, tasks := s.asked, s.tasks
	s.opened = true
	s.mu.Unlock()
	for i := range asked {
		if err := d.finish(ctx, asked[i], tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

// cloneTask is what vCenter calls a clone among its tasks.
const cloneTask = "VirtualMachine.clone"

// beginTask makes a task that runs until it is finished, as extensions of a vCenter can.
func (d *datacenter) beginTask(ctx context.Context, of types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	made, err := methods.CreateTask(ctx, d.client, &types.CreateTask{
		This: *d.client.ServiceContent.TaskManager, Obj: of, TaskTypeId: cloneTask, InitiatedBy: "crash test",
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("create task: %w", err)
	}
	ref := made.Returnval.Task
	// The simulator answers before the task is there.
	err = world.Poll(ctx, world.Patience, func(ctx context.Context) error {
		_, err := methods.SetTaskState(ctx, d.client, &types.SetTaskState{This: ref, State: types.TaskInfoStateRunning})
		return err
	})
	return ref, err
}

// finish makes the VM and ends the task as the clone ended.
func (d *datacenter) finish(ctx context.Context, request *methods.CloneVM_TaskBody, running types.ManagedObjectReference) error {
	started, err := methods.CloneVM_Task(ctx, d.client, request.Req)
	if err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	end := &types.SetTaskState{This: running, State: types.TaskInfoStateSuccess}
	info, err := object.NewTask(d.client, started.Returnval).WaitForResult(ctx)
	var failed task.Error
	switch {
	case errors.As(err, &failed):
		end.State, end.Fault = types.TaskInfoStateError, failed.LocalizedMethodFault
	case err != nil:
		return fmt.Errorf("wait for clone: %w", err)
	default:
		end.Result = info.Result
	}
	if _, err := methods.SetTaskState(ctx, d.client, end); err != nil {
		return fmt.Errorf("end task: %w", err)
	}
	return nil
}
