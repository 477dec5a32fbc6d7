package machine

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
)

const (
	// reread is how often we look at a machine that has not joined, or whose user data the cloud does not take away, even if no
	// watch wakes us.
	reread = time.Minute

	// grace is what a guest gets on top of its limit, because the limit does not count the first start of Windows and restarts,
	// which take minutes.
	grace = 15 * time.Minute

	// nodeLimit is how long Cluster API may take to find the Node of a guest that reported success. It takes seconds; but only after
	// 5 minutes does it report that it cannot reach the workload cluster, and then we wait for it.
	nodeLimit = 10 * time.Minute

	// cniLimit is how long the CNI of a Node may take: its DaemonSet is pulled first. A MachineHealthCheck gives it twice that.
	cniLimit = 15 * time.Minute
)

// overdue reports whether a guest should have reported, or brought its Node, by now.
func overdue(f *facts) bool {
	if f.vm == nil || !runs(f) {
		// The cloud did not answer, or the guest cannot report: the last condition stands.
		return slices.Contains([]string{infrav1.GuestSilentReason, infrav1.BootstrapOverdueReason, infrav1.NodeMissingReason},
			conditions.GetReason(f.windows, infrav1.BootstrapSucceededCondition))
	}
	deadline := due(f)
	return !deadline.IsZero() && !f.now.Before(deadline)
}

// due is the time by which the guest must report again, or its Node be found: the guest gives up by itself when its limit has
// passed. It is zero when nothing more is to come, or when the limit is not known. The VM runs.
func due(f *facts) time.Time {
	progress, limit := f.windows.Status.Bootstrap, limitOf(f)
	if joined(f) || hasReported(f, plan.StateFailed) {
		return time.Time{}
	}
	start := conditions.Get(f.windows, infrav1.VMRunningCondition).LastTransitionTime.Time
	if progress != nil && progress.LastReportTime.After(start) {
		start = progress.LastReportTime.Time
	}
	switch {
	case hasReported(f, plan.StateSucceeded) && looksForNode(f):
		limit = nodeLimit
	case hasReported(f, plan.StateSucceeded), limit == 0:
		return time.Time{}
	case progress == nil:
		limit += grace
	default:
		limit = max(0, limit-elapsed(progress)) + grace
	}
	return start.Add(limit / time.Duration(max(1, f.speed)))
}

// looksForNode reports whether Cluster API can see the Nodes of the workload cluster. If it cannot, no new Machine would help.
func looksForNode(f *facts) bool {
	reason := conditions.GetReason(f.machine, clusterv1.MachineNodeHealthyCondition)
	return reason != clusterv1.MachineNodeConnectionDownReason && reason != clusterv1.MachineNodeInternalErrorReason
}

// nextLook is when to look again without being woken; zero means that a watch wakes us.
func nextLook(f *facts) (delay time.Duration) {
	limit := due(f)
	if joined(f) {
		limit = cniDue(f)
	}
	if !joined(f) || f.kept != nil {
		delay = reread
	}
	return sooner(delay, limit.Sub(f.now))
}

// cniDue is the time by which the CNI of a machine that has joined must have come; zero when its Node has one, or nothing is
// known of that.
func cniDue(f *facts) time.Time {
	health := nodeHealthOf(f)
	if deleting(f) || !lacksCNI(health) {
		return time.Time{}
	}
	return health.LastTransitionTime.Add(cniLimit / time.Duration(max(1, f.speed)))
}

// nodeHealthOf is Cluster API's condition of the Node. It repeats the Node's own conditions, so that we need not read the Node.
func nodeHealthOf(f *facts) *metav1.Condition {
	return conditions.Get(f.machine, clusterv1.MachineNodeHealthyCondition)
}

// cniMissing matches the kubelet's message about its Node while containerd has loaded no CNI configuration: "container runtime
// network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not
// initialized" (kubernetes v1.36.3, pkg/kubelet/kubelet.go; containerd, internal/cri/server/status.go).
var cniMissing = regexp.MustCompile(`reason:NetworkPluginNotReady\b|cni plugin not initialized`)

func lacksCNI(health *metav1.Condition) bool {
	return health != nil && health.Status == metav1.ConditionFalse && cniMissing.MatchString(health.Message)
}

// cniCondition is false when the CNI of a machine that has joined does not come. It is nil while nothing is known, and then the
// last condition stands; and for a machine whose Node never lacked a CNI for that long.
func cniCondition(f *facts) *metav1.Condition {
	c := metav1.Condition{Type: infrav1.CNIReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.CNINotReadyReason}
	health, due := nodeHealthOf(f), cniDue(f)
	switch {
	case !due.IsZero() && !f.now.Before(due):
		c.Message = fmt.Sprintf("Node %s has had no CNI for %s: its kubelet reports that the network plug-in is not ready. "+
			"%sLooked for: %s", nodeName(f), brief(cniLimit), ownCause(f), lookedFor(f))
		return &c
	case health == nil, health.Status == metav1.ConditionUnknown, lacksCNI(health), nodeDeleted(f),
		conditions.Get(f.windows, c.Type) == nil:
		return nil
	}
	c.Status, c.Reason = metav1.ConditionTrue, infrav1.CNIReadyReason
	return &c
}

// ownCause is what the node itself has failed with since its last start, which may be why.
func ownCause(f *facts) string {
	boot := f.windows.Status.LastBoot
	if boot == nil || boot.State != string(plan.StateFailed) {
		return ""
	}
	return fmt.Sprintf("The node reports: %s (%s). ", quote(boot.Message), boot.Reason)
}

func lookedFor(f *facts) string {
	if f.config == nil {
		return `a file of the CNI in C:\etc\cni\net.d; another bootstrap provider configured the node`
	}
	return bootstrap.CNISource(f.config.Spec)
}

// limitOf is how long the guest may take; 0 when it is not known because another provider made the user data.
func limitOf(f *facts) time.Duration {
	if f.config == nil {
		return 0
	}
	return bootstrap.Deadline(f.config.Spec)
}

// runs reports whether the VM runs, as far as we know.
func runs(f *facts) bool { return conditions.IsTrue(f.windows, infrav1.VMRunningCondition) }

func joined(f *facts) bool { return owner.Joined(f.machine) }

// nodeDeleted reports whether Cluster API misses the Node of a machine that has joined. While the machine is deleted, Nodes go by
// themselves.
func nodeDeleted(f *facts) bool {
	gone := conditions.GetReason(f.machine, clusterv1.MachineNodeHealthyCondition) == clusterv1.MachineNodeDeletedReason
	reported := conditions.GetReason(f.windows, infrav1.BootstrapSucceededCondition) == infrav1.NodeDeletedReason
	return gone && (reported || !deleting(f))
}

// nodeName is the name of the Node that there is.
func nodeName(f *facts) string {
	if !joined(f) || nodeDeleted(f) {
		return ""
	}
	return f.machine.Status.NodeRef.Name
}

// hasReported reports whether the guest's last report has this state.
func hasReported(f *facts, state plan.State) bool {
	return f.windows.Status.Bootstrap != nil && f.windows.Status.Bootstrap.State == string(state)
}

func elapsed(p *infrav1.BootstrapProgress) time.Duration {
	return time.Duration(p.ElapsedSeconds) * time.Second
}
