package vsphere

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// lateConnect connects to a vCenter through a door, long after the last process did.
func lateConnect(t *testing.T, credentials map[string][]byte) *account {
	t.Helper()
	c := expect.Got(Provider{}.Connect(credentials))(t)
	a := prompt(c)
	a.opened = time.Time{}
	t.Cleanup(func() { _ = a.Close(context.Background()) })
	return a
}

// TestLateAnswerOfDestroy: the VM is seen to leave before the answer says which task destroys it. The task is not followed,
// because that hangs; so it is asked for, and the machine is let go.
func TestLateAnswerOfDestroy(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	var a *account
	var vm types.ManagedObjectReference
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "Destroy_Task" {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		for !left(a, vm) && r.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		_, _ = w.Write(answer.Body.Bytes())
	})
	t.Cleanup(door.Close)
	m := v.machine("m")
	running(t, v.account(), m)
	m.Asked = cloud.Existed
	vm = v.VM(m.Name).Reference()
	a = lateConnect(t, door.Credentials())
	later := tasksClock(a)
	keys := watched(t, a)
	t.Cleanup(v.HoldMethod("ModifyListView").Release)
	driven(t, keys, m, func() bool {
		expect.Got(a.Delete(t.Context(), m))(t)
		return a.ledger.recall(m).job.Act == next.Destroy
	})
	later(pollAfter)
	if _, err := a.Delete(t.Context(), m); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Delete = %v, want ErrNotFound", err)
	}
}

func left(a *account, vm types.ManagedObjectReference) bool {
	a.inventory.mu.Lock()
	defer a.inventory.mu.Unlock()
	return a.inventory.synced && a.inventory.vms[vm] == nil
}

// TestLateClone: a request whose answer was lost arrives after we asked for the clones under way, when it may still do so. Its
// machine is not let go before the clone has ended, although the VM does not show yet.
func TestLateClone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*account, cloud.Machine){
		"of this process": func(a *account, m cloud.Machine) {
			a.ledger.note(m, func(w *work) { w.AnswerLost, w.Unsure = a.now(), true })
		},
		"of the process before": func(a *account, _ cloud.Machine) { a.opened = a.now() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			later := tasksClock(a)
			lose(a, m)
			if v.isGone(a)(m) {
				t.Fatal("a machine is let go while a request may arrive")
			}
			release := v.BeginClone(vcenter.Username, vcenter.Template)
			later(next.LateRequest)
			if v.isGone(a)(m) {
				t.Error("a machine is let go while its VM may be being made")
			}
			release()
			deleted(t, a, m)
		})
	}
}

// TestLateLookAtTask: the vCenter knows a task no more, because it ended long ago or the vCenter was restarted. That says nothing
// about the VM.
func TestLateLookAtTask(t *testing.T) {
	t.Parallel()
	for _, what := range []next.Act{next.SwitchOff, next.Destroy} {
		t.Run(string(what), func(t *testing.T) {
			t.Parallel()
			v := newStage(t)
			a, m := v.account(), v.machine("m")
			running(t, a, m)
			m.Asked = cloud.Existed
			a.ledger.begin(m, next.Job{
				Act: what, Task: types.ManagedObjectReference{Type: "Task", Value: "task-forgotten"}, VM: v.VM(m.Name).Reference(),
			})
			deleted(t, a, m)
			expect.Same(t, "VMs", 0, len(v.VMs()))
		})
	}
}

// TestAllArrived: what is known of clones will do from the moment on that no request for the VM may arrive any more.
func TestAllArrived(t *testing.T) {
	t.Parallel()
	early, late := noon.Add(-next.LateRequest), noon.Add(1)
	for name, c := range map[string]struct {
		lost, until, want time.Time
	}{
		"nothing was lost":              {},
		"an answer, long ago":           {lost: early, want: noon},
		"an answer, a moment ago":       {lost: early.Add(1)},
		"of a process before":           {until: noon, want: noon},
		"of a process just before":      {until: late},
		"an answer before that process": {lost: early.Add(-1), until: noon, want: noon},
		"an answer after that process":  {lost: early, until: noon.Add(-1), want: noon},
	} {
		s := next.Survey{Now: noon, LateUntil: c.until, Memory: next.Memory{AnswerLost: c.lost}}
		expect.Same(t, name, true, s.AllArrived().Equal(c.want))
	}
}
