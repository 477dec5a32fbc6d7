package bootstrap

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What only a person can mend is a Warning event, once.
func TestEvents(t *testing.T) {
	const stalled, warned = bootstrapv1.StalledCondition, bootstrapv1.HasWarningsCondition
	for name, c := range map[string]struct {
		was, now metav1.Condition
		want     []string
	}{
		"goes on": {now: metav1.Condition{Type: stalled, Status: metav1.ConditionFalse, Reason: "NotStalled"}},
		"stalled": {now: saying(stalled, "ConfigInvalid"), want: []string{"Warning ConfigInvalid mend it"}},
		"still":   {was: saying(stalled, "ConfigInvalid"), now: saying(stalled, "ConfigInvalid")},
		"another": {
			saying(stalled, "ConfigInvalid"), saying(stalled, "WaitingForSources"), []string{"Warning WaitingForSources mend it"},
		},
		"warned":         {now: saying(warned, "WarningsGiven"), want: []string{"Warning WarningsGiven mend it"}},
		"warned already": {was: saying(warned, "WarningsGiven"), now: saying(warned, "WarningsGiven")},
	} {
		recorder := events.NewFakeRecorder(2)
		f := &facts{original: &bootstrapv1.WindowsBootstrapConfig{}, config: &bootstrapv1.WindowsBootstrapConfig{}}
		f.original.Status.Conditions, f.config.Status.Conditions = []metav1.Condition{c.was}, []metav1.Condition{c.now}
		(&Reconciler{Events: recorder}).emit(f)
		close(recorder.Events)
		var got []string
		for event := range recorder.Events {
			got = append(got, event)
		}
		expect.Same(t, name, c.want, got)
	}
}

func saying(kind, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "mend it"}
}
