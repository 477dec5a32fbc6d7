package machine

import (
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

const (
	// reread is how often we look at a machine that has not joined, even if no watch wakes us.
	reread = time.Minute

	// grace is what a guest gets on top of its limit, because the limit does not count the first start of Windows and restarts,
	// which take minutes.
	grace = 15 * time.Minute
)

// overdue says whether a guest should have reported by now.
func overdue(f *facts) bool {
	if f.vm == nil || !runs(f) {
		// The cloud did not answer, or the guest cannot say anything: what was said last stands.
		reason := conditions.GetReason(f.windows, infrav1.BootstrapProgressCondition)
		return reason == infrav1.GuestSilentReason || reason == infrav1.BootstrapOverdueReason
	}
	at := due(f)
	return !at.IsZero() && !f.now.Before(at)
}

// due is the time by which the guest must report again: it gives up by itself when its limit has passed. It is zero when the
// guest need not report any more, or when its limit is not known.
func due(f *facts) time.Time {
	provisioned, told, limit := conditions.Get(f.windows, infrav1.VMProvisionedCondition), f.windows.Status.Bootstrap, limitOf(f)
	if limit == 0 || !runs(f) || told == nil && joined(f) {
		return time.Time{}
	}
	if told == nil {
		return provisioned.LastTransitionTime.Add(limit + grace)
	}
	if said(f, plan.StateSucceeded) || said(f, plan.StateFailed) {
		return time.Time{}
	}
	since := provisioned.LastTransitionTime.Time
	if told.LastReportTime.After(since) {
		since = told.LastReportTime.Time
	}
	return since.Add(max(0, limit-elapsed(told)) + grace)
}

// wake is when to look again without being woken; zero means that a watch wakes us.
func wake(f *facts) time.Duration {
	var after time.Duration
	if !joined(f) {
		after = reread
	}
	if rest := due(f).Sub(f.now); rest > 0 && (after == 0 || rest < after) {
		after = rest
	}
	return after
}

// limitOf is how long the guest may take; 0 when it is not known because another provider made the user data.
func limitOf(f *facts) time.Duration {
	if f.config == nil {
		return 0
	}
	return bootstrap.Deadline(f.config.Spec)
}

// runs says whether the VM runs, as far as we know.
func runs(f *facts) bool { return conditions.IsTrue(f.windows, infrav1.VMProvisionedCondition) }

// said says whether the guest's last report has this state.
func said(f *facts, state plan.State) bool {
	return f.windows.Status.Bootstrap != nil && f.windows.Status.Bootstrap.State == string(state)
}

func elapsed(p *infrav1.BootstrapProgress) time.Duration {
	return time.Duration(p.ElapsedSeconds) * time.Second
}
