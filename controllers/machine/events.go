package machine

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// emit makes an event when a condition that people wait for gets another reason: Ready, what the guest does while Ready stays as
// it is, and credentials of a running machine that its cloud does not take any more. It also quotes the console of a guest.
func (r *Reconciler) emit(ctx context.Context, f *facts) {
	ready := r.emitFor(f, infrav1.ReadyCondition)
	if !ready {
		r.emitFor(f, infrav1.BootstrapSucceededCondition)
	}
	r.emitFor(f, infrav1.LastBootSucceededCondition)
	r.emitFor(f, infrav1.CNIReadyCondition)
	if !ready && (unusable[conditions.GetReason(f.original, infrav1.CloudReachableCondition)] ||
		unusable[conditions.GetReason(f.windows, infrav1.CloudReachableCondition)]) {
		r.emitFor(f, infrav1.CloudReachableCondition)
	}
	if failsInVM(f) {
		r.quoteConsole(ctx, f)
	}
}

func (r *Reconciler) emitFor(f *facts, name string) (reported bool) {
	previous, current := conditions.Get(f.original, name), conditions.Get(f.windows, name)
	if current == nil || previous != nil && previous.Reason == current.Reason || passing[current.Reason] {
		return false
	}
	severity := corev1.EventTypeNormal
	if troubling(f, current) {
		severity = corev1.EventTypeWarning
	}
	r.Events.Eventf(f.windows, nil, severity, current.Reason, "Reconcile", "%s", cloud.Clean(current.Message, maxNote))
	return true
}

// passing are the reasons that every machine has on its way. The status has them; an event would be one more write for each.
var passing = map[string]bool{
	infrav1.WaitingForBootstrapDataReason: true, infrav1.ProvisioningReason: true, infrav1.WaitingForGuestReason: true,
	infrav1.BootstrappingReason: true,
}

// unusable are the reasons why a cloud does not take the credentials. An outage is not one of them: it gets one event for all
// machines.
var unusable = map[string]bool{
	infrav1.CredentialsMissingReason: true, infrav1.CredentialsRejectedReason: true, infrav1.IdentityMismatchReason: true,
	infrav1.CredentialsTooLargeReason: true,
}

// troubling reports whether a person should look at it. What waits for others, or is being done, ends by itself.
func troubling(f *facts, c *metav1.Condition) bool {
	switch {
	case c.Reason == infrav1.NodeDeletedReason, conditions.IsTrue(f.windows, infrav1.StalledCondition):
		return c.Type != infrav1.LastBootSucceededCondition || c.Status == metav1.ConditionFalse
	case c.Reason == infrav1.DeletingReason, c.Reason == infrav1.CloudThrottledReason, strings.HasPrefix(c.Reason, "WaitingFor"):
		return false
	}
	return c.Status == metav1.ConditionFalse || c.Reason == clusterv1.InternalErrorReason
}

// consoleLate is how long after a failure a cloud shows what was written at the console until then.
const consoleLate = 2 * time.Minute

// quoteConsole makes an event with the last lines of a guest's console, once the guest has failed or been silent for too long.
// The cloud is asked only once: only people read the lines, and a guest that changes its report must not cost calls.
func (r *Reconciler) quoteConsole(ctx context.Context, f *facts) {
	console, ok := f.cloud.(cloud.Console)
	if !ok || !r.consoles.due(f) {
		return
	}
	lines, err := console.LastWords(ctx, r.cloudMachine(f))
	if cloud.IsLater(err) {
		return // nothing was asked; the next look asks
	}
	r.consoles.dueAt.Store(f.windows.UID, time.Time{})
	switch {
	case err != nil:
		r.Events.Eventf(f.windows, nil, corev1.EventTypeNormal, infrav1.ConsoleNotReadReason, "Reconcile", "%s",
			cloud.Clean("the console of VM "+f.identity.Name+" was not read: "+err.Error(), maxNote))
	case len(lines) > 0:
		r.Events.Eventf(f.windows, nil, corev1.EventTypeNormal, infrav1.ConsoleReadReason, "Reconcile", "%s",
			cloud.Clean("last lines on the console of VM "+f.identity.Name+": "+strings.Join(lines, "; "), maxNote))
	}
}

// consoles are the machines of this process whose console is to be read, and those whose console was. The status has the failure
// before the console is read, so a manager that starts later does not read it again.
type consoles struct{ dueAt sync.Map } // each a time, by the UID of the machine; zero when it was read

// failsInVM reports whether a guest has failed, or been silent for too long, so that its console may have the cause.
func failsInVM(f *facts) bool {
	return f.vm != nil && !joined(f) && !deleting(f) && conditions.IsFalse(f.windows, infrav1.BootstrapSucceededCondition)
}

// due reports whether it is time to read the console of a guest that fails.
func (c *consoles) due(f *facts) bool {
	noted, _ := c.dueAt.Load(f.windows.UID)
	dueAt, ok := noted.(time.Time)
	if !ok {
		if conditions.IsFalse(f.original, infrav1.BootstrapSucceededCondition) {
			return false
		}
		if dueAt = f.now; hasReported(f, plan.StateFailed) { // a silent guest has written what it had to write
			dueAt = dueAt.Add(consoleLate)
		}
		c.dueAt.Store(f.windows.UID, dueAt)
	}
	return !dueAt.IsZero() && !f.now.Before(dueAt)
}
