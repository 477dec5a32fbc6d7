package vsphere

import (
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// gatedTemplate is a template whose clones can be held.
type gatedTemplate struct {
	*simulator.VirtualMachine
	mu    sync.Mutex
	gate  chan struct{}
	fault types.BaseMethodFault
	busy  *sync.RWMutex
}

func (g *gatedTemplate) hold() func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := make(chan struct{})
	g.gate = gate
	return func() {
		g.mu.Lock()
		g.gate = nil
		g.mu.Unlock()
		close(gate)
	}
}

// fail makes the clones from now on fail in their task.
func (g *gatedTemplate) fail(with types.BaseMethodFault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = with
}

// CloneVMTask is called by the simulator. A held clone is a task of an entity that there is not, since the simulator would
// lock the entity and with it everyone who reads its properties.
func (g *gatedTemplate) CloneVMTask(ctx *simulator.Context, req *types.CloneVM_Task) soap.HasFault {
	g.mu.Lock()
	gate, fault := g.gate, g.fault
	g.mu.Unlock()
	if gate == nil && fault == nil && g.busy == nil {
		return g.VirtualMachine.CloneVMTask(ctx, req)
	}
	nowhere := types.ManagedObjectReference{Type: "VirtualMachine", Value: "held-" + uuid.NewString()}
	task := simulator.CreateTask(nowhere, "cloneVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if gate != nil {
			<-gate
		}
		if fault != nil {
			return nil, fault
		}
		if g.busy != nil {
			g.busy.Lock()
			defer g.busy.Unlock()
		}
		var inner *simulator.Task
		ctx.WithLock(g, func() {
			body, _ := g.VirtualMachine.CloneVMTask(ctx, req).(*methods.CloneVM_TaskBody)
			inner, _ = ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
		})
		inner.Wait()
		if inner.Info.Error != nil {
			return nil, inner.Info.Error.Fault
		}
		return inner.Info.Result, nil
	})
	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: task.Run(ctx)}}
}
