package machine

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
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

// TestImageVersion is written beside the place of the VM, and stays there; a machine without a place has nowhere to show it.
func TestImageVersion(t *testing.T) {
	f := world(vm(cloud.Running, ""), func(f *facts) { f.vm.ImageVersion = "1.36.3" })
	report(f, nil)
	expect.Same(t, "place of a machine that has none", (*infrav1.AzurePlacement)(nil), f.windows.Status.Azure)
	f.windows.Spec.Azure = &infrav1.AzureVM{}
	f.windows.Status.Azure = &infrav1.AzurePlacement{Location: "westeurope"}
	want := &infrav1.AzurePlacement{Location: "westeurope", ImageVersion: "1.36.3"}
	report(f, nil)
	expect.Same(t, "place", want, f.windows.Status.Azure)
	f.vm.ImageVersion = ""
	report(f, nil)
	expect.Same(t, "place, later", want, f.windows.Status.Azure)
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

// TestCutOff: a machine stays Ready when the cloud cannot reach its VM, but says so.
func TestCutOff(t *testing.T) {
	f := world(vm(cloud.Running, succeeded), withNode)
	f.vm.Detail = "the vCenter cannot reach the VM"
	report(f, nil)
	for _, name := range []string{infrav1.VMRunningCondition, infrav1.ReadyCondition} {
		if c := conditions.Get(f.windows, name); c.Status != metav1.ConditionTrue || c.Message != f.vm.Detail {
			t.Errorf("%s is %s %q", name, c.Status, c.Message)
		}
	}
}

func TestReportPaused(t *testing.T) {
	f := world(func(f *facts) { f.cluster.Spec.Paused = new(true) })
	report(f, nil)
	if got := short(f.windows, infrav1.PausedCondition); got != "True Paused" {
		t.Errorf("Paused is %q", got)
	}
	if got := short(f.windows, infrav1.ReadyCondition); got != "Unknown Paused" {
		t.Errorf("observedGeneration must never be written without Ready, or kstatus takes the machine for done; Ready is %q", got)
	}
}

// An error that only changes its words does not change the status.
func TestInternalError(t *testing.T) {
	f := world()
	report(f, errors.New("get bootstrap data: try 1"))
	report(f, errors.New("get bootstrap data: try 2"))
	if got := conditions.GetMessage(f.windows, infrav1.ReadyCondition); got != "get bootstrap data: try 1" {
		t.Errorf("Ready says %q", got)
	}
}
