package vsphere

import (
	"errors"
	"slices"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// TestTasksEventsForgotten: the VM was stopped long ago, and the vCenter's events say nothing of it any more.
func TestTasksEventsForgotten(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	running(t, v.account(), m)
	v.PowerOff(m.Name)
	v.ForgetEvents()
	m.Asked = cloud.Existed
	a := v.account()
	holdLists(a)
	watched(t, a)
	v.Count()
	for range 3 {
		if vm := expect.Got(a.Observe(t.Context(), m))(t); vm.State != cloud.Stopped {
			t.Errorf("Observe = %+v, want %s", vm, cloud.Stopped)
		}
	}
	compare(t, "about a VM that ran", v, map[string]int{})
	m.Asked = cloud.MaybeAsked
	for range 3 {
		expect.Got(a.Observe(t.Context(), m))(t)
	}
	compare(t, "about a VM that may not have run", v, map[string]int{})

	never := v.machine("never")
	v.cloneBy(never, never.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	wait.Until(t, "the inventory to have it", func() (any, bool) { return nil, found(a, never).Whose == cloud.Ours })
	v.Count()
	for range 3 {
		if vm := expect.Got(a.Observe(t.Context(), never))(t); vm.State != cloud.Creating {
			t.Errorf("Observe = %+v, want %q", vm, cloud.Creating)
		}
	}
	compare(t, "about a VM that never ran", v, map[string]int{"QueryEvents": 1})
}

// TestTasksUnderDRS: the clone ends, and vCenter switches the VM on in a second task.
func TestTasksUnderDRS(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	release := v.SwitchOnLater()
	a, m := v.account(), v.machine("m")
	later := stoppedClock(a)
	keys := watched(t, a)
	driven(t, keys, m, func() bool {
		return expect.Got(a.Ensure(t.Context(), m))(t).Detail == "made, but not yet switched on"
	})
	expect.Got(a.Ensure(t.Context(), m))(t)
	if calls := v.Count(); calls["PowerOnVM_Task"] != 0 {
		t.Errorf("calls %v: DRS was not given the time to switch it on", calls)
	}
	later(next.PushTime)
	for range 3 {
		if vm := expect.Got(a.Ensure(t.Context(), m))(t); vm.State != cloud.Creating {
			t.Errorf("Ensure = %+v, want %q", vm, cloud.Creating)
		}
	}
	if calls := v.Count(); calls["PowerOnVM_Task"] != 1 {
		t.Errorf("calls %v, want one try", calls)
	}
	release()
	driven(t, keys, m, func() bool { return v.runs(a)(m) })
	if calls := v.Count(); calls["PowerOnVM_Task"] != 0 {
		t.Errorf("calls %v, want none", calls)
	}
}

// TestTasksPlaceGone: the VM is gone, and then its folder, or all of its datacenter. That must not keep the machine if its VM's
// references are known. Without them, a place that is not found proves nothing.
func TestTasksPlaceGone(t *testing.T) {
	t.Parallel()
	const folder = "/" + vcenter.Datacenter + "/vm/" + vcenter.Folder
	for name, c := range map[string]struct {
		rename       string
		moved, known bool
		lets         bool
	}{
		"the folder":          {rename: folder, known: true, lets: true},
		"the folder for good": {known: true, lets: true},
		"the datacenter":      {rename: "/" + vcenter.Datacenter, known: true, lets: true},
		"no record":           {rename: folder},
		"no record, for good": {},
		"the VM is elsewhere": {rename: folder, moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			m := v.machine("m")
			record := running(t, v.account(), m).Record
			m.Asked = cloud.Existed
			if c.known {
				m.Record = *record
			}
			if c.moved {
				v.Update(v.VM(m.Name).Reference(), types.PropertyChange{Name: "config.instanceUuid", Val: ""})
			} else {
				v.Remove(m.Name)
			}
			if c.rename == "" {
				v.done(expect.Got(find.NewFinder(v.Client).Folder(t.Context(), folder))(t).Destroy(t.Context()))
			} else {
				v.rename(c.rename)
			}
			a := v.account()
			watched(t, a)
			_, err := a.Delete(t.Context(), m)
			if c.lets {
				expect.Same(t, "it is let go", true, errors.Is(err, cloud.ErrNotFound))
				return
			}
			cloudtest.WantError(t, err, cloud.Denied, infrav1.PlacementNotFoundReason)
			expect.Says(t, "Delete", err, "remove the finalizer "+infrav1.MachineFinalizer)
		})
	}
}

// rename an object at a path.
func (v *stage) rename(path string) {
	v.t.Helper()
	found := expect.Got(find.NewFinder(v.Client).ManagedObjectList(v.t.Context(), path))(v.t)
	v.done(object.NewCommon(v.Client, found[0].Object.Reference()).Rename(v.t.Context(), "something-else"))
}

func (v *stage) done(task *object.Task, err error) {
	v.t.Helper()
	v.Must(err)
	v.Must(task.Wait(v.t.Context()))
}

// TestTasksOfADeadLeader: a request of the leader before us may arrive after we took over. Until then no machine that may have
// had one is let go.
func TestTasksOfADeadLeader(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	a := v.account()
	later := stoppedClock(a)
	a.opened = a.now()
	younger := v.machine("younger")
	younger.Asked = cloud.NeverAsked
	if !v.isGone(a)(younger) {
		t.Error("a machine that is younger than this process waits")
	}
	if v.isGone(a)(m) {
		t.Error("a machine is let go although its VM may appear")
	}
	v.cloneBy(m, m.Name, func(*types.VirtualMachineCloneSpec) {})
	later(next.LateRequest)
	deleted(t, a, m)
	if vms := v.VMs(); len(vms) != 0 {
		t.Errorf("VMs %v are left", vms)
	}
}

// TestTasksOfTwoLeaders: each has an inventory without the VM that the other one makes. The name decides.
func TestTasksOfTwoLeaders(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	a, b := v.account(), v.account()
	watched(t, a)
	keys := watched(t, b)
	running(t, a, v.machine("other")) // both have asked for earlier clones
	running(t, b, v.machine("another"))
	release := v.HoldClones()
	v.runs(a)(m)
	v.runs(b)(m)
	if calls := v.Count(); calls["CloneVM_Task"] != 4 {
		t.Fatalf("calls %v, want two clones of one name", calls)
	}
	release()
	tasksDrive(t, keys, []cloud.Machine{m}, v.runs(b))
	running(t, a, m)
	if n := len(slices.DeleteFunc(v.VMs(), func(name string) bool { return name != m.Name })); n != 1 {
		t.Errorf("%d VMs of the machine", n)
	}
	m.Asked = cloud.Existed
	deleted(t, a, m)
	if slices.Contains(v.VMs(), m.Name) {
		t.Error("its VM is left")
	}
}

// TestTasksNameOutOfSight: the vCenter says that the name is taken, but shows nothing. That is told, and tried at a pace.
func TestTasksNameOutOfSight(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	later := stoppedClock(a)
	keys := watched(t, a)
	v.FailClones(&types.DuplicateName{Name: m.Name})
	var err error
	driven(t, keys, m, func() bool {
		_, err = a.Ensure(t.Context(), m)
		return err != nil
	})
	for range 5 {
		_, err = a.Ensure(t.Context(), m)
		cloudtest.WantError(t, err, cloud.Transient, infrav1.NameTakenReason)
	}
	if calls := v.Count(); calls["CloneVM_Task"] != 1 {
		t.Errorf("calls %v, want no second clone at once", calls)
	}
	v.FailClones(nil)
	later(firstPause)
	driven(t, keys, m, func() bool { return v.runs(a)(m) })
}

// TestTasksRefusedForTheName: the vCenter refuses the request itself because the other leader's VM has the name.
func TestTasksRefusedForTheName(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	a := v.account()
	watched(t, a)
	running(t, a, v.machine("other"))
	v.cloneBy(m, m.Name, func(*types.VirtualMachineCloneSpec) {})
	a.ledger.note(m, func(w *work) { w.Object = types.ManagedObjectReference{} })
	fault := soap.WrapVimFault(&types.DuplicateName{Name: m.Name})
	if err := a.notStarted(m, next.Clone, fault); !errors.Is(err, errOvertaken) {
		t.Fatalf("notStarted = %v, want it to be overtaken", err)
	}
	running(t, a, m)
	if calls := v.Calls(); calls["CloneVM_Task"] != 1 {
		t.Errorf("calls %v, want the clone of the other machine alone", calls)
	}
}
