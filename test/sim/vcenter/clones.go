package vcenter

import (
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// gate is what the clones of the template have to pass.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // while clones are held
	fault  types.BaseMethodFault
	drs    *drs         // while clones are switched on later
	edits  *edits       // while edits are held
	events time.Time    // older ones are forgotten
	busy   sync.RWMutex // see race.go
	making making
}

// HoldClones lets the clones that are asked for from now on run, without an end, until release.
func (v *VCenter) HoldClones() (release func()) {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	closed := make(chan struct{})
	v.gate.closed = closed
	return func() {
		v.gate.mu.Lock()
		v.gate.closed = nil
		v.gate.mu.Unlock()
		close(closed)
	}
}

// FailClones makes the clones from now on fail in their task; nil lets them succeed again.
func (v *VCenter) FailClones(with types.BaseMethodFault) {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	v.gate.fault = with
}

// template is the simulator's, with a gate.
type template struct {
	*simulator.VirtualMachine
	gate *gate
}

// CloneVMTask is called by the simulator. While a task runs, the simulator locks its entity and with it everyone who reads the
// entity's properties: the task of a clone that is held begins with an entity that is not there, and gets the template once it
// runs. Its description is that of vCenter; the simulator's is "VirtualMachine.cloneVm".
func (t *template) CloneVMTask(ctx *simulator.Context, req *types.CloneVM_Task) soap.HasFault {
	t.gate.mu.Lock()
	closed, fault, later := t.gate.closed, t.gate.fault, t.gate.drs
	t.gate.mu.Unlock()
	req.Spec.Config = clonedOptions(t.Config.ExtraConfig, req.Spec.Config)
	if fault == nil {
		fault = reservedMAC(req.Spec.Config)
	}
	switchOn := later != nil && req.Spec.PowerOn
	req.Spec.PowerOn = req.Spec.PowerOn && !switchOn
	ref := t.begin(ctx, func() (types.AnyType, types.BaseMethodFault) {
		if closed != nil {
			<-closed
		}
		if fault != nil {
			return nil, fault
		}
		made, fault := t.clone(ctx, req)
		if vm, ok := made.(types.ManagedObjectReference); ok && switchOn {
			later.switchOn(ctx, vm)
		}
		return made, fault
	})
	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: ref}}
}

// begin starts a task as vCenter describes it (TaskInfo in the vSphere Web Services API): it names who asked for it, its entity,
// and when it was queued.
func (t *template) begin(ctx *simulator.Context, do func() (types.AnyType, types.BaseMethodFault)) types.ManagedObjectReference {
	user := ""
	if ctx.Session != nil {
		user = ctx.Session.UserName
	}
	return beginClone(ctx, user, t.Reference(), t.Name, do)
}

func beginClone(
	ctx *simulator.Context, user string, of types.ManagedObjectReference, name string,
	do func() (types.AnyType, types.BaseMethodFault),
) types.ManagedObjectReference {
	nowhere := types.ManagedObjectReference{Type: "VirtualMachine", Value: "held-" + uuid.NewString()}
	task := simulator.CreateTask(nowhere, "cloneVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) { return do() })
	task.Info.DescriptionId, task.Info.EntityName = "VirtualMachine.clone", name
	task.Info.Reason = &types.TaskReasonUser{UserName: user}
	ref := task.Run(ctx)
	ctx.Map.AtomicUpdate(ctx, task, []types.PropertyChange{{Name: "info.entity", Val: of}})
	return ref
}

// BeginClone lets another user, or our own, clone another VM or our template, without an end until release. Nothing is made.
func (o *Owner) BeginClone(user, template string) (release func()) {
	over := make(chan struct{})
	of := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-of-others"}
	if template == Template {
		of = o.Template().Reference()
	}
	beginClone(o.model.Service.Context, user, of, template, func() (types.AnyType, types.BaseMethodFault) {
		<-over
		return nil, nil
	})
	return func() { close(over) }
}

func (t *template) clone(ctx *simulator.Context, req *types.CloneVM_Task) (types.AnyType, types.BaseMethodFault) {
	if oneAtATime {
		t.gate.busy.Lock()
		defer t.gate.busy.Unlock()
	}
	var inner *simulator.Task
	end, ok := t.gate.making.begin()
	if !ok {
		return nil, new(types.RequestCanceled)
	}
	ctx.WithLock(t, func() {
		body, _ := t.VirtualMachine.CloneVMTask(ctx, req).(*methods.CloneVM_TaskBody)
		inner, _ = ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
	})
	inner.Wait()
	end(inner.Info.Result)
	if inner.Info.Error != nil {
		return nil, inner.Info.Error.Fault
	}
	return inner.Info.Result, nil
}

// reservedMAC refuses a chosen MAC that has VMware's prefix but is beyond 00:50:56:3f:ff:ff. The guide to vSphere's networking
// says so (VMware OUI in Static MAC Addresses), and that such a VM cannot be powered on. Two VMs with one MAC both run.
func reservedMAC(config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	if config == nil {
		return nil
	}
	for _, change := range config.DeviceChange {
		card, ok := change.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard)
		if !ok || change.GetVirtualDeviceConfigSpec().Operation == types.VirtualDeviceConfigSpecOperationRemove {
			continue
		}
		const prefix = "00:50:56:"
		mac := card.GetVirtualEthernetCard().MacAddress
		if strings.HasPrefix(mac, prefix) && mac >= prefix+"40" {
			return &types.GenericVmConfigFault{Reason: "The MAC address " + mac + " conflicts with VMware reserved MACs for other usage."}
		}
	}
	return nil
}
