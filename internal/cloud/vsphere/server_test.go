package vsphere

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestOtherServer: the address leads to another vCenter once the session is lost. No machine that was at the first one acts
// there, and the account says that it is of no use any more.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	first, second := newStage(t), newStage(t)
	var moved atomic.Bool
	elsewhere := second.Open()
	t.Cleanup(elsewhere.Close)
	door := first.Open(func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		if moved.Load() {
			next = elsewhere.Config.Handler
		}
		next.ServeHTTP(w, r)
	})
	t.Cleanup(door.Close)
	a := lateConnect(t, door.Credentials())
	m, other := first.machine("m"), first.machine("other")
	running(t, a, m)
	m.Asked = cloud.Existed
	server := expect.Got(a.Server(t.Context(), m.Key))(t)
	first.EndSessions()
	moved.Store(true)
	second.Count()
	for range 2 {
		_, err := a.Observe(t.Context(), m)
		cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
		_, err = a.Ensure(t.Context(), other)
		cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
		cloudtest.WantError(t, expect.ErrorOf(a.Delete(t.Context(), m)), cloud.Transient, infrav1.CloudUnreachableReason)
		expect.Says(t, "Delete", expect.ErrorOf(a.Delete(t.Context(), m)), "another vCenter")
	}
	expect.Same(t, "server", server, expect.Got(a.Server(t.Context(), m.Key))(t))
	expect.Same(t, "passwords sent", 0, second.Count()["Login"])
	if err := a.Watch(t.Context(), func(...cloud.Key) {}); !errors.Is(err, cloud.ErrOtherServer) {
		t.Errorf("Watch = %v, want ErrOtherServer", err)
	}
}

// TestInventoryOfAnother: what the watch has seen is not told to a machine of another vCenter.
func TestInventoryOfAnother(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	running(t, a, m)
	watched(t, a)
	m.Server = expect.Got(a.Server(t.Context(), m.Key))(t)
	expect.Same(t, "state", cloud.Running, expect.Got(a.Observe(t.Context(), m))(t).State)
	m.Server = "another"
	_, err := a.Observe(t.Context(), m)
	expect.Says(t, "Observe", err, "another vCenter answers")
}

// TestNoCallElsewhere: an account whose first login finds another vCenter than the machine's makes no call there for the machine.
func TestNoCallElsewhere(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m := v.account(), v.machine("m")
	m.Server = "another"
	v.Count()
	_, err := a.Ensure(t.Context(), m)
	expect.Says(t, "Ensure", err, "another vCenter answers")
	compare(t, "for it", v, map[string]int{"RetrieveServiceContent": 1, "Login": 1})
}

// TestServerWakes: a machine that has no VM, and came no further than the question which server it is at, is woken when the
// vCenter is back.
func TestServerWakes(t *testing.T) {
	t.Parallel()
	v := newAway(t)
	v.shut.Store(true)
	a := lateConnect(t, v.door.Credentials())
	a.session.ProbeEvery(10 * time.Millisecond)
	w := watchOn(t, a)
	m := v.machine("m")
	wait.Until(t, "the account to be broken", func() (any, bool) { broken := a.Health().Broken; return broken, broken })
	_, err := a.Server(t.Context(), m.Key)
	cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	looks := w.times(m.Key)
	v.shut.Store(false)
	wait.Until(t, "a key after the outage", func() (any, bool) {
		n := w.times(m.Key)
		if n == looks {
			return n, false
		}
		looks = n
		_, err := a.Server(t.Context(), m.Key)
		return err, err == nil
	})
}
