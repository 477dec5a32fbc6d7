package vcenter

import (
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// drs switches clones on in a task of its own, as vCenter does in a cluster with DRS ("Drm.ExecuteVMPowerOnLRO" in its events):
// the clone ends first, and until the second task ends, another one with the VM is refused with TaskInProgress.
type drs struct {
	begin chan struct{}

	mu   sync.Mutex
	busy map[types.ManagedObjectReference]types.ManagedObjectReference // the VM's task
}

// SwitchOnLater lets the clones that are asked for from now on end before their VMs are switched on; that happens at release.
func (v *VCenter) SwitchOnLater() (release func()) {
	d := &drs{begin: make(chan struct{}), busy: map[types.ManagedObjectReference]types.ManagedObjectReference{}}
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	v.gate.drs = d
	return func() { close(d.begin) }
}

func (d *drs) switchOn(ctx *simulator.Context, vm types.ManagedObjectReference) {
	nowhere := types.ManagedObjectReference{Type: "VirtualMachine", Value: "held-" + uuid.NewString()}
	task := simulator.CreateTask(nowhere, "executeVMPowerOnLRO", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		<-d.begin
		defer func() {
			d.mu.Lock()
			delete(d.busy, vm)
			d.mu.Unlock()
		}()
		plain, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine)
		if !ok {
			return nil, &types.ManagedObjectNotFound{Obj: vm}
		}
		var inner *simulator.Task
		ctx.WithLock(plain, func() {
			body, _ := plain.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: vm}).(*methods.PowerOnVM_TaskBody)
			inner, _ = ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
		})
		inner.Wait()
		return nil, nil
	})
	task.Info.DescriptionId = "Drm.ExecuteVMPowerOnLRO"
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy[vm] = task.Run(ctx)
}

// beingSwitchedOn refuses to switch on a VM that is being switched on.
func (v *VCenter) beingSwitchedOn(method *simulator.Method) types.BaseMethodFault {
	v.gate.mu.Lock()
	d := v.gate.drs
	v.gate.mu.Unlock()
	if d == nil || method.Name != "PowerOnVM_Task" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if task, busy := d.busy[method.This]; busy {
		return &types.TaskInProgress{Task: task}
	}
	return nil
}
