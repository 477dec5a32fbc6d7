package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// running makes the machine's VM.
func running(t *testing.T, a *account, m cloud.Machine) (vm cloud.VM) {
	t.Helper()
	wait.Until(t, "the VM to run", func() (any, bool) {
		vm = expect.Got(a.Ensure(t.Context(), m))(t)
		return vm, vm.State == cloud.Running
	})
	return vm
}

func deleted(t *testing.T, a *account, m cloud.Machine) {
	t.Helper()
	wait.Until(t, "the VM to go", func() (any, bool) {
		_, err := a.Delete(t.Context(), m)
		if err != nil && !errors.Is(err, cloud.ErrNotFound) {
			t.Fatal(err)
		}
		return err, err != nil
	})
}

func wantAbsent(t *testing.T, a *account, m cloud.Machine) {
	t.Helper()
	if vm, err := a.Observe(t.Context(), m); err != cloud.ErrNotFound { //nolint:errorlint // because it is to be this one
		t.Errorf("Observe = %+v, %v, want ErrNotFound", vm, err)
	}
}

// cloneBy makes a VM as a controller would have, or as somebody else does.
func (v *stage) cloneBy(m cloud.Machine, name string, change func(*types.VirtualMachineCloneSpec)) {
	v.t.Helper()
	a := v.account()
	at, err := a.places.Find(v.t.Context(), *m.Spec.VSphere)
	v.Must(err)
	spec, err := request.CloneSpec(m, machines.Hello, at)
	v.Must(err)
	change(&spec)
	v.Clone(name, spec)
}

func TestFailedCloneIsToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	for _, watching := range []bool{false, true} {
		v := newStage(t)
		a, m := v.account(), v.machine("m")
		later := stoppedClock(a)
		if watching {
			watched(t, a)
		}
		v.FailClones(&types.InsufficientMemoryResourcesFault{})
		var err error
		wait.Until(t, "Ensure to tell why", func() (seen any, good bool) {
			seen, err = a.Ensure(t.Context(), m)
			return seen, err != nil
		})
		cloudtest.WantError(t, err, cloud.Exhausted, infrav1.CapacityExhaustedReason)
		v.FailClones(nil)
		_, err = a.Ensure(t.Context(), m)
		cloudtest.WantError(t, err, cloud.Exhausted, infrav1.CapacityExhaustedReason)
		if calls := v.Count(); calls["CloneVM_Task"] != 1 {
			t.Errorf("calls %v, want no second clone at once", calls)
		}
		later(firstPause)
		running(t, a, m)
		deleted(t, a, m)
	}
}

// TestWordsUntilItRuns: the words of the first failure stay while only a number in them changes from try to try. They end with a
// VM that runs: what fails later has words of its own.
func TestWordsUntilItRuns(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	later := stoppedClock(a)
	fails := func(host int, want string) {
		t.Helper()
		later(time.Hour)
		v.FailClones(&types.GenericVmConfigFault{Reason: fmt.Sprintf("host-%d is busy", host)})
		var err error
		wait.Until(t, "Ensure to tell why", func() (seen any, good bool) {
			seen, err = a.Ensure(t.Context(), m)
			return seen, err != nil
		})
		expect.Says(t, fmt.Sprintf("failure on host %d", host), err, want)
	}
	fails(1, "host-1 is busy")
	fails(2, "host-1 is busy")
	v.FailClones(nil)
	later(time.Hour)
	running(t, a, m)
	v.Remove(m.Name)
	fails(3, "host-3 is busy")
}

func TestFailedCloneCanBeDeleted(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	v.FailClones(&types.NoPermission{})
	_, err := a.Ensure(t.Context(), m)
	v.Must(err)
	deleted(t, a, m)
}

func TestSwitchedOnWhenThatWasLost(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	later := stoppedClock(a)
	v.cloneBy(m, m.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	vm, err := a.Observe(t.Context(), m)
	if err != nil || vm.State != cloud.Creating {
		t.Errorf("Observe = %+v, %v, want %q", vm, err, cloud.Creating)
	}
	later(next.PushTime)
	running(t, a, m)
	if calls := v.Count(); calls["PowerOnVM_Task"] != 1 || calls["CloneVM_Task"] != 0 {
		t.Errorf("calls %v, want one PowerOnVM_Task and no clone", calls)
	}
}

func TestCloneOfOursIsNotOurs(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	watched(t, a)
	running(t, a, m)
	v.cloneBy(m, "copy-of-it", func(s *types.VirtualMachineCloneSpec) { s.Config.InstanceUuid, s.Config.Uuid = "", "" })
	before := v.Inspect("copy-of-it")
	deleted(t, a, m)
	if diff := cmp.Diff([]string{"copy-of-it"}, v.VMs()); diff != "" {
		t.Errorf("VMs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, v.Inspect("copy-of-it")); diff != "" {
		t.Errorf("the clone was changed (-before +after):\n%s", diff)
	}
}

func TestUnreachableVMIsNotGone(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	ref := v.VM(m.Name).Reference()
	state := func(s types.VirtualMachineConnectionState) {
		v.Update(ref, types.PropertyChange{Name: "runtime.connectionState", Val: s})
	}
	before := v.Count()
	for _, s := range []types.VirtualMachineConnectionState{"disconnected", "inaccessible", "orphaned", "invalid"} {
		state(s)
		cloudtest.WantError(t, expect.ErrorOf(a.Delete(t.Context(), m)), cloud.Transient, infrav1.CloudUnreachableReason)
	}
	if calls := v.Count(); calls["PowerOffVM_Task"]+calls["Destroy_Task"] != 0 {
		t.Errorf("calls %v, want nothing done (before: %v)", calls, before)
	}
	state("connected")
	deleted(t, a, m)
}

// TestUnreadableVMIsNotGone: when its storage is away, vCenter knows neither the configuration nor the id of a VM.
func TestUnreadableVMIsNotGone(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	ref := v.VM(m.Name).Reference()
	v.Update(ref, types.PropertyChange{Name: "config.instanceUuid", Val: ""})
	for name, a := range map[string]*account{"seen before": a, "not seen before": v.account()} {
		if _, err := a.Delete(t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("%s: the VM is said to be gone", name)
		}
		if vm, err := a.Ensure(t.Context(), m); vm.State == cloud.Running || errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("%s: Ensure = %+v, %v", name, vm, err)
		}
	}
	if calls := v.Count(); calls["CloneVM_Task"] != 1 || calls["Destroy_Task"] != 0 {
		t.Errorf("calls %v, want the one clone and no more", calls)
	}
	v.Update(ref, types.PropertyChange{Name: "config.instanceUuid", Val: seen.IDOf(m)})
	deleted(t, a, m)
}

// TestLostRequest: a request whose answer was lost may arrive later than we ask.
func TestLostRequest(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	wantAbsent(t, a, m)
	later := stoppedClock(a)
	_, err := a.places.Find(t.Context(), *m.Spec.VSphere)
	v.Must(err)
	v.DropClones()
	_, err = a.Ensure(t.Context(), m)
	cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	later(next.LateRequest - time.Second)
	v.Must(expect.ErrorOf(a.Delete(t.Context(), m)))
	later(time.Second)
	if _, err := a.Delete(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Delete = %v, want ErrNotFound", err)
	}
}

func TestTemplateReplaced(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a := v.account()
	running(t, a, v.machine("first"))
	old := v.Template()
	for _, r := range []func() (*object.Task, error){
		func() (*object.Task, error) { return old.Rename(t.Context(), "old") },
		func() (*object.Task, error) { return v.VM(v.machine("first").Name).PowerOff(t.Context()) },
		func() (*object.Task, error) {
			return v.VM(v.machine("first").Name).Rename(t.Context(), vcenter.Template)
		},
		func() (*object.Task, error) { return old.Destroy(t.Context()) },
	} {
		task, err := r()
		v.Must(err)
		v.Must(task.Wait(t.Context()))
	}
	_, err := methods.MarkAsTemplate(t.Context(), v.Client, &types.MarkAsTemplate{This: v.Template().Reference()})
	v.Must(err)
	_, err = a.Ensure(t.Context(), v.machine("second"))
	cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	running(t, a, v.machine("second"))
}

// TestHiddenPlaceIsNotGone: an account that lost its right to see a folder finds nothing there. A machine with a typo for which
// nobody asked for a VM need not stay. Nobody is told to take the finalizer off a machine that is to live.
func TestHiddenPlaceIsNotGone(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	m.Spec.VSphere.Folder = "no-such-folder"
	for _, m.Asked = range []cloud.Asked{cloud.Existed, cloud.MaybeAsked} {
		err := expect.ErrorOf(v.account().Delete(t.Context(), m))
		cloudtest.WantError(t, err, cloud.Denied, infrav1.PlacementNotFoundReason)
		expect.Says(t, "Delete", err, "remove the finalizer "+infrav1.MachineFinalizer)
		living := expect.ErrorOf(v.account().Ensure(t.Context(), m))
		expect.Says(t, "Ensure", living, "no-such-folder")
		expect.Same(t, "Ensure speaks of the finalizer", false, strings.Contains(living.Error(), infrav1.MachineFinalizer))
	}
	m.Asked = cloud.NeverAsked
	if _, err := v.account().Delete(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Delete = %v, want ErrNotFound", err)
	}
}
