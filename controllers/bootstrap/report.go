package bootstrap

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// report writes into the status what is known and how the phases ended. It is pure: from the same facts and the same end it makes
// the same status.
func report(f *facts, end error) {
	stop := phase.Of(end)
	status := &f.config.Status
	status.ObservedGeneration = f.config.Generation
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
	data := dataCondition(f, stop)
	conditions.Set(f.config, data)
	data.Type = bootstrapv1.ReadyCondition
	conditions.Set(f.config, data)
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

// dataCondition says whether the user data is there, whatever happens to the token afterwards.
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

func stalledCondition(stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: bootstrapv1.StalledCondition, Status: metav1.ConditionFalse, Reason: bootstrapv1.NotStalledReason}
	if stop.Stalled {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, stop.Reason, stop.Message
	}
	return c
}

// warningsCondition says what may not work in the rendered user data. It stays when the Secret is not read any more.
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
