package machine

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// notRunningReasons are the reasons of a VM that exists but does not run.
var notRunningReasons = map[string]bool{
	infrav1.VMNotRunningReason: true, infrav1.VMEvictedReason: true, infrav1.VMDeallocatedReason: true,
}

// notRunning waits for a VM that does not run: only people start it again, or the cloud.
func notRunning(vm string, cause cloud.Why) error {
	switch cause {
	case cloud.Evicted:
		return phase.Wait(phase.VM, infrav1.VMEvictedReason,
			"VM %s was evicted: the cloud took its place for others; delete the Machine to get a new VM, or start it later", vm)
	case cloud.Deallocated:
		return phase.Wait(phase.VM, infrav1.VMDeallocatedReason,
			"VM %s is deallocated: it has no place in the cloud until it is started; start it or delete the Machine", vm)
	default:
		return phase.Wait(phase.VM, infrav1.VMNotRunningReason, "VM %s is not running; start it or delete the Machine", vm)
	}
}
