package azure

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/network"
)

// watched is an account whose watch looks when the test says so.
func (s *stage) watched() *account {
	a := s.account()
	a.watching.Store(true)
	return a
}

// live lets time pass in steps, while the watch of the account looks.
func (s *stage) live(a *account, d time.Duration) {
	for range d / (5 * time.Second) {
		s.Advance(5 * time.Second)
		a.poll(s.t.Context())
	}
}

// run makes the VM of a machine and waits until it runs.
func (s *stage) run(a *account, m cloud.Machine) {
	s.t.Helper()
	for range 100 {
		vm, err := a.Ensure(s.t.Context(), m)
		if err != nil && !cloud.IsLater(err) {
			s.t.Fatal(err)
		}
		if vm.State == cloud.Running && len(vm.Addresses) == 3 {
			return
		}
		s.live(a, 5*time.Second)
	}
	s.t.Fatal("the VM does not run")
}

// gone calls Delete every 5 seconds until nothing is left.
func (s *stage) gone(a *account, m cloud.Machine) cloud.VM {
	s.t.Helper()
	for range 400 {
		if vm, err := a.Delete(s.t.Context(), m); errors.Is(err, cloud.ErrNotFound) {
			return vm
		} else if err != nil {
			s.t.Fatal(err)
		}
		s.live(a, 5*time.Second)
	}
	s.t.Fatal("the VM is not gone")
	return cloud.VM{}
}

func wantCalls(t *testing.T, got, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestCallsOfAMachine(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.run(a, m)
	wantCalls(t, s.OfVM(m.Name), map[string]int{"PUT vm": 1})
	s.live(a, 10*time.Minute)
	if _, err := a.Observe(t.Context(), m); err != nil {
		t.Error(err)
	}
	wantCalls(t, s.OfVM(m.Name), map[string]int{"PUT vm": 1})
	s.Forget()
	s.gone(a, m)
	wantCalls(t, s.OfVM(m.Name), map[string]int{"DELETE vm": 1, "GET vm": 2})
	for class, n := range s.ByClass() {
		if !strings.HasSuffix(class, " vm") && !strings.HasSuffix(class, " list") { // of all machines
			t.Errorf("a deletion takes %d calls %s, too", n, class)
		}
	}
	for _, kind := range []string{compute.VM, compute.Disk, network.NIC} {
		if left := s.Names(armsim.Group, kind); len(left) > 0 {
			t.Errorf("%s are left: %q", kind, left)
		}
	}
}

// TestFirstVM: the first VM of an account is asked for just after the first lists. That it runs is seen at the pace of a busy
// account, and not a minute later; and that costs no more calls.
func TestFirstVM(t *testing.T) {
	s := newStage(t)
	a, m, began := s.watched(), s.machine("m"), s.Now()
	for vm := (cloud.VM{}); vm.State != cloud.Running; vm, _ = a.Ensure(t.Context(), m) {
		s.Advance(time.Second)
		a.poll(t.Context())
		// In 20 s Azure starts the VM, and lists are up to 16.5 s apart: now and then the third is just too early.
		if s.Now().Sub(began) > 50*time.Second {
			t.Fatalf("after 50 s it is not known that the VM runs: %v", s.ByClass())
		}
	}
	sum := 0
	for _, n := range s.ByClass() {
		sum += n
	}
	expect.Same(t, fmt.Sprintf("at most 13 calls: %v", s.ByClass()), true, sum <= 13)
}

func TestCallsOfAFailure(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.Compute.Faults.Failing = "capwin1|uid|join|kubeadm|JoinFailed|1|a | b" })
	a, m := s.watched(), s.machine("m")
	for range 200 {
		_, _ = a.Ensure(t.Context(), m)
		s.live(a, 5*time.Second)
	}
	vm, err := a.Observe(t.Context(), m)
	if err != nil || vm.State != cloud.Running || !strings.Contains(vm.Detail, "BootstrapSucceeded") {
		t.Errorf("Observe = %+v, %v, want a VM that runs, and what is wrong with it", vm, err)
	}
	expect.Same(t, "what the guest told", "capwin1|uid|join|kubeadm|JoinFailed|1|a | b", vm.Report)
	wantCalls(t, s.OfVM(m.Name), map[string]int{"PUT vm": 1, "GET vm view": 1})
}

func TestCallsWhileIdle(t *testing.T) {
	s := newStage(t)
	a := s.watched()
	for _, name := range []string{"a", "b", "c"} {
		s.run(a, s.machine(name))
	}
	s.live(a, 90*time.Minute) // until no request of ours may still bring a VM
	s.Forget()
	const minutes = 60
	s.live(a, minutes*time.Minute)
	calls := 0
	for _, n := range s.ByClass() {
		calls += n
	}
	t.Logf("%v in %d minutes", s.ByClass(), minutes)
	if calls > 2*minutes {
		t.Errorf("%d calls in %d minutes, want at most 2 a minute: %v", calls, minutes, s.ByClass())
	}
	for class := range s.ByClass() {
		if class == "GET vm" || class[:3] != "GET" {
			t.Errorf("an idle account asks %s", class)
		}
	}
}

func TestCallsInFlight(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) { in.Network.Address = 1000 * time.Hour }) // so that all lists are wanted
	a := s.watched()
	for _, name := range []string{"a", "b", "c"} {
		_, _ = a.Ensure(t.Context(), s.machine(name))
	}
	s.live(a, time.Minute)
	s.Forget()
	s.live(a, 10*time.Minute)
	calls := 0
	for _, n := range s.ByClass() {
		calls += n
	}
	t.Logf("%v in 10 minutes", s.ByClass())
	if calls > 140 {
		t.Errorf("%d calls in 10 minutes, want at most 14 a minute: %v", calls, s.ByClass())
	}
}

func TestNoCapacityClosesTheSizeForAll(t *testing.T) {
	s := newStage(t)
	s.Change(func(in *armsim.Inside) {
		in.Compute.Faults.Full = func(string, string) string { return "AllocationFailed" }
	})
	a, first, second := s.watched(), s.machine("first"), s.machine("second")
	for range 60 {
		_, _ = a.Ensure(t.Context(), first)
		s.live(a, 5*time.Second)
	}
	_, err := a.Ensure(t.Context(), second)
	if e, ok := errors.AsType[*cloud.Error](err); !ok || e.Kind != cloud.Exhausted {
		t.Errorf("Ensure = %v, want that there is no room", err)
	}
	if n := s.ByClass()["PUT vm"]; n != 1 {
		t.Errorf("%d requests, want that of the first machine", n)
	}
	s.Change(func(in *armsim.Inside) { in.Compute.Faults.Full = nil })
	s.live(a, time.Hour)
	s.run(a, first)
	s.run(a, second)
}

// TestGoneStaysGone: who deletes a machine may have to come back when nothing is left of its VM. That costs no call and no time,
// unless a VM is there again.
func TestGoneStaysGone(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.run(a, m)
	s.gone(a, m)
	s.Forget()
	gone := m
	gone.Asked = cloud.Existed // as its status says since it ran
	if _, err := a.Delete(t.Context(), gone); !errors.Is(err, cloud.ErrNotFound) || len(s.Calls()) > 0 {
		t.Errorf("Delete = %v after %d calls, want that nothing is left after none", err, len(s.Calls()))
	}
	s.run(a, m)
	if _, err := a.Delete(t.Context(), m); err != nil {
		t.Errorf("Delete = %v of a VM that is there again", err)
	}
	s.gone(a, m)
}

// TestSweep has a machine go before it is known that nothing is left, as when a user takes its finalizer.
func TestSweep(t *testing.T) {
	s := newStage(t)
	a, m := s.watched(), s.machine("m")
	s.run(a, m)
	s.Change(func(in *armsim.Inside) { in.Network.Leave = true })
	expect.Got(a.Delete(t.Context(), m))(t)
	s.live(a, 5*time.Minute)
	if left := s.Names(armsim.Group, network.NIC); len(left) != 1 {
		t.Fatalf("%q are left, want the adapter", left)
	}
	s.Change(func(in *armsim.Inside) { in.Network.Leave = false })
	s.live(a, 40*time.Minute)
	if left := s.Names(armsim.Group, network.NIC); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

func TestAGroupThatIsGoneBlocksNoDeletion(t *testing.T) {
	s := newStage(t)
	a, m, never := s.watched(), s.machine("m"), s.machine("never")
	s.run(a, m)
	s.DeleteGroup(armsim.Group)
	if _, err := a.Delete(t.Context(), never); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Delete = %v, want that there is nothing", err)
	}
	s.gone(a, m)
}

// TestSilenceHoldsForAll: what Azure says to one machine's call holds for those of the others.
func TestSilenceHoldsForAll(t *testing.T) {
	s := newStage(t)
	c := s.account().calls
	s.storm(storms["429"])
	for _, name := range []string{"a", "b"} {
		if _, a := c.GetVM(t.Context(), homeOf(s.machine(name))); a.Verdict == nil {
			t.Errorf("Azure answers for %s", name)
		}
	}
	expect.Same(t, "calls that were made", 1, s.ByClass()["GET vm"])
}
