package azure

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
)

// TestStepsEnd has each look at the clock be a minute later, so that another look at the VM is always due: the caller is let go
// after a list and seven looks, because other machines need the worker.
func TestStepsEnd(t *testing.T) {
	s := newStage(t)
	clock := s.Now()
	a := expect.Got(open(expect.Got(s.login(s.credentials()))(t), func() time.Time {
		clock = clock.Add(time.Minute)
		return clock
	}))(t)
	defer a.calls.Close()
	a.watching.Store(true)
	m := s.machine("m")
	m.Asked = cloud.Existed
	vm := expect.Got(a.Ensure(t.Context(), m))(t)
	expect.Same(t, "told", "waiting for Azure", vm.Detail)
	wantCalls(t, s.OfVM(m.Name), map[string]int{"GET vm": 7})
}

// TestSeenIsRemembered has a process see a VM that it did not make. When the lists lack it later, the VM is looked for before
// another one is asked for.
func TestSeenIsRemembered(t *testing.T) {
	s := newStage(t)
	m := s.machine("m")
	s.run(s.watched(), m)
	a := s.watched()
	expect.Got(a.Observe(t.Context(), m))(t)
	s.Vanish(armsim.VMID(m.Name))
	s.live(a, 10*time.Minute)
	expect.Same(t, "a list shows the VM", false, a.lists.HasVM(m))
	s.Forget()
	expect.Got(a.Ensure(t.Context(), m))(t)
	wantCalls(t, s.OfVM(m.Name), map[string]int{"GET vm": 1})
}

// TestRefusedRemovalIsTold has Azure refuse to remove an adapter that a deletion left: who deletes the machine hears why.
func TestRefusedRemovalIsTold(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.run(a, m)
	s.Change(func(in *armsim.Inside) {
		in.Network.Leave = true
		in.Faults.Refuse = func(call armsim.Call) *armsim.Refusal {
			if call.Method != http.MethodDelete || call.Class != "nic" {
				return nil
			}
			return &armsim.Refusal{Status: http.StatusConflict, Code: "ScopeLocked", Message: "The scope is locked."}
		}
	})
	expect.Got(a.Delete(t.Context(), m))(t)
	s.live(a, 2*time.Minute)
	s.sweepAt(a, time.Time{})
	for range 60 {
		s.live(a, 30*time.Second)
		if _, err := a.Delete(t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
			t.Fatal("nothing is left")
		} else if err != nil && !cloud.IsLater(err) {
			return
		}
	}
	t.Error("nobody is told")
}
