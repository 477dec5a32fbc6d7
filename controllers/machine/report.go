package machine

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// report writes into the status what is known and how the phases ended. It is pure: from the same facts and the same end it makes
// the same status.
func report(f *facts, end error) {
	stop := phase.Of(end)
	status := &f.windows.Status
	status.ObservedGeneration = f.windows.Generation
	f.set(owner.PausedCondition(paused(f)))
	if paused(f) {
		reportPause(f)
		return
	}
	if f.identity.Name != "" {
		status.ComputerName = f.identity.Name
	}
	if f.interfaces != nil {
		status.NetworkInterfaces = f.interfaces
	}
	status.NodeName = nodeName(f)
	f.set(vmCondition(f, stop))
	if f.vm != nil {
		reportVM(f, *f.vm)
		reportGuest(f)
		if f.vm.State != cloud.Creating { // until the VM is there, the last condition stands
			f.set(userDataCondition(f))
		}
	}
	f.set(bootstrapCondition(f))
	if boot := status.LastBoot; boot != nil {
		f.set(lastBootCondition(boot))
	}
	if joined(f) {
		if c := cniCondition(f); c != nil {
			f.set(*c)
		}
	}
	f.set(readyCondition(f))
	f.set(stalledCondition(f, stop))
	f.set(cloudCondition(f, stop))
	status.Phase = phaseOf(f)
}

func reportPause(f *facts) {
	if deleting(f) {
		f.windows.Status.Phase = infrav1.PhaseDeleting // the deletion waits; without this the machine would look as if it went on
	}
	if conditions.Get(f.windows, infrav1.ReadyCondition) == nil {
		f.set(metav1.Condition{
			Type: infrav1.ReadyCondition, Status: metav1.ConditionUnknown,
			Reason: clusterv1.PausedReason, Message: "the machine was paused before its first reconcile",
		})
	}
}

// set gives a condition the time of this look; the condition keeps it until its status changes.
func (f *facts) set(c metav1.Condition) {
	c.LastTransitionTime = metav1.NewTime(f.now)
	conditions.Set(f.windows, c)
}

func reportVM(f *facts, vm cloud.VM) {
	status := &f.windows.Status
	if vm.State == cloud.Running {
		status.Initialization.Provisioned = new(true)
	}
	status.FailureDomain = cmp.Or(vm.FailureDomain, status.FailureDomain)
	if show := f.clouds.Find(f.windows).Show; show != nil {
		show(status, vm)
	}
	if f.config != nil { // else another provider made the user data
		reportAllocatable(f, vm)
	}
}

// reportAllocatable publishes what the Node will offer to pods.
func reportAllocatable(f *facts, vm cloud.VM) {
	size := cmp.Or(f.clouds.Part(f.windows).Size, vm.Size)
	allocatable, err := bootstrap.Allocatable(f.config.Spec, bootstrap.Size{CPUs: int(size.CPUs), MemoryMiB: int(size.MemoryMiB)})
	if err == nil { // no user data is made from another config, and its own conditions have the cause
		f.windows.Status.Allocatable = allocatable
	}
}

func vmCondition(f *facts, stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: infrav1.VMRunningCondition, Status: metav1.ConditionFalse}
	current := conditions.Get(f.windows, c.Type)
	switch {
	case runs(f) && !deleting(f) && f.vm == nil && stop.Reason != infrav1.VMVanishedReason:
		// When the cloud does not answer, a running VM still runs: CloudReachable shows the outage.
		return *current
	case stop.Reason != "":
		return stop.Condition(c.Type, current)
	case deleting(f):
		c.Reason, c.Message = infrav1.DeletingReason, "the VM is deleted"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.RunningReason
		if f.vm != nil {
			c.Message = f.vm.Detail
		}
		if f.vm != nil && joined(f) {
			c.Message = cmp.Or(f.vm.Detail, f.vm.AfterJoin)
		}
	}
	return c
}

const goingAccount = " is being deleted, and stays only until no machine needs it, which ends the login of all others that use " +
	"it, too: make a Secret of another name with the same data, and set identityRef of these WindowsMachines to it; when the " +
	"first one is gone, make it again for a VSphereCluster and for templates that name it"

// cloudCondition reports whether the account answers, whatever is known of the VM.
func cloudCondition(f *facts, stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: infrav1.CloudReachableCondition, Status: metav1.ConditionUnknown}
	c.Reason = infrav1.CloudNotAskedReason
	switch stop.Reason {
	case infrav1.CredentialsMissingReason, infrav1.CredentialsRejectedReason, infrav1.IdentityMismatchReason,
		infrav1.CloudUnreachableReason, infrav1.CloudThrottledReason, infrav1.TooManyAccountsReason:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, stop.Reason, stop.Message
		return c
	}
	if f.cloud != nil && stop.Err == nil {
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.CloudReachableReason
		if f.going && !deleting(f) {
			c.Reason, c.Message = infrav1.CredentialsBeingDeletedReason, f.account+goingAccount
		}
	}
	return c
}

// readyCondition sums up: the VM runs, and its guest has not failed. Its message has what the guest still does, because people
// look here first.
func readyCondition(f *facts) metav1.Condition {
	running := conditions.Get(f.windows, infrav1.VMRunningCondition)
	bootstrapped := conditions.Get(f.windows, infrav1.BootstrapSucceededCondition)
	c := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse}
	switch {
	case running.Status != metav1.ConditionTrue:
		c.Status, c.Reason, c.Message = running.Status, running.Reason, running.Message
	case bootstrapped.Status == metav1.ConditionFalse:
		c.Reason, c.Message = bootstrapped.Reason, bootstrapped.Message
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, infrav1.RunningReason, running.Message
		switch cni := conditions.Get(f.windows, infrav1.CNIReadyCondition); {
		case bootstrapped.Reason != infrav1.JoinedReason:
			c.Message = bootstrapped.Message
		case cni != nil && cni.Status == metav1.ConditionFalse:
			c.Message = cni.Message
		}
	}
	return c
}

func stalledCondition(f *facts, stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: infrav1.StalledCondition, Status: metav1.ConditionFalse, Reason: infrav1.NotStalledReason}
	succeeded := conditions.Get(f.windows, infrav1.BootstrapSucceededCondition)
	switch {
	case stop.Stalled:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, stop.Reason, stop.Message
	case succeeded.Status == metav1.ConditionFalse && !deleting(f):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, succeeded.Reason, succeeded.Message
	}
	return c
}

func phaseOf(f *facts) infrav1.Phase {
	reason := conditions.GetReason(f.windows, infrav1.VMRunningCondition)
	switch {
	case deleting(f), reason == infrav1.DeletingReason:
		return infrav1.PhaseDeleting
	case conditions.IsTrue(f.windows, infrav1.StalledCondition):
		return infrav1.PhaseFailed
	case runs(f) && joined(f):
		return infrav1.PhaseRunning
	case runs(f):
		return infrav1.PhaseBootstrapping
	case notRunningReasons[reason], hadVM(f) && f.windows.Status.Phase == infrav1.PhaseStopped:
		return infrav1.PhaseStopped
	case f.vm != nil || hadVM(f):
		return infrav1.PhaseProvisioning
	default:
		return infrav1.PhasePending
	}
}

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
