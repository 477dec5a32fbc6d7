package machine

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What needs a person is a Warning, so that `kubectl get events --field-selector type=Warning` finds it.
func TestEvents(t *testing.T) {
	const runs, answers = "Ready True Running", "CloudReachable True CloudReachable"
	for name, c := range map[string]struct{ was, now, want string }{
		"every machine's way":  {"", "Ready False Provisioning", ""},
		"waits for a guest":    {"", "BootstrapSucceeded Unknown WaitingForGuest", ""},
		"waits for user data":  {"", "Ready False WaitingForBootstrapData", ""},
		"guest at work":        {"", "BootstrapSucceeded Unknown Bootstrapping", ""},
		"rejected, it runs":    {answers, "CloudReachable False CredentialsRejected", "Warning CredentialsRejected"},
		"mismatch, it runs":    {answers, "CloudReachable False IdentityMismatch", "Warning IdentityMismatch"},
		"too large, it runs":   {answers, "CloudReachable False CredentialsTooLarge", "Warning CredentialsTooLarge"},
		"stalled, start fails": {"", "LastBootSucceeded False LastBootFailed, Stalled True X", "Warning LastBootFailed"},
		"runs":                 {"", runs, "Normal Running"},
		"waits for others":     {"", "Ready False WaitingForIPAddress", "Normal WaitingForIPAddress"},
		"is deleted":           {"", "Ready False Deleting", "Normal Deleting"},
		"throttled":            {"", "Ready False CloudThrottled", "Normal CloudThrottled"},
		"off":                  {runs, "Ready False VMNotRunning", "Warning VMNotRunning"},
		"rejected":             {"", "Ready False CredentialsRejected", "Warning CredentialsRejected"},
		"outage":               {"", "Ready False CloudUnreachable", "Warning CloudUnreachable"},
		"nothing new":          {"Ready False VMNotRunning", "Ready False VMNotRunning", ""},
		"an error of ours":     {"", "Ready Unknown InternalError", "Warning InternalError"},
		"waits for a user":     {"", "Ready False WaitingForSources, Stalled True WaitingForSources", "Warning WaitingForSources"},
		"guest failed":         {runs, runs + ", BootstrapSucceeded False JoinFailed", "Warning JoinFailed"},
		"node deleted":         {runs, runs + ", BootstrapSucceeded True NodeDeleted", "Warning NodeDeleted"},
		"start":                {"", "LastBootSucceeded True LastBootSucceeded", "Normal LastBootSucceeded"},
		"start though stalled": {"", "LastBootSucceeded True LastBootSucceeded, Stalled True X", "Normal LastBootSucceeded"},
		"start failed":         {"", "LastBootSucceeded False LastBootFailed", "Warning LastBootFailed"},
		"first answer":         {"", answers, ""},
		"no credentials":       {answers, "CloudReachable False CredentialsMissing", "Warning CredentialsMissing"},
		"credentials are back": {"CloudReachable False CredentialsMissing", answers, "Normal CloudReachable"},
		"told once": {
			"", "Ready False CredentialsMissing, CloudReachable False CredentialsMissing", "Warning CredentialsMissing",
		},
		"outage, while it runs": {answers, "CloudReachable False CloudUnreachable", ""},
	} {
		recorder := events.NewFakeRecorder(2)
		f := &facts{original: machineWith(c.was), windows: machineWith(c.now)}
		(&Reconciler{Events: recorder}).emit(t.Context(), f)
		close(recorder.Events)
		var got []string
		for event := range recorder.Events {
			got = append(got, strings.TrimSpace(event))
		}
		expect.Same(t, name, c.want, strings.Join(got, ", "))
	}
}

// TestLongEvent: the API server takes 1024 bytes.
func TestLongEvent(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	f := &facts{original: machineWith(""), windows: machineWith("")}
	conditions.Set(f.windows, metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "X", Message: strings.Repeat("y", 2000),
	})
	(&Reconciler{Events: recorder}).emit(t.Context(), f)
	expect.Same(t, "event", "Warning X "+strings.Repeat("y", 1021)+"...", <-recorder.Events)
}

// machineWith has the conditions of a list such as "Ready True Running, Stalled False NotStalled".
func machineWith(list string) *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{}
	for condition := range strings.SplitSeq(list, ", ") {
		if words := strings.Fields(condition); len(words) == 3 {
			conditions.Set(m, metav1.Condition{Type: words[0], Status: metav1.ConditionStatus(words[1]), Reason: words[2]})
		}
	}
	return m
}
