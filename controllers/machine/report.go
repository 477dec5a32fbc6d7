package machine

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
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
	}
	f.set(bootstrapCondition(f))
	summarize(f, stop)
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

// summarize sets the other conditions and the phase.
func summarize(f *facts, stop phase.Stop) {
	if boot := f.windows.Status.LastBoot; boot != nil {
		f.set(lastBootCondition(boot))
	}
	optional := []*metav1.Condition{userDataCondition(f)}
	if joined(f) {
		optional = append(optional, cniCondition(f))
	}
	for _, c := range optional {
		if c != nil {
			f.set(*c)
		}
	}
	f.set(readyCondition(f))
	f.set(stalledCondition(f, stop))
	f.set(cloudCondition(f, stop))
	f.windows.Status.Phase = phaseOf(f)
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
	if registered, ok := f.clouds.Find(f.windows); ok && registered.Show != nil {
		registered.Show(status, vm)
	}
	if f.config == nil { // another provider made the user data
		return
	}
	if allocatable := allocatableOf(f); allocatable != nil {
		status.Allocatable = allocatable
	}
}

// allocatableOf is what the Node will offer to pods.
func allocatableOf(f *facts) corev1.ResourceList {
	size := f.clouds.Part(f.windows).Size
	if size == (cloud.Size{}) && f.vm != nil {
		size = f.vm.Size
	}
	allocatable, err := bootstrap.Allocatable(f.config.Spec, bootstrap.Size{CPUs: int(size.CPUs), MemoryMiB: int(size.MemoryMiB)})
	if err != nil {
		return nil // no user data is made from such a config, and its own conditions say why
	}
	return allocatable
}

func vmCondition(f *facts, stop phase.Stop) metav1.Condition {
	c := metav1.Condition{Type: infrav1.VMRunningCondition, Status: metav1.ConditionFalse}
	current := conditions.Get(f.windows, c.Type)
	switch {
	case current != nil && current.Status == metav1.ConditionTrue && !deleting(f) && f.vm == nil &&
		stop.Reason != infrav1.VMVanishedReason:
		// When the cloud does not answer, a running VM still runs: CloudReachable shows the outage.
		return *current
	case stop.Reason != "":
		return stop.Condition(c.Type, current)
	case deleting(f):
		c.Reason, c.Message = infrav1.DeletingReason, "the VM is deleted"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, infrav1.RunningReason, detailOf(f)
	}
	return c
}

// detailOf is what the cloud has to say about a VM that runs.
func detailOf(f *facts) string {
	if f.vm == nil {
		return ""
	}
	if joined(f) {
		return cmp.Or(f.vm.Detail, f.vm.AfterJoin)
	}
	return f.vm.Detail
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
	case running.Status == metav1.ConditionUnknown:
		c.Status, c.Reason, c.Message = running.Status, running.Reason, running.Message
	case running.Status != metav1.ConditionTrue:
		c.Reason, c.Message = running.Reason, running.Message
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
