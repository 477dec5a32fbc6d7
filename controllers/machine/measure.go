package machine

import (
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
)

// measure counts what has ended since the last look. It compares the object with what was written before, so that each thing
// counts once, whichever manager looks, and no restart counts it again. What a machine did before it was moved here counts there.
//
// Only a guest that takes back its own word can count its end again, no more often than its words are taken over.
func measure(f *facts) {
	if f.machine == nil || movedHere(f) {
		return
	}
	if registered, ok := f.clouds.Find(f.windows); ok && !ran(f.original) && ran(f.windows) {
		metrics.Made(registered.Provider.Name(), f.now.Sub(wish(f)))
	}
	if isNew(f, hasNode) && !conditions.IsTrue(f.original, infrav1.BootstrapSucceededCondition) {
		running := conditions.Get(f.windows, infrav1.VMRunningCondition)
		metrics.Joined(f.now.Sub(running.LastTransitionTime.Time))
	}
	if isNew(f, bootstrapFailed) {
		metrics.Failed(conditions.GetReason(f.windows, infrav1.BootstrapSucceededCondition))
	}
	if isNew(f, guestEnded) {
		for _, d := range f.windows.Status.Bootstrap.Durations {
			metrics.Phase(d.Phase, time.Duration(ptr.Deref(d.Seconds, 0))*time.Second)
		}
	}
}

// isNew reports whether something is true of the object, and was not true of it before.
func isNew(f *facts, holds func(*infrav1.WindowsMachine) bool) bool {
	return holds(f.windows) && !holds(f.original)
}

// movedHere reports whether the Machine knows of a VM that the status does not: a move takes the status away.
func movedHere(f *facts) bool { return !ran(f.original) && f.machine.Spec.ProviderID != "" }

func ran(m *infrav1.WindowsMachine) bool {
	return ptr.Deref(m.Status.Initialization.Provisioned, false)
}

// hasNode reports whether a Node has joined for a VM that runs.
func hasNode(m *infrav1.WindowsMachine) bool { return m.Status.NodeName != "" && ran(m) }

func bootstrapFailed(m *infrav1.WindowsMachine) bool {
	return conditions.IsFalse(m, infrav1.BootstrapSucceededCondition)
}

// guestEnded reports whether the guest is through with its bootstrap, well or not.
func guestEnded(m *infrav1.WindowsMachine) bool {
	progress := m.Status.Bootstrap
	return progress != nil && (progress.State == string(plan.StateSucceeded) || progress.State == string(plan.StateFailed))
}

// wish is when the VM could be asked for: the machine was there, and so was its user data, which waits for the control plane.
func wish(f *facts) time.Time {
	start := f.windows.CreationTimestamp.Time
	data := conditions.Get(f.config, bootstrapv1.DataSecretAvailableCondition)
	if data != nil && data.LastTransitionTime.After(start) {
		start = data.LastTransitionTime.Time
	}
	return start
}
