package machine

import (
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestPausedStays: what was said of a machine before a pause stands.
func TestPausedStays(t *testing.T) {
	f := world(wasRunning, func(f *facts) { f.cluster.Spec.Paused = new(true) })
	report(f, nil)
	expect.Same(t, "Ready", "True Running", short(f.windows, infrav1.ReadyCondition))
}

// TestWhatStays in the status when a look does not get as far as to know it.
func TestWhatStays(t *testing.T) {
	f := world(vm(cloud.Running, ""), func(f *facts) { f.vm.FailureDomain = "zone-a" })
	report(f, nil)
	expect.Same(t, "failure domain", "zone-a", f.windows.Status.FailureDomain)
	f.vm.FailureDomain, f.identity = "", cloud.Identity{}
	report(f, nil)
	expect.Same(t, "failure domain, later", "zone-a", f.windows.Status.FailureDomain)
	expect.Same(t, "name", "m-abc", f.windows.Status.ComputerName)
}

// TestCloudCondition: an account that has a reason of its own does not answer for this machine.
func TestCloudCondition(t *testing.T) {
	asked := func(f *facts) { f.cloud = answers{} }
	for reason, want := range map[string]string{
		"CredentialsMissing": "False CredentialsMissing", "CredentialsRejected": "False CredentialsRejected",
		"IdentityMismatch": "False IdentityMismatch", "CloudUnreachable": "False CloudUnreachable",
		"CloudThrottled": "False CloudThrottled", "TooManyAccounts": "False TooManyAccounts",
		"VMNotRunning": "True CloudReachable", "": "True CloudReachable",
	} {
		c := cloudCondition(world(asked), phase.Stop{Reason: reason})
		expect.Same(t, reason, want, string(c.Status)+" "+c.Reason)
	}
	for name, f := range map[string]*facts{"error": world(asked), "not asked": world()} {
		var stop phase.Stop
		if name == "error" {
			stop.Err = errPhase
		}
		c := cloudCondition(f, stop)
		expect.Same(t, name, "Unknown CloudNotAsked", string(c.Status)+" "+c.Reason)
	}
}
