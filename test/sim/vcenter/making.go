package vcenter

import (
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// making knows the VMs that a clone has begun to make. The simulator shows them before they are whole, and panics if one is
// destroyed or switched on then. vCenter refuses tasks with such a VM: TaskInProgress (vSphere Web Services API,
// VirtualMachine.Destroy_Task and others).
type making struct {
	mu      sync.Mutex
	clones  int // under way
	vms     refs
	stopped bool
	running sync.WaitGroup
}

// begin of a clone; none begins once the vCenter stops. end is called with what it made, if anything.
func (m *making) begin() (end func(made types.AnyType), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return nil, false
	}
	m.running.Add(1)
	m.clones++
	return func(made types.AnyType) {
		defer m.running.Done()
		m.mu.Lock()
		defer m.mu.Unlock()
		if vm, ok := made.(types.ManagedObjectReference); ok {
			delete(m.vms, vm)
		}
		if m.clones--; m.clones == 0 { // what a clone that failed has left
			clear(m.vms)
		}
	}, true
}

// stop waits for the clones under way: the simulator panics if their files go meanwhile.
func (m *making) stop() {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	m.running.Wait()
}

// refuse a task with a VM that is being made. What the hosts do for a guest is no task for the user.
func (m *making) refuse(ctx *simulator.Context, method *simulator.Method) types.BaseMethodFault {
	if method.This.Type != "VirtualMachine" || !strings.HasSuffix(method.Name, "_Task") || ctx.Session.UserName == hypervisor {
		return nil
	}
	begun := false
	ctx.WithLock(method.This, func() { // which the simulator holds until it has told of the VM
		m.mu.Lock()
		defer m.mu.Unlock()
		begun = m.vms[method.This]
	})
	if begun {
		return &types.TaskInProgress{Task: method.This}
	}
	return nil
}

// has reports whether a VM is being made. The simulator gives it its advanced configuration key by key, after it has shown it.
func (m *making) has(ref types.ManagedObjectReference) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.vms[ref]
}

// Reference is part of simulator.RegisterObject.
func (*making) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Lab", Value: "making"}
}

// PutObject is part of simulator.RegisterObject.
func (m *making) PutObject(_ *simulator.Context, object mo.Reference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if vm, ok := object.(*simulator.VirtualMachine); ok && m.clones > 0 {
		m.vms[vm.Self] = true
	}
}

// UpdateObject is part of simulator.RegisterObject. To switch a VM on is the last thing that a clone does.
func (m *making) UpdateObject(ctx *simulator.Context, object mo.Reference, changes []types.PropertyChange) {
	if len(changes) > 0 && changes[0].Name == "runtime.powerState" {
		m.RemoveObject(ctx, object.Reference())
	}
}

// RemoveObject is part of simulator.RegisterObject.
func (m *making) RemoveObject(_ *simulator.Context, vm types.ManagedObjectReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.vms, vm)
}
