package crash

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/proved"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// Here a process is killed once it has asked for a VM, and the Machine is deleted before the next process has looked at it. That
// one knows of nothing, and neither does the status: it must not believe that nobody has asked, whatever clocks say.

// deleteAtOnce deletes the Machine when the process was killed, and tells whether the next processes let it go while its VM is
// being made.
func (r *run) deleteAtOnce(t *testing.T) {
	t.Helper()
	wait.Until(t, "the crash", func() (any, bool) { return r.Effects(), r.Hit() })
	r.machine.Delete(t)
	for worked := 0; worked < 5; {
		if r.Process().TryReconcile(world.Machines, r.machine.Key) {
			worked++
		}
	}
	r.held(t)
}

// held checks that the machine has not been let go.
func (r *run) held(t *testing.T) {
	t.Helper()
	if s := r.machine.Load(t); s.Windows == nil || !controllerutil.ContainsFinalizer(s.Windows, infrav1.MachineFinalizer) {
		r.letGo = true
		t.Error("the machine was let go while its VM was being made, or was there")
	}
}

// TestCrashThenDeleted does so in a vCenter, where the clone goes on all that time.
//
//nolint:tparallel // one clock after the other
func TestCrashThenDeleted(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	places := newMatrix(t).places
	for _, ahead := range proved.Clocks() {
		t.Run("clock "+ahead.String(), func(t *testing.T) {
			m := &matrix{ahead: ahead, places: places}
			t.Run("plans", func(t *testing.T) { m.deleteAtOnce(t) })
			m.counts.tell(t, "deleted after a crash, clock "+ahead.String())
		})
	}
}

func (m *matrix) deleteAtOnce(t *testing.T) {
	for _, plan := range []world.Plan{
		{Effect: "vcenter CloneVM_Task #1", After: true},
		{Effect: "management PATCH windowsmachines/status Ready=Provisioning #1"},
		{Effect: "management PATCH windowsmachines/status Ready=Provisioning #1", After: true},
	} {
		t.Run(plan.String(), func(t *testing.T) {
			t.Parallel()
			r := m.begin(t, true, plan)
			defer m.counts.add(t, r)
			r.claimed(t)
			name := r.machine.Load(t).Windows.Status.ComputerName
			r.deleteAtOnce(t)
			r.release()
			r.gone(t)
			r.look(t, name, 0, "cloned removed")
		})
	}
}

// TestCrashThenDeletedInAzure does so in Azure, whose lists show a VM half a minute late, and whose answers on the VM alone ten
// seconds late.
//
//nolint:tparallel // one clock after the other
func TestCrashThenDeletedInAzure(t *testing.T) {
	t.Parallel()
	if shared == nil {
		t.Skip("needs real servers")
	}
	byClocks(t, "deleted after a crash in Azure", deleteAtOnceInAzure)
}

func deleteAtOnceInAzure(t *testing.T, ahead time.Duration, counts *tally) {
	plan := world.Plan{Effect: "azure PUT vm #1", After: true}
	t.Run(plan.String(), func(t *testing.T) {
		t.Parallel()
		r := beginInAzure(t, ahead, plan)
		defer counts.addInAzure(t, r)
		r.claimed(t)
		wait.Until(t, "the crash", func() (any, bool) { return r.Effects(), r.Hit() })
		r.machine.Delete(t)
		r.gone(t)
		// What Azure was asked for comes to be within its lags.
		until := r.azure.Now().Add(2 * time.Minute)
		wait.Until(t, "the end of Azure's lags", func() (any, bool) { return r.azure.Now(), r.azure.Now().After(until) })
		r.nothingLeft(t)
		expect.Same(t, "the crash came about", true, r.Hit())
	})
}
