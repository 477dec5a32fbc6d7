package vsphere

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/request"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/test/kit/cloudtest"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/machines"
)

func wantRefused(t *testing.T, err error) {
	t.Helper()
	cloudtest.WantError(t, err, cloud.Denied, infrav1.CredentialsRejectedReason)
}

// TestRefusedWatch: a watch that cannot be made says why.
func TestRefusedWatch(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"CreatePropertyCollector", "CreateListView", "CreateFilter"} {
		v := newStage(t)
		a := v.account()
		v.Deny(method, "System.View")
		wantRefused(t, a.Watch(t.Context(), func(...cloud.Key) {}))
		made := method != "CreatePropertyCollector"
		expect.Same(t, method+": its collector is removed", made, v.Calls()["DestroyPropertyCollector"] == 1)
	}
}

// TestSecondWatch: an account is watched once at a time.
func TestSecondWatch(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a := v.account()
	watched(t, a)
	err := a.Watch(t.Context(), func(...cloud.Key) {})
	cloudtest.WantError(t, err, cloud.Transient, infrav1.CloudUnreachableReason)
	expect.Says(t, "the second watch", err, "already being watched")
}

// TestRefusedReads: what the vCenter does not let us read is neither there nor gone.
func TestRefusedReads(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, m, off := v.account(), v.machine("m"), v.machine("off")
	running(t, a, m)
	v.cloneBy(off, off.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	expect.Same(t, "State", cloud.Creating, expect.Got(a.Observe(t.Context(), off))(t).State)
	watched(t, a)
	later := stoppedClock(a)
	later(next.PushTime)
	v.Deny("QueryEvents", "System.View")
	_, err := a.Ensure(t.Context(), off)
	wantRefused(t, err)
	expect.Same(t, "it is said that it never ran", false, a.ledger.recall(off).NeverRan)
	v.Deny("QueryEvents", "")

	b := v.account()
	v.Deny("RetrievePropertiesEx", "System.View")
	_, err = b.Observe(t.Context(), m)
	wantRefused(t, err)
	b.ledger.begin(m, next.Job{Act: next.SwitchOff, Task: types.ManagedObjectReference{Type: "Task", Value: "task-1"}})
	wantRefused(t, expect.ErrorOf(b.Delete(t.Context(), m)))
	expect.Same(t, "its task", next.SwitchOff, b.ledger.recall(m).job.Act)
}

// TestNeverRan: that a VM never ran is remembered only while the watch tells of each change. Otherwise a person may switch it on
// and off unseen.
func TestNeverRan(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a, off, on := v.account(), v.machine("off"), v.machine("on")
	v.cloneBy(off, off.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = false })
	v.cloneBy(on, on.Name, func(s *types.VirtualMachineCloneSpec) { s.PowerOn = true })
	for _, m := range []cloud.Machine{off, on} {
		for _, synced := range []bool{false, true} {
			s := next.Survey{Asked: map[next.Act]int{}, Synced: synced, Found: seen.Found{VM: &seen.VM{Ref: v.VM(m.Name).Reference()}}}
			expect.OK(t, a.findOut(t.Context(), m, next.Events, &s))
			expect.Same(t, m.Key.Name+": it ran", m.Key.Name == "on", a.ledger.recall(m).ran)
			expect.Same(t, m.Key.Name+": it never ran, for certain", synced && m.Key.Name == "off", a.ledger.recall(m).NeverRan)
		}
	}
}

// TestWhenATaskIsAsked: not while it is followed, nor soon after it has begun in a watch that will follow it.
func TestWhenATaskIsAsked(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	a := v.account()
	now := time.Now()
	a.now = func() time.Time { return now }
	for name, c := range map[string]struct {
		job   next.Job
		view  bool
		asked int
	}{
		"followed":               {next.Job{Begun: now.Add(-time.Hour), Watched: true}, true, 0},
		"begun now":              {next.Job{Begun: now}, true, 0},
		"begun a while ago":      {next.Job{Begun: now.Add(1 - pollAfter)}, true, 0},
		"begun long enough ago":  {next.Job{Begun: now.Add(-pollAfter)}, true, 1},
		"begun without a watch":  {next.Job{Begun: now}, false, 1},
		"followed until a while": {next.Job{Begun: now.Add(-time.Hour)}, true, 1},
	} {
		c.job.Act, c.job.Task = next.Destroy, types.ManagedObjectReference{Type: "Task", Value: "task-of-old"}
		if a.view.Store(nil); c.view {
			a.view.Store(&taskView{})
		}
		v.Count()
		expect.OK(t, a.progress(t.Context(), &c.job, seen.Found{}))
		expect.Same(t, name+": reads", c.asked, v.Count()["RetrievePropertiesEx"])
		expect.Same(t, name+": the vCenter has forgotten it", c.asked == 1, c.job.Forgotten)
	}
}

// TestNoUserData: without user data that a guest can read nothing is cloned.
func TestNoUserData(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	gone := errors.New("the Secret is gone")
	m.UserData = func(context.Context) (cloud.UserData, error) { return nil, gone }
	_, err := v.account().Ensure(t.Context(), m)
	expect.Same(t, "why", true, errors.Is(err, gone))
	large := make(cloud.UserData, request.MaxUserData)
	_, _ = rand.Read(large)
	m.UserData = large.Read
	_, err = v.account().Ensure(t.Context(), m)
	cloudtest.WantError(t, err, cloud.Invalid, infrav1.SpecInvalidReason)
	expect.Says(t, "what is too much", err, "can read only 60000")
	expect.Same(t, "clones", 0, v.Calls()["CloneVM_Task"])
}

// TestUnknownPower: a VM of which the vCenter does not say whether it is on is not one that is off.
func TestUnknownPower(t *testing.T) {
	t.Parallel()
	a, m := newStage(t).account(), machines.VSphere("m")
	now := time.Now()
	for power, want := range map[types.VirtualMachinePowerState]bool{"": true, types.VirtualMachinePowerStatePoweredOff: false} {
		s := next.Survey{Now: now}
		a.saw(m, &s, seen.Found{Whose: cloud.Ours, VM: &seen.VM{Power: power}})
		expect.Same(t, "not yet seen off", want, s.Memory.Idle.IsZero())
		a.ledger.strike(m, "", now)
	}
}

// TestOvertaken: what others have done need not be done again, and what is refused is not done.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	gone, state := &types.ManagedObjectNotFound{}, &types.InvalidPowerState{}
	for _, c := range []struct {
		act   next.Act
		fault types.BaseMethodFault
		want  bool
	}{
		{next.Clone, &types.DuplicateName{}, true},
		{next.Clone, gone, false},
		{next.SwitchOn, &types.TaskInProgress{}, true},
		{next.SwitchOn, state, true},
		{next.SwitchOn, gone, true},
		{next.SwitchOff, gone, true},
		{next.SwitchOff, state, true},
		{next.SwitchOff, &types.TaskInProgress{}, false},
		{next.Destroy, gone, true},
		{next.Erase, gone, true},
		{next.Erase, state, false},
		{next.Destroy, &types.NoPermission{}, false},
	} {
		if got := overtaken(c.act, failedWith(c.act, c.fault).Err()); got != c.want {
			t.Errorf("%s with %T: overtaken is %t", c.act, c.fault, got)
		}
	}
}
