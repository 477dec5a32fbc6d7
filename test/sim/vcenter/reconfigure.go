package vcenter

import (
	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// HoldEdits lets the reconfigurations that our account asks for from now on run, without an end, until release. They then end
// with the fault, if there is one.
func (v *VCenter) HoldEdits(with types.BaseMethodFault) (release func()) {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	edits := &edits{over: make(chan struct{}), fault: with}
	v.gate.edits = edits
	return func() {
		v.gate.mu.Lock()
		v.gate.edits = nil
		v.gate.mu.Unlock()
		close(edits.over)
	}
}

type edits struct {
	over  chan struct{}
	fault types.BaseMethodFault
}

// editedVM is the simulator's, with a gate for what our account edits. It is destroyed once: see destroy.go.
type editedVM struct {
	*simulator.VirtualMachine
	gate *gate
}

// giveEditsAGate puts a gate before a VM. A session prefers what is in its own registry, even to a handler that VCenter.call
// returns. It refuses a VM that has gone since the simulator chose its own handler, which would destroy it once more.
func (v *VCenter) giveEditsAGate(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	edits := method.Name == "ReconfigVM_Task" || method.Name == "Destroy_Task"
	if !edits || ctx.Session.Registry.Get(method.This) != nil {
		return nil
	}
	switch vm := ctx.Map.Get(method.This).(type) {
	case nil:
		return &types.ManagedObjectNotFound{Obj: method.This}
	case *simulator.VirtualMachine:
		// Put writes into the VM.
		ctx.WithLock(vm, func() { ctx.Session.Registry.Put(&editedVM{vm, &v.gate}) })
	}
	return nil
}

// ReconfigVMTask is called by the simulator. As with clones, a task that is held must not lock its VM.
func (e *editedVM) ReconfigVMTask(ctx *simulator.Context, req *types.ReconfigVM_Task) soap.HasFault {
	e.gate.mu.Lock()
	held := e.gate.edits
	e.gate.mu.Unlock()
	if user := ctx.Session.UserName; held == nil || user == "" || user == hypervisor {
		return e.VirtualMachine.ReconfigVMTask(ctx, req)
	}
	nowhere := types.ManagedObjectReference{Type: "VirtualMachine", Value: "held-" + uuid.NewString()}
	task := simulator.CreateTask(nowhere, "reconfigVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		<-held.over
		if held.fault != nil {
			return nil, held.fault
		}
		var inner *simulator.Task
		ctx.WithLock(e.VirtualMachine, func() {
			body, _ := e.VirtualMachine.ReconfigVMTask(ctx, req).(*methods.ReconfigVM_TaskBody)
			inner, _ = ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
		})
		inner.Wait()
		return nil, nil
	})
	return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: task.Run(ctx)}}
}
