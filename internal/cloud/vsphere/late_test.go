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
	c := expect.Got(Provider{}.Connect("", credentials))(t)
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
	m := v.machine("m")
	door := v.Open(func(method string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if method != "Destroy_Task" {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		for !a.inventory.Lacks(m) && r.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		_, _ = w.Write(answer.Body.Bytes())
	})
	t.Cleanup(door.Close)
	running(t, v.account(), m)
	m.Asked = cloud.Existed
	a = lateConnect(t, door.Credentials())
	later := stoppedClock(a)
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
			later := stoppedClock(a)
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
