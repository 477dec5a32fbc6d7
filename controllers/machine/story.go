package machine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// bootstrapCondition is what the guest does and how that ended. A Node that has joined proves more than a silent guest; but a
// guest that failed after that has not done everything it was asked for, and we believe it. No sentence contains a running clock:
// each change would be written and wake us.
func bootstrapCondition(f *facts) metav1.Condition {
	c := metav1.Condition{Type: infrav1.BootstrapSucceededCondition, Status: metav1.ConditionUnknown}
	progress, limit := f.windows.Status.Bootstrap, limitOf(f)
	switch {
	case hasReported(f, plan.StateFailed):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, progress.Reason, failure(progress)
	case joined(f) && nodeDeleted(f):
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.NodeDeletedReason
		c.Message = fmt.Sprintf("Node %s was deleted while its Machine still exists; delete Machine %s to get a new node",
			f.machine.Status.NodeRef.Name, f.machine.Name)
	case joined(f):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, infrav1.JoinedReason, afterJoin(f, limit)
	case !deleting(f) && lostReasons[conditions.GetReason(f.windows, infrav1.VMRunningCondition)]:
		running := conditions.Get(f.windows, infrav1.VMRunningCondition)
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, running.Reason, running.Message
	case overdue(f):
		c.Status = metav1.ConditionFalse
		c.Reason, c.Message = givenUp(f, limit)
	case !runs(f) && hadVM(f):
		c.Reason, c.Message = infrav1.WaitingForVMReason, "the VM does not run; the condition VMRunning of the WindowsMachine has "+
			"the cause"
	case hasReported(f, plan.StateSucceeded):
		c.Reason, c.Message = infrav1.WaitingForNodeReason, success(progress, limit)+"; Cluster API has not seen its Node yet"
	case progress != nil:
		c.Reason, c.Message = infrav1.BootstrappingReason, activity(progress, limit)+butUnread(f)
	case f.unread != nil:
		c.Reason, c.Message = infrav1.WaitingForGuestReason, "the VM is running"+butUnread(f)
	default:
		// The same words before and after the VM runs: VMRunning shows it, and the config would be written once more.
		c.Reason = infrav1.WaitingForGuestReason
		c.Message = "the guest has not reported yet; its VM or Windows may still be starting"
	}
	return stands(f, c)
}

// stands keeps the sentence, also about a report that was not understood, while the cloud does not answer, and while what the
// guest reports now waits to be published.
func stands(f *facts, c metav1.Condition) metav1.Condition {
	current := conditions.Get(f.windows, c.Type)
	if (f.vm == nil || f.heldBack > 0) && current != nil && current.Status == c.Status && current.Reason == c.Reason {
		return *current
	}
	return c
}

// lostReasons are those of a machine that will never have a VM that bootstraps, while another machine would.
var lostReasons = map[string]bool{
	infrav1.VMVanishedReason: true, infrav1.AddressLostReason: true, infrav1.NameTakenReason: true,
}

// afterJoin is the sentence for what the guest of a Node does or did.
func afterJoin(f *facts, limit time.Duration) string {
	switch progress := f.windows.Status.Bootstrap; {
	case progress == nil:
		return "the Node has joined; its guest has not reported"
	case hasReported(f, plan.StateSucceeded):
		return success(progress, limit)
	default:
		return "the Node has joined; " + activity(progress, limit) + butUnread(f)
	}
}

// givenUp is why a guest is not waited for any longer.
func givenUp(f *facts, limit time.Duration) (reason, message string) {
	progress, name := f.windows.Status.Bootstrap, f.windows.Status.ComputerName
	switch {
	case hasReported(f, plan.StateSucceeded):
		return infrav1.NodeMissingReason, fmt.Sprintf("%s, but Cluster API found no Node with providerID %s within %s; "+
			"look for Node %s in the workload cluster and at its spec.providerID",
			success(progress, limit), f.windows.Spec.ProviderID, brief(nodeLimit), name)
	case progress != nil:
		return infrav1.BootstrapOverdueReason, fmt.Sprintf("%s; the guest has not reported since%s; see the console of VM %s",
			activity(progress, limit), butUnread(f), name)
	default:
		return infrav1.GuestSilentReason, fmt.Sprintf("the guest has not reported within its limit of %s and the %s that Windows "+
			"gets to start%s; see the console of VM %s", brief(limit), brief(grace), butUnread(f), name)
	}
}

// notUnderstood does not quote the report: each change of the status wakes us.
const notUnderstood = "the manager does not understand the guest's report (its log has the cause)"

func butUnread(f *facts) string {
	if f.unread == nil {
		return ""
	}
	return ", but " + notUnderstood
}

// logUnread logs why a report was not understood, whenever the guest's condition changes, except when only its time is over. The
// guest's words are cleaned and cut because we do not trust it.
func logUnread(ctx context.Context, f *facts) {
	log := ctrl.LoggerFrom(ctx)
	const bootstrap = infrav1.BootstrapSucceededCondition
	newReason := conditions.GetReason(f.windows, bootstrap) != conditions.GetReason(f.original, bootstrap)
	newMessage := conditions.GetMessage(f.windows, bootstrap) != conditions.GetMessage(f.original, bootstrap)
	if !newMessage || newReason && overdue(f) {
		log = log.V(4)
	}
	log.Info("Report of the guest not understood", "vm", f.identity.Name, "error", cloud.Clean(f.unread.Error(), maxLine))
}

// lastBootCondition is how the node's last start went.
func lastBootCondition(boot *infrav1.BootResult) metav1.Condition {
	c := metav1.Condition{Type: infrav1.LastBootSucceededCondition, Status: metav1.ConditionUnknown}
	c.Reason = infrav1.LastBootRunningReason
	switch plan.State(boot.State) {
	case plan.StateSucceeded:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.LastBootSucceededReason
	case plan.StateFailed:
		c.Status, c.Reason = metav1.ConditionFalse, boot.Reason
		c.Message = fmt.Sprintf("at the last start of the node: %s (%s)", boot.Message, boot.Reason)
	}
	return c
}

// activity reads: Bootstrap 4/11 network, step hns-network, 2m of at most 30m.
func activity(p *infrav1.BootstrapProgress, limit time.Duration) string {
	text := "Bootstrap " + p.Phase
	if p.Step != "" {
		text += ", step " + p.Step
	}
	if p.State == string(plan.StateRebooting) {
		text += ", rebooting"
	}
	return text + ", " + spent(p, limit)
}

// success reads: Bootstrap succeeded after 6m10s of at most 30m, with 2 warnings, the last: "defender: exit code 1".
func success(p *infrav1.BootstrapProgress, limit time.Duration) string {
	text := "Bootstrap succeeded after " + spent(p, limit)
	switch n := len(p.Warnings); n {
	case 0:
		return text
	case 1:
		return text + ", with a warning: " + quote(p.Warnings[0])
	default:
		return fmt.Sprintf("%s, with %d warnings, the last: %s", text, n, quote(p.Warnings[n-1]))
	}
}

// failure reads: Bootstrap 9/11 join failed after 3m: exit 1, "the API server's certificate is not signed by this cluster's CA"
// (ApiServerCaMismatch).
func failure(p *infrav1.BootstrapProgress) string {
	text := fmt.Sprintf("Bootstrap %s failed after %s: ", p.Phase, brief(elapsed(p)))
	if p.ExitCode != 0 {
		text += fmt.Sprintf("exit %d, ", p.ExitCode)
	}
	return fmt.Sprintf("%s%s (%s)", text, quote(cause(p)), p.Reason)
}

// quote does not escape: people read the paths of Windows as they are.
func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `'`) + `"` }

// programEnded matches the agent's message when a program ended by itself: alone, or in parentheses after the failure's name.
var programEnded = regexp.MustCompile(`^\S+ ended with exit code -?\d+$| \(\S+ ended with exit code -?\d+\)$`)

// cause is the most telling part of the guest's report: the name of the failure or, when only the exit code is known, the last
// line of the program.
func cause(p *infrav1.BootstrapProgress) string {
	if named := programEnded.ReplaceAllString(p.Message, ""); named != "" {
		return named
	}
	for _, line := range slices.Backward(p.LastLines) {
		if !stackFrame.MatchString(line) {
			return line
		}
	}
	return p.Message
}

// stackFrame matches a line of the stack that programs like kubeadm write after the error.
var stackFrame = regexp.MustCompile(`^\s|^(runtime|main)\.\S+$|^\S+/\S+\.\S+$|^$`)

// spent reads: 2m of at most 30m.
func spent(p *infrav1.BootstrapProgress, limit time.Duration) string {
	text := brief(elapsed(p))
	if limit > 0 {
		text += " of at most " + brief(limit)
	}
	return text
}

// brief leaves out what is zero: 3m and not 3m0s.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
