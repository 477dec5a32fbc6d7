package vsphere

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// recorded is what is to be kept of a machine's VM.
func (v *stage) recorded(name string) *cloud.Record {
	v.t.Helper()
	return &cloud.Record{VSphere: infrav1.VSphereRecord{
		Server:    v.Client.ServiceContent.About.InstanceUuid,
		Reference: v.VM(name).Reference().Value, Folder: v.FolderOf(name).Reference().Value,
	}}
}

// TestRecordIsKept: the references of a VM are told from the first sight with all marks on, and follow it into another folder.
func TestRecordIsKept(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	runs := running(t, a, m)
	expect.Same(t, "of a VM that runs", v.recorded(m.Name), runs.Record)
	limitedAway(v, m)
	moved := v.recorded(m.Name)
	m.Asked = cloud.Existed
	expect.Same(t, "of one that was moved", moved, expect.Got(v.account().Observe(t.Context(), m))(t).Record)
	expect.Same(t, "while it goes", moved, expect.Got(v.account().Delete(t.Context(), m))(t).Record)
}

// TestRecordNeedsAllMarks: nothing is told or kept of a VM without a mark, and it is not deleted: the error says how to end that.
func TestRecordNeedsAllMarks(t *testing.T) {
	t.Parallel()
	for mark, c := range map[string]struct {
		change func(*stage, string)
		says   string
	}{
		"owner": {func(v *stage, name string) { v.SetExtra(name, seen.MarkOwner, "") }, "does not have all of its marks"},
		"another's": {
			func(v *stage, name string) { v.SetExtra(name, seen.MarkOwner, "secret/other") }, "has the marks of another machine",
		},
		"providerID": {func(v *stage, name string) { v.SetExtra(name, seen.MarkProviderID, "") }, "does not have all of its marks"},
		"id":         {func(v *stage, name string) { v.identify(name, "another") }, "has the instance UUID another and not "},
	} {
		t.Run(mark, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			m := v.machine("m")
			running(t, v.account(), m)
			c.change(v, m.Name)
			a := v.account()
			for _, m.Asked = range []cloud.Asked{cloud.MaybeAsked, cloud.Existed} {
				v.wantHeld(a, m, c.says)
			}
			expect.Same(t, "clones", 1, v.Calls()["CloneVM_Task"])
			expect.Same(t, "VMs", []string{m.Name}, v.VMs())
		})
	}
}

// identify gives a VM another instance UUID, as a restore from a backup does.
func (v *stage) identify(name, id string) {
	v.t.Helper()
	v.Update(v.VM(name).Reference(), types.PropertyChange{Name: "config.instanceUuid", Val: id})
}

// wantHeld wants all methods to say that nothing proves whose a VM is, and a deletion to say how to end that, also.
func (v *stage) wantHeld(a *account, m cloud.Machine, says string) {
	v.t.Helper()
	for what, call := range map[string]func(context.Context, cloud.Machine) (cloud.VM, error){
		"Observe": a.Observe, "Ensure": a.Ensure, "Delete": a.Delete,
	} {
		vm, err := call(v.t.Context(), m)
		cloudtest.WantError(v.t, err, cloud.Denied, infrav1.VMNotProvedReason)
		expect.Says(v.t, what, err, says)
		expect.Same(v.t, what+" shows", cloud.VM{}, vm)
		if what == "Delete" {
			expect.Says(v.t, what, err, "remove the finalizer "+infrav1.MachineFinalizer)
		}
		if strings.Contains(fmt.Sprint(err), "secret/") {
			v.t.Errorf("%s names another namespace: %v", what, err)
		}
	}
}

// TestOursByReference: a VM with the reference and the id of the machine's is looked after, whatever its marks say, and deleted.
func TestOursByReference(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	m.Record = *running(t, v.account(), m).Record
	v.SetExtra(m.Name, seen.MarkOwner, "default/other")
	v.SetExtra(m.Name, seen.MarkProviderID, "")
	a := v.account()
	watched(t, a)
	m.Asked = cloud.Existed
	vm := expect.Got(a.Observe(t.Context(), m))(t)
	expect.Same(t, "State", cloud.Running, vm.State)
	expect.Says(t, "Detail", errors.New(vm.Detail), "marks are missing on the VM")
	expect.Same(t, "Record", m.Record, *vm.Record)
	deleted(t, a, m)
	expect.Same(t, "VMs", 0, len(v.VMs()))
}

// TestForeignReference: an object that has the kept reference and another id is neither touched nor taken for gone.
func TestForeignReference(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	v.Occupy("foreign")
	m.Record, m.Asked = *v.recorded("foreign"), cloud.Existed
	v.wantHeld(v.account(), m, "look for a VM with the instance UUID "+seen.IDOf(m))
	running(t, v.account(), v.machine("m"))
	a := v.account()
	expect.Same(t, "Record, as the VM has all marks", v.recorded(m.Name), expect.Got(a.Observe(t.Context(), m))(t).Record)
	deleted(t, a, m)
	expect.Same(t, "VMs", []string{"foreign"}, v.VMs())
}

// TestRegisteredAnew: a VM that was taken out of the inventory and put back has another reference. It is found by its id, between
// two looks and by the next process.
func TestRegisteredAnew(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*stage, *account) *account{
		"between two looks":     func(_ *stage, a *account) *account { return a },
		"between two processes": func(v *stage, _ *account) *account { return v.account() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			m.Record, m.Asked = *running(t, a, m).Record, cloud.Existed
			folder := v.FolderOf(m.Name).Reference()
			v.Unregister(m.Name)(folder)
			a = next(v, a)
			vm := expect.Got(a.Observe(t.Context(), m))(t)
			expect.Same(t, "it is kept anew", v.recorded(m.Name), vm.Record)
			expect.Same(t, "the reference is another", true, vm.Record.VSphere != m.Record.VSphere)
			deleted(t, a, m)
			expect.Same(t, "VMs", 0, len(v.VMs()))
		})
	}
}

// TestNotDestroyedButHidden: while the VM is being destroyed, the account loses its right to see it, and the task fails. The
// inventory does not have it any more, and it is there.
func TestNotDestroyedButHidden(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	watched(t, a)
	m.Asked = cloud.Existed
	later := stoppedClock(a)
	vm := v.VM(m.Name).Reference()
	failed := v.task()
	a.ledger.begin(m, next.Job{Act: next.Destroy, Task: failed, VM: vm, Begun: a.now(), State: types.TaskInfoStateRunning})
	v.Permit(vcenter.Permission{On: vm, NoAccess: true}, vcenter.Permission{On: v.Client.ServiceContent.RootFolder, Propagate: true})
	for range 3 {
		_, err := a.Delete(t.Context(), m)
		expect.Same(t, "it is let go", false, errors.Is(err, cloud.ErrNotFound))
		later(time.Second)
	}
}

// TestGoneInTheSamePass: a VM is gone if its reference and its folder say so now. What could be seen a moment ago proves nothing.
func TestGoneInTheSamePass(t *testing.T) {
	t.Parallel()
	v := newPrivileged(t)
	given := permissionsOfPage(t, v, narrowLayout)
	p := &proof{stage: v, given: given}
	m := v.machine("m")
	record := *running(t, v.account(), m).Record
	m.Asked = cloud.Existed
	v.Remove(m.Name)
	a := v.account()
	watched(t, a)
	p.permit(given)
	for _, m.Record = range []cloud.Record{record, {}} {
		_, err := a.Observe(t.Context(), m)
		expect.Same(t, "it is gone", true, errors.Is(err, cloud.ErrNotFound))
		back := p.without("capwin-machines")
		err = expect.ErrorOf(a.Delete(t.Context(), m))
		cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
		expect.Says(t, "Delete", err, "remove the finalizer "+infrav1.MachineFinalizer)
		back(p)
		a = v.account()
	}
}
