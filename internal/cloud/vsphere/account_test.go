package vsphere

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// running makes the machine's VM.
func running(t *testing.T, a *account, m cloud.Machine) {
	t.Helper()
	eventually(t, "the VM runs", func() bool {
		vm, err := a.Ensure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return vm.State == cloud.Running
	})
}

func deleted(t *testing.T, a *account, m cloud.Machine) {
	t.Helper()
	eventually(t, "the VM is gone", func() bool {
		err := a.Delete(t.Context(), m)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) {
			t.Fatal(err)
		}
		return err != nil
	})
}

// cloneBy makes a VM as a controller would have, or as somebody else does.
func (v *vcenter) cloneBy(m cloud.Machine, name string, change func(*types.VirtualMachineCloneSpec)) {
	v.t.Helper()
	a := v.account()
	at, err := a.placements.of(v.t.Context(), &a.connection, *m.Spec.VSphere)
	v.must(err)
	spec, err := cloneSpec(m, at)
	v.must(err)
	change(&spec)
	task, err := object.NewVirtualMachine(v.admin, v.template.Self).Clone(v.t.Context(), v.folder, name, spec)
	v.must(err)
	v.must(task.Wait(v.t.Context()))
}

func TestFailedCloneIsToldAndTriedAgain(t *testing.T) {
	for _, watching := range []bool{false, true} {
		v := newVCenter(t)
		a, m := v.account(), v.machine("m")
		var later atomic.Int64
		a.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		if watching {
			watched(t, a)
		}
		v.template.fail(&types.InsufficientMemoryResourcesFault{})
		var err error
		eventually(t, "Ensure tells why", func() bool {
			_, err = a.Ensure(t.Context(), m)
			return err != nil
		})
		wantError(t, err, cloud.Exhausted, infrav1.CapacityExhaustedReason)
		v.template.fail(nil)
		_, err = a.Ensure(t.Context(), m)
		wantError(t, err, cloud.Exhausted, infrav1.CapacityExhaustedReason)
		if calls := v.count(); calls["CloneVM_Task"] != 1 {
			t.Errorf("calls %v, want no second clone at once", calls)
		}
		later.Store(int64(firstPause))
		running(t, a, m)
		deleted(t, a, m)
	}
}

func TestFailedCloneCanBeDeleted(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	v.template.fail(&types.NoPermission{})
	_, err := a.Ensure(t.Context(), m)
	v.must(err)
	deleted(t, a, m)
}

func TestSwitchedOnWhenThatWasLost(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	v.cloneBy(m, m.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	vm, err := a.Observe(t.Context(), m)
	if err != nil || vm.State != cloud.Creating {
		t.Errorf("Observe = %+v, %v, want %q", vm, err, cloud.Creating)
	}
	running(t, a, m)
	if calls := v.count(); calls["PowerOnVM_Task"] != 1 || calls["CloneVM_Task"] != 0 {
		t.Errorf("calls %v, want one PowerOnVM_Task and no clone", calls)
	}
}

func TestCloneOfOursIsNotOurs(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	watched(t, a)
	running(t, a, m)
	v.cloneBy(m, "copy-of-it", func(s *types.VirtualMachineCloneSpec) { s.Config.InstanceUuid, s.Config.Uuid = "", "" })
	before := v.inspect("copy-of-it")
	deleted(t, a, m)
	if diff := cmp.Diff([]string{"copy-of-it"}, v.vms()); diff != "" {
		t.Errorf("VMs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, v.inspect("copy-of-it")); diff != "" {
		t.Errorf("the clone was changed (-before +after):\n%s", diff)
	}
}

// set changes a property as vCenter does by itself.
func (v *vcenter) set(ref types.ManagedObjectReference, changes ...types.PropertyChange) {
	ctx := v.model.Service.Context
	vm, _ := v.model.Map().Get(ref).(*simulator.VirtualMachine)
	ctx.WithLock(vm, func() { ctx.Update(vm, changes) })
}

func TestUnreachableVMIsNotGone(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	ref := v.vm(m.Name).Reference()
	state := func(s types.VirtualMachineConnectionState) {
		v.set(ref, types.PropertyChange{Name: "runtime.connectionState", Val: s})
	}
	before := v.count()
	for _, s := range []types.VirtualMachineConnectionState{"disconnected", "inaccessible", "orphaned", "invalid"} {
		state(s)
		wantError(t, a.Delete(t.Context(), m), cloud.Transient, infrav1.CloudUnreachableReason)
	}
	if calls := v.count(); calls["PowerOffVM_Task"]+calls["Destroy_Task"] != 0 {
		t.Errorf("calls %v, want nothing done (before: %v)", calls, before)
	}
	state("connected")
	deleted(t, a, m)
}

// TestUnreadableVMIsNotGone: when its storage is away, vCenter knows neither the configuration nor the id of a VM.
func TestUnreadableVMIsNotGone(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	ref := v.vm(m.Name).Reference()
	v.set(ref, types.PropertyChange{Name: "config.instanceUuid", Val: ""})
	for name, a := range map[string]*account{"seen before": a, "not seen before": v.account()} {
		if err := a.Delete(t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("%s: the VM is said to be gone", name)
		}
		if vm, err := a.Ensure(t.Context(), m); vm.State == cloud.Running || errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("%s: Ensure = %+v, %v", name, vm, err)
		}
	}
	if calls := v.count(); calls["CloneVM_Task"] != 1 || calls["Destroy_Task"] != 0 {
		t.Errorf("calls %v, want the one clone and no more", calls)
	}
	v.set(ref, types.PropertyChange{Name: "config.instanceUuid", Val: idOf(m)})
	deleted(t, a, m)
}

// TestLostRequest: a request whose answer was lost may arrive later than we ask.
func TestLostRequest(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	wantAbsent(t, a, m)
	var clock atomic.Int64
	a.now = func() time.Time { return time.Unix(clock.Load(), 0) }
	_, err := a.placements.of(t.Context(), &a.connection, *m.Spec.VSphere)
	v.must(err)
	v.dropClone()
	_, err = a.Ensure(t.Context(), m)
	wantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	clock.Add(int64(lateRequest.Seconds()) - 1)
	v.must(a.Delete(t.Context(), m))
	clock.Add(1)
	if err := a.Delete(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Delete = %v, want ErrNotFound", err)
	}
}

func TestTemplateReplaced(t *testing.T) {
	v := newVCenter(t)
	a := v.account()
	running(t, a, v.machine("first"))
	old := object.NewVirtualMachine(v.admin, v.template.Self)
	for _, r := range []func() (*object.Task, error){
		func() (*object.Task, error) { return old.Rename(t.Context(), "old") },
		func() (*object.Task, error) { return v.vm(v.machine("first").Name).PowerOff(t.Context()) },
		func() (*object.Task, error) {
			return v.vm(v.machine("first").Name).Rename(t.Context(), "windows-2022")
		},
		func() (*object.Task, error) { return old.Destroy(t.Context()) },
	} {
		task, err := r()
		v.must(err)
		v.must(task.Wait(t.Context()))
	}
	_, err := methods.MarkAsTemplate(t.Context(), v.admin, &types.MarkAsTemplate{This: v.vm("windows-2022").Reference()})
	v.must(err)
	_, err = a.Ensure(t.Context(), v.machine("second"))
	wantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	running(t, a, v.machine("second"))
}

// TestHiddenPlaceIsNotGone: an account that lost its right to see a folder finds nothing there.
func TestHiddenPlaceIsNotGone(t *testing.T) {
	v := newVCenter(t)
	m := v.machine("m")
	m.Spec.VSphere.Folder = "no-such-folder"
	m.Existed = true
	wantError(t, v.account().Delete(t.Context(), m), cloud.Invalid, infrav1.PlacementNotFoundReason)
	m.Existed = false
	if err := v.account().Delete(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Delete = %v, want ErrNotFound: a machine with a typo never had a VM and must not stay for ever", err)
	}
}

// TestUnmarkedVMIsNotGone: somebody has cleared the advanced configuration of our VM.
func TestUnmarkedVMIsNotGone(t *testing.T) {
	v := newVCenter(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	task, err := v.vm(m.Name).Reconfigure(t.Context(), types.VirtualMachineConfigSpec{
		ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: markOwner, Value: ""}},
	})
	v.must(err)
	v.must(task.Wait(t.Context()))
	for name, a := range map[string]*account{"seen before": a, "not seen before": v.account()} {
		if err := a.Delete(t.Context(), m); err != nil {
			t.Errorf("%s: Delete = %v, want nil: the machine must not be let go", name, err)
		}
		if vm, err := a.Ensure(t.Context(), m); err != nil || vm.State == cloud.Running {
			t.Errorf("%s: Ensure = %+v, %v", name, vm, err)
		}
	}
	if calls := v.count(); calls["CloneVM_Task"] != 1 || calls["PowerOffVM_Task"]+calls["Destroy_Task"] != 0 {
		t.Errorf("calls %v, want the one clone and no more", calls)
	}
}
