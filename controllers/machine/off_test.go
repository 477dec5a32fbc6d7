package machine

import (
	"strings"
	"testing"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Each reason of a VM that does not run is told apart, and ends when the VM runs again.
func TestOff(t *testing.T) {
	for why, reason := range map[cloud.Why]string{
		"": infrav1.VMNotRunningReason, "of another release": infrav1.VMNotRunningReason,
		cloud.Evicted: infrav1.VMEvictedReason, cloud.Deallocated: infrav1.VMDeallocatedReason,
	} {
		t.Run(reason+string(why), func(t *testing.T) {
			f := world(was(running), vm(cloud.Stopped, running))
			stop := notRunning("m-abc", why)
			report(f, stop)
			expect.Same(t, "phase", infrav1.PhaseStopped, f.windows.Status.Phase)
			expect.Same(t, "Ready", "False "+reason, short(f.windows, infrav1.ReadyCondition))
			if message := phase.Of(stop).Message; !strings.Contains(message, "VM m-abc") {
				t.Errorf("the sentence is %q", message)
			}
			f.vm.State = cloud.Running
			report(f, nil)
			expect.Same(t, "Ready again", "True Running", short(f.windows, infrav1.ReadyCondition))
		})
	}
}
