package azure

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/armsim"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
)

// storms are what Azure answers to every call, in its own words.
var storms = map[string]armsim.Refusal{
	"404 of things":        {Status: http.StatusNotFound, Code: "ResourceNotFound", Message: "The Resource was not found."},
	"404 of groups":        {Status: http.StatusNotFound, Code: "ResourceGroupNotFound", Message: "No such group."},
	"404 of subscriptions": {Status: http.StatusNotFound, Code: "SubscriptionNotFound", Message: "No such subscription."},
	"401":                  {Status: http.StatusUnauthorized, Code: "InvalidAuthenticationToken", Message: "An invalid token."},
	"429": {
		Status: http.StatusTooManyRequests, Code: "TooManyRequests", Message: "Too many.", RetryAfter: 30 * time.Second,
	},
	"503": {Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable", Message: "Try later."},
	// Calls are carried out, and their answers do not come.
	"silence": {},
}

func (s *stage) storm(with armsim.Refusal) {
	s.Change(func(in *armsim.Inside) {
		if with.Status == 0 {
			in.Faults.Lose = func(armsim.Call) bool { return true }
			return
		}
		in.Faults.Refuse = func(armsim.Call) *armsim.Refusal { return &with }
	})
}

// fleet is a machine in each stage of its life: it runs, its VM is being made, nothing was asked for yet, its VM is being
// removed, and it is deleted in the storm.
type fleet struct {
	*stage
	account                             *account
	running, making, fresh, going, late cloud.Machine
	before                              cloud.VM
	gone                                map[string]bool // deleted machines of which nothing is left
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	s := newStage(t)
	f := &fleet{
		stage: s, account: s.watched(), gone: map[string]bool{},
		running: s.machine("running"), going: s.machine("going"), late: s.machine("late"),
	}
	for _, m := range []cloud.Machine{f.running, f.going, f.late} {
		s.run(f.account, m)
	}
	s.live(f.account, 10*time.Minute)
	var err error
	if f.before, err = f.account.Observe(t.Context(), f.running); err != nil {
		t.Fatal(err)
	}
	f.making, f.fresh = s.machine("making"), s.machine("fresh")
	if _, err := f.account.Ensure(t.Context(), f.making); err != nil {
		t.Fatal(err)
	}
	if _, err := f.account.Delete(t.Context(), f.going); err != nil {
		t.Fatal(err)
	}
	s.Forget()
	return f
}

// look does what the controllers do with each machine, and says what is not as it is wanted in the end.
func (f *fleet) look() (left []string) {
	ctx := f.t.Context()
	switch vm, err := f.account.Observe(ctx, f.running); {
	case errors.Is(err, cloud.ErrNotFound):
		f.t.Error("the VM that runs counts as gone")
	case err != nil:
		left = append(left, err.Error())
	case cmp.Diff(f.before, vm) != "":
		f.t.Errorf("the VM that runs (-before +now):\n%s", cmp.Diff(f.before, vm))
	}
	for _, m := range []cloud.Machine{f.making, f.fresh} {
		if vm, err := f.account.Ensure(ctx, m); err != nil || vm.State != cloud.Running {
			left = append(left, fmt.Sprintf("%s: %s %v", m.Key.Name, vm.Detail, err))
		}
	}
	for _, m := range []cloud.Machine{f.going, f.late} {
		if f.gone[m.Key.Name] {
			continue
		}
		_, err := f.account.Delete(ctx, m)
		f.gone[m.Key.Name] = errors.Is(err, cloud.ErrNotFound)
		if !f.gone[m.Key.Name] {
			left = append(left, fmt.Sprintf("%s: %v", m.Key.Name, err))
		}
	}
	return left
}

// TestStorms has Azure answer nothing but one thing for half an hour, to machines in each stage of their lives. No machine
// changes its state by that, and five minutes later all is as it should be.
func TestStorms(t *testing.T) {
	for name, with := range storms {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			f.storm(with)
			for range 30 * 60 / 15 {
				f.look()
				f.live(f.account, 15*time.Second)
			}
			if len(f.gone) > 0 && (f.gone["going"] || f.gone["late"]) {
				t.Errorf("what Azure said in the storm was taken for a removal: %v", f.gone)
			}
			tried := f.ByClass()
			f.Change(func(in *armsim.Inside) { in.Faults.Refuse, in.Faults.Lose = nil, nil })
			f.calm()
			f.unharmed()
			t.Logf("calls in the storm: %v", tried)
		})
	}
}

// calm waits for all to be as it should be.
func (f *fleet) calm() {
	f.t.Helper()
	left, since := f.look(), f.Now()
	for len(left) > 0 && f.Now().Sub(since) < 5*time.Minute {
		f.live(f.account, 5*time.Second)
		left = f.look()
	}
	f.t.Logf("all was green after %s", f.Now().Sub(since))
	if len(left) > 0 {
		f.t.Errorf("five minutes after the storm: %q", left)
	}
}

// unharmed says which writes there were in the storm and after it that nobody wanted: only the machine that was fresh asks for a
// VM, and only those that are deleted for the removal of one.
func (f *fleet) unharmed() {
	f.t.Helper()
	for unwanted, machines := range map[string][]cloud.Machine{
		"DELETE vm": {f.running, f.making, f.fresh}, "PUT vm": {f.running, f.making, f.going, f.late},
	} {
		for _, m := range machines {
			if n := f.OfVM(m.Name)[unwanted]; n > 0 {
				f.t.Errorf("%s: %d times %s", m.Key.Name, n, unwanted)
			}
		}
	}
	want := []string{f.fresh.Name, f.making.Name, f.running.Name}
	slices.Sort(want)
	if diff := cmp.Diff(want, f.Names(armsim.Group, compute.VM)); diff != "" {
		f.t.Errorf("VMs (-want +got):\n%s", diff)
	}
}

// TestLaggingLists has lists that lack all VMs for half an hour: they are no evidence that anything is gone.
func TestLaggingLists(t *testing.T) {
	f := newFleet(t)
	f.Change(func(in *armsim.Inside) { in.World.Lag.List = 24 * time.Hour })
	for range 30 * 60 / 15 {
		f.live(f.account, 15*time.Second)
		if vm, err := f.account.Ensure(t.Context(), f.running); errors.Is(err, cloud.ErrNotFound) || vm.State == cloud.Stopped {
			t.Fatalf("Ensure = %+v, %v", vm, err)
		}
	}
	if n := f.ByClass()["PUT vm"]; n != 0 {
		t.Errorf("%d requests for VMs", n)
	}
}
