package machine

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// maxAddresses is what the API takes; guests may have more.
const maxAddresses = 32

// report writes into the status what is known. It is pure: the same facts and outcome give the same status.
func report(f *facts, outcome phase.Outcome) {
	status := &f.machine.Status
	status.ObservedGeneration = f.machine.Generation
	conditions.Set(f.machine, owner.PausedCondition(paused(f)))
	if paused(f) {
		if conditions.Get(f.machine, infrav1.ReadyCondition) == nil {
			conditions.Set(f.machine, metav1.Condition{
				Type: infrav1.ReadyCondition, Status: metav1.ConditionUnknown,
				Reason: clusterv1.PausedReason, Message: "the machine is paused and was not looked at yet",
			})
		}
		return
	}
	if f.identity.Name != "" {
		status.ComputerName = f.identity.Name
	}
	if f.networks != nil {
		status.Networks = f.networks
	}
	if f.vm != nil {
		reportVM(status, *f.vm)
	}
	if joined(f) {
		status.NodeName = f.owner.Status.NodeRef.Name
	}
	vm, bootstrap := vmCondition(f, outcome), bootstrapCondition(f)
	conditions.Set(f.machine, vm)
	conditions.Set(f.machine, bootstrap)
	conditions.Set(f.machine, readyCondition(f, vm, bootstrap))
	conditions.Set(f.machine, stalledCondition(f, outcome))
	conditions.Set(f.machine, cloudCondition(f, outcome))
	status.Phase = phaseOf(f)
}

func reportVM(status *infrav1.WindowsMachineStatus, vm cloud.VM) {
	if vm.State == cloud.Running {
		status.Initialization.Provisioned = new(true)
	}
	if n := min(len(vm.Addresses), maxAddresses); n > 0 {
		status.Addresses = vm.Addresses[:n]
	}
	if vm.FailureDomain != "" {
		status.FailureDomain = vm.FailureDomain
	}
	progress, build := progressOf(vm.Report)
	if progress != nil {
		status.Bootstrap = progress
	}
	if build != "" {
		status.WindowsBuild = build
	}
}

func vmCondition(f *facts, outcome phase.Outcome) metav1.Condition {
	c := metav1.Condition{Type: infrav1.VMProvisionedCondition, Status: metav1.ConditionFalse, Reason: outcome.Reason, Message: outcome.Message}
	known := conditions.Get(f.machine, c.Type)
	switch {
	case known != nil && known.Status == metav1.ConditionTrue && !deleting(f) && f.vm == nil && outcome.Reason != infrav1.VMVanishedReason:
		// A cloud that does not answer does not make a running VM less there: CloudReachable says it.
		return *known
	case outcome.Reason != "":
	case outcome.Err != nil && known != nil && known.Reason == infrav1.InternalErrorReason:
		// The text of an error may change from try to try, and a status that changes wakes us: the log has them all.
		return *known
	case outcome.Err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, infrav1.InternalErrorReason, outcome.Err.Error()
	case deleting(f):
		c.Reason, c.Message = infrav1.DeletingReason, "nothing is left of the VM"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.ProvisionedReason
	}
	return c
}

// cloudCondition says whether the account answers, apart from what is known of the VM.
func cloudCondition(f *facts, outcome phase.Outcome) metav1.Condition {
	c := metav1.Condition{Type: infrav1.CloudReachableCondition, Status: metav1.ConditionUnknown, Reason: infrav1.CloudNotAskedReason}
	switch outcome.Reason {
	case infrav1.CredentialsMissingReason, infrav1.CredentialsRejectedReason, infrav1.CloudUnreachableReason, infrav1.CloudThrottledReason:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, outcome.Reason, outcome.Message
		return c
	}
	if f.cloud != nil && outcome.Err == nil {
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.CloudReachableReason
	}
	return c
}

// bootstrapCondition says what the guest tells. A Node that joined is better proof than any word of the guest.
func bootstrapCondition(f *facts) metav1.Condition {
	c := metav1.Condition{Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionUnknown}
	progress := f.machine.Status.Bootstrap
	switch {
	case progress != nil && progress.State == string(plan.StateFailed) && !joined(f):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, progress.Reason, failure(progress)
	case progress != nil && progress.State == string(plan.StateSucceeded) || joined(f):
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.BootstrapSucceededReason
	case progress != nil:
		c.Reason, c.Message = infrav1.BootstrappingReason, fmt.Sprintf("Bootstrap %s %s", progress.Phase, progress.State)
	case ptr.Deref(f.machine.Status.Initialization.Provisioned, false):
		c.Reason, c.Message = infrav1.WaitingForGuestReason, "the VM runs; its guest has not reported yet, Windows may still be starting"
	default:
		c.Reason, c.Message = infrav1.ProvisioningReason, "there is no running VM yet"
	}
	return c
}

// failure reads: Bootstrap 3/5 join failed after 3m0s: exit 1, "couldn't validate the identity of the API Server".
func failure(p *infrav1.BootstrapProgress) string {
	text := fmt.Sprintf("Bootstrap %s failed after %s: ", p.Phase, time.Duration(p.ElapsedSeconds)*time.Second)
	if p.ExitCode != 0 {
		text += fmt.Sprintf("exit %d, ", p.ExitCode)
	}
	text += p.Message
	if n := len(p.LastLines); n > 0 {
		text += fmt.Sprintf("; last line: %q", p.LastLines[n-1])
	}
	return text
}

// readyCondition sums up, by naming the first thing that is not as it should be.
func readyCondition(f *facts, vm, bootstrap metav1.Condition) metav1.Condition {
	c := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse}
	switch {
	case vm.Status == metav1.ConditionUnknown:
		c.Status, c.Reason, c.Message = vm.Status, vm.Reason, vm.Message
	case deleting(f) || vm.Status != metav1.ConditionTrue:
		c.Reason, c.Message = vm.Reason, vm.Message
	case bootstrap.Status != metav1.ConditionTrue:
		c.Reason, c.Message = bootstrap.Reason, bootstrap.Message
	case !joined(f):
		c.Reason, c.Message = infrav1.WaitingForNodeReason, "the guest has joined the cluster; Cluster API has not seen its Node yet"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.JoinedReason
	}
	return c
}

func stalledCondition(f *facts, outcome phase.Outcome) metav1.Condition {
	c := metav1.Condition{Type: infrav1.StalledCondition, Status: metav1.ConditionFalse, Reason: infrav1.NotStalledReason}
	bootstrap := conditions.Get(f.machine, infrav1.BootstrapSucceededCondition)
	switch {
	case outcome.Stalled:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, outcome.Reason, outcome.Message
	case bootstrap.Status == metav1.ConditionFalse && !deleting(f):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, bootstrap.Reason, bootstrap.Message
	}
	return c
}

func phaseOf(f *facts) infrav1.Phase {
	switch {
	case deleting(f):
		return infrav1.PhaseDeleting
	case conditions.IsTrue(f.machine, infrav1.StalledCondition):
		return infrav1.PhaseFailed
	case conditions.IsTrue(f.machine, infrav1.ReadyCondition):
		return infrav1.PhaseRunning
	case ptr.Deref(f.machine.Status.Initialization.Provisioned, false):
		return infrav1.PhaseBootstrapping
	case f.vm != nil:
		return infrav1.PhaseProvisioning
	default:
		return infrav1.PhasePending
	}
}

func joined(f *facts) bool { return owner.Joined(f.owner) }
