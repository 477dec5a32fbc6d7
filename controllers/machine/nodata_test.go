package machine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A machine that waits for its user data says why there is none: people look at the machine, not at its config.
func TestNoData(t *testing.T) {
	ours := phase.Stop{
		Reason: "WaitingForBootstrapData", Message: "Machine m has no bootstrap data yet; see its bootstrap config", After: reread,
	}
	theirs := phase.Stop{Reason: "ConfigInvalid", Message: "WindowsBootstrapConfig c is not ready: mend it", After: reread}
	stalled := theirs
	stalled.Stalled = true
	for name, c := range map[string]struct {
		data    metav1.Condition
		stalled bool
		want    phase.Stop
	}{
		"waits for others":   {metav1.Condition{Status: metav1.ConditionFalse, Reason: "ConfigInvalid"}, false, theirs},
		"waits for a person": {metav1.Condition{Status: metav1.ConditionFalse, Reason: "ConfigInvalid"}, true, stalled},
		"waits for us":       {metav1.Condition{Status: metav1.ConditionFalse, Reason: "WaitingForMachineIdentity"}, false, ours},
		"does not know":      {metav1.Condition{Status: metav1.ConditionUnknown, Reason: "InternalError"}, false, ours},
		"has data":           {metav1.Condition{Status: metav1.ConditionTrue, Reason: "DataSecretAvailable"}, false, ours},
	} {
		f := &facts{machine: &clusterv1.Machine{}, config: &bootstrapv1.WindowsBootstrapConfig{}}
		f.machine.Name, f.config.Name = "m", "c"
		c.data.Type, c.data.Message = bootstrapv1.DataSecretAvailableCondition, "mend it"
		conditions.Set(f.config, c.data)
		if c.stalled {
			conditions.Set(f.config, metav1.Condition{Type: bootstrapv1.StalledCondition, Status: metav1.ConditionTrue})
		}
		expect.Same(t, name, c.want, phase.Of(noData(f)))
	}
	for _, reason := range []string{
		"WaitingForMachineAddresses", "WaitingForMachinePlacement", "WaitingForOwner", "Deleting",
	} {
		f := &facts{machine: &clusterv1.Machine{}, config: &bootstrapv1.WindowsBootstrapConfig{}}
		f.machine.Name = "m"
		expect.Same(t, "a config that says nothing", ours, phase.Of(noData(f)))
		conditions.Set(f.config, metav1.Condition{
			Type: bootstrapv1.DataSecretAvailableCondition, Status: metav1.ConditionFalse, Reason: reason,
		})
		expect.Same(t, reason, ours, phase.Of(noData(f)))
	}
	without := &facts{machine: &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}}
	expect.Same(t, "no config", ours, phase.Of(noData(without)))
}
