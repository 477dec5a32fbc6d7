package vsphere

import (
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestErasing pins what it costs to take user data away: two calls in a machine's life, also for processes that come later.
func TestErasing(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	list := holdLists(a)
	keys := watched(t, a)
	driven(t, keys, m, func() bool { return expect.Got(a.Ensure(t.Context(), m))(t).State == cloud.Running })
	awaitGuests(t, a, m)
	v.Count()
	driven(t, keys, m, func() bool { return !erasedBy(t, a, m).UserData })
	compare(t, "erasing", v, map[string]int{"ReconfigVM_Task": 1})
	for range 20 {
		erasedBy(t, a, m)
		expect.Got(a.Observe(t.Context(), m))(t)
	}
	compare(t, "while nothing changes", v, map[string]int{})

	later := v.account()
	holdLists(later)
	watched(t, later)
	v.Count()
	erasedBy(t, later, m)
	if vm := expect.Got(later.Observe(t.Context(), m))(t); vm.UserData {
		t.Errorf("a new process observes %+v", vm)
	}
	compare(t, "of a new process", v, map[string]int{})

	left := v.Extra(m.Name)
	for _, key := range []string{seen.UserDataKey, seen.UserDataEncodingKey} {
		if value, found := left[key]; found {
			t.Errorf("the VM has %s = %q", key, value)
		}
	}
	if left["guestinfo.metadata"] == "" || left[seen.MarkOwner] != "default/m" {
		t.Errorf("the VM lost metadata or marks: %v", left)
	}
	list()
	deleted(t, a, m)
}

// erasedBy calls Ensure as for a settled machine. Meanwhile its VM runs.
func erasedBy(t *testing.T, a *account, m cloud.Machine) cloud.VM {
	t.Helper()
	m.Settled, m.UserData = true, nil
	vm := expect.Got(a.Ensure(t.Context(), m))(t)
	if vm.State != cloud.Running || len(vm.Addresses) == 0 {
		t.Errorf("Ensure = %+v while user data are taken away", vm)
	}
	return vm
}

// TestErasingRefused: an account that lost a privilege is told of it and does not ask without a pause, and its node is as before.
func TestErasingRefused(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	later := stoppedClock(a)
	const privilege = "VirtualMachine.Config.AdvancedConfig"
	v.Deny("ReconfigVM_Task", privilege)
	m.Settled = true
	v.Count()
	for range 60 {
		later(time.Minute)
		for range 10 {
			_, err := a.Ensure(t.Context(), m)
			cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
			if !strings.Contains(err.Error(), privilege+" on VirtualMachine ") {
				t.Fatalf("error is %v, want the name of the privilege", err)
			}
			if vm, err := a.Observe(t.Context(), m); err != nil || vm.State != cloud.Running || !vm.UserData {
				t.Fatalf("Observe = %+v, %v", vm, err)
			}
		}
	}
	if n := v.Count()["ReconfigVM_Task"]; n < 3 || n > 16 {
		t.Errorf("%d tries in an hour, want some, and few", n)
	}
	v.Deny("ReconfigVM_Task", "")
	later(lastPause)
	if _, err := a.Ensure(t.Context(), m); err != nil {
		t.Errorf("Ensure = %v with the privilege", err)
	}
	deleted(t, a, m)
}

// TestErasingUnderWay: while the vCenter edits the VM, nothing else is done with it, and looking costs nothing.
func TestErasingUnderWay(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	list := holdLists(a)
	watched(t, a)
	running(t, a, m)
	release := v.HoldEdits(nil)
	v.Count()
	for range 5 {
		if vm := erasedBy(t, a, m); !vm.UserData {
			t.Errorf("Ensure = %+v while the user data are being taken away", vm)
		}
		if vm := expect.Got(a.Observe(t.Context(), m))(t); vm.State != cloud.Running || !vm.UserData {
			t.Errorf("Observe = %+v while the user data are being taken away", vm)
		}
		if _, err := a.Delete(t.Context(), m); err != nil {
			t.Errorf("Delete = %v while another task is under way", err)
		}
	}
	compare(t, "while it is edited", v, map[string]int{"ReconfigVM_Task": 1})
	list()
	release()
	deleted(t, a, m)
}

// TestErasingFails: the task of an edit fails. The node is as before, and the next try waits.
func TestErasingFails(t *testing.T) {
	t.Parallel()
	for _, watching := range []bool{false, true} {
		v := newStage(t)
		a, m := v.account(), v.machine("m")
		later := stoppedClock(a)
		if watching {
			watched(t, a)
		}
		running(t, a, m)
		m.Settled = true
		release := v.HoldEdits(&types.TaskInProgress{})
		expect.Got(a.Ensure(t.Context(), m))(t)
		release()
		var err error
		wait.Until(t, "Ensure to tell why", func() (seen any, good bool) {
			seen, err = a.Ensure(t.Context(), m)
			return seen, err != nil
		})
		cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
		for range 5 {
			if vm := expect.Got(a.Observe(t.Context(), m))(t); vm.State != cloud.Running || !vm.UserData {
				t.Errorf("Observe = %+v after a failure", vm)
			}
			_, err = a.Ensure(t.Context(), m)
			cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
		}
		if n := v.Count()["ReconfigVM_Task"]; n != 1 {
			t.Errorf("%d tries at once, want 1", n)
		}
		later(firstPause)
		wait.Until(t, "the user data to be taken away", func() (any, bool) {
			vm := erasedBy(t, a, m)
			return vm, !vm.UserData
		})
		deleted(t, a, m)
	}
}

// TestFormerLife: a clone begins with its template's advanced configuration. A template that was a node had a report, marks and
// user data, and what a guest had written beside them.
func TestFormerLife(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	v.FormerLife(map[string]string{
		seen.ReportKey: `{"version":1,"state":"Succeeded"}`, seen.MarkOwner: "default/former", seen.MarkProviderID: "vsphere://former",
		seen.MarkCluster:  "former/1-2-3",
		seen.MarkUserData: seen.Taken, seen.UserDataKey: "former", seen.UserDataEncodingKey: "base64", "guestinfo.other": "is cloned",
	})
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	if vm := expect.Got(a.Observe(t.Context(), m))(t); vm.Report != "" || !vm.UserData {
		t.Errorf("Observe = %+v, want no report, and the user data of this life", vm)
	}
	if mark, has := v.Extra(m.Name)[seen.MarkCluster]; has {
		t.Errorf("the clone has the mark %q of a Cluster of its former life", mark)
	}
	if has := v.Extra(m.Name); has["guestinfo.other"] != "is cloned" {
		t.Errorf("the clone has %v: what the template had is not cloned, so this test shows nothing", has)
	}
	if got := string(v.Guestinfo(m.Name, "userdata")); got != string(machines.Hello) {
		t.Errorf("the guest finds %q", got)
	}
}
