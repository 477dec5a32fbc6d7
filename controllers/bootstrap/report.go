package bootstrap

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// report writes into the status what is known and how the phases ended. It is pure: from the same facts and the same end it makes
// the same status.
func report(f *facts, end error) {
	stop := phase.Of(end)
	status := &f.config.Status
	status.ObservedGeneration = f.config.Generation
	if conditions.GetReason(f.config, bootstrapv1.ReadyCondition) == bootstrapv1.NotYetReportedReason {
		conditions.Delete(f.config, bootstrapv1.ReadyCondition) // the API server's default, with a time of its own
	}
	conditions.Set(f.config, owner.PausedCondition(paused(f)))
	if paused(f) {
		if conditions.Get(f.config, bootstrapv1.ReadyCondition) == nil {
			conditions.Set(f.config, metav1.Condition{
				Type: bootstrapv1.ReadyCondition, Status: metav1.ConditionUnknown,
				Reason: clusterv1.PausedReason, Message: "the config was paused before its first reconcile",
			})
		}
		return
	}
	if name := dataSecretName(f); name != "" {
		status.DataSecretName = name
		status.Initialization.DataSecretCreated = new(true)
	}
	if f.secret != nil && f.windows != nil && hasFinalizer(f, bootstrapv1.GuestReportFinalizer) {
		status.GuestReport = reportName(f, string(f.secret.Data[keyToken]))
	}
	data := dataCondition(f, stop)
	conditions.Set(f.config, data)
	conditions.Set(f.config, readyCondition(f, data))
	conditions.Set(f.config, stalledCondition(stop))
	if f.secret != nil {
		conditions.Set(f.config, warningsCondition(string(f.secret.Data[keyWarnings])))
	}
}

// dataSecretName is the Secret that there is, or the one that the Machine uses: a move loses our status.
func dataSecretName(f *facts) string {
	if f.secret != nil {
		return f.secret.Name
	}
	if f.machine != nil {
		return ptr.Deref(f.machine.Spec.Bootstrap.DataSecretName, "")
	}
	return ""
}

// dataCondition reports whether the user data is there, whatever happens to the token afterwards.
func dataCondition(f *facts, stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: bootstrapv1.DataSecretAvailableCondition, Status: metav1.ConditionFalse, Message: stop.Message}
	switch {
	case deleting(f):
		c.Reason = bootstrapv1.DeletingReason
	case f.secret != nil || joined(f):
		c.Status, c.Reason = metav1.ConditionTrue, bootstrapv1.DataSecretAvailableReason
	default:
		return stop.Condition(c.Type, conditions.Get(f.config, c.Type))
	}
	return c
}

// readyCondition is how the machine becomes a node, in the words of its WindowsMachine once there is user data. It is False only
// where a new Machine would help: a MachineHealthCheck acts on it.
func readyCondition(f *facts, data metav1.Condition) metav1.Condition {
	c := metav1.Condition{Type: bootstrapv1.ReadyCondition, Status: metav1.ConditionUnknown}
	var guest *metav1.Condition
	if f.windows != nil {
		guest = conditions.Get(f.windows, infrav1.BootstrapSucceededCondition)
	}
	switch {
	case deleting(f):
		c.Reason, c.Message = data.Reason, data.Message
	case guest != nil && guest.Status == metav1.ConditionFalse && (!joined(f) || bootstrapFailed(f)):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, guest.Reason, guest.Message
	case joined(f), guest != nil && guest.Status == metav1.ConditionTrue: // we may see the Machine later than the WindowsMachine
		c.Status, c.Reason = metav1.ConditionTrue, bootstrapv1.JoinedReason
	case data.Reason == bootstrapv1.DataSecretLostReason && waitsForData(f):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, data.Reason, data.Message
	case data.Status != metav1.ConditionTrue && (guest == nil || !conditions.IsTrue(f.windows, infrav1.VMRunningCondition)):
		c.Reason, c.Message = data.Reason, data.Message
	case guest == nil:
		c.Reason = infrav1.WaitingForGuestReason
		c.Message = "the infrastructure manager has not reconciled the WindowsMachine yet"
	default:
		c.Reason, c.Message = guest.Reason, guest.Message
	}
	return c
}

// waitsForData reports whether the machine has no VM and makes none without its user data.
func waitsForData(f *facts) bool {
	return f.windows != nil &&
		conditions.GetReason(f.windows, infrav1.VMRunningCondition) == infrav1.WaitingForBootstrapDataReason
}

func stalledCondition(stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: bootstrapv1.StalledCondition, Status: metav1.ConditionFalse, Reason: bootstrapv1.NotStalledReason}
	if stop.Stalled {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, stop.Reason, stop.Message
	}
	return c
}

// warningsCondition lists what may not work in the rendered user data. It stays when the Secret is not read any more.
func warningsCondition(warnings string) metav1.Condition {
	c := metav1.Condition{Type: bootstrapv1.HasWarningsCondition, Status: metav1.ConditionFalse}
	c.Reason = bootstrapv1.NoWarningsReason
	if warnings != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, bootstrapv1.WarningsGivenReason, warnings
	}
	if strings.Contains(warnings, "\n") {
		c.Message = "* " + strings.ReplaceAll(warnings, "\n", "\n* ") // as Cluster API lists things in a message
	}
	return c
}
