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
)

// progressCondition says what the guest does now. No sentence contains a running clock: each change would be written and wake us.
func progressCondition(f *facts) metav1.Condition {
	c := metav1.Condition{Type: infrav1.BootstrapProgressCondition, Status: metav1.ConditionUnknown}
	told, limit := f.windows.Status.Bootstrap, limitOf(f)
	switch {
	case said(f, plan.StateFailed):
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, told.Reason, failure(told)
	case said(f, plan.StateSucceeded):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, infrav1.BootstrapSucceededReason, success(told, limit)
	case told == nil && joined(f):
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.BootstrapSucceededReason
		c.Message = "the Node has joined; its guest has not reported"
	case told != nil && overdue(f):
		c.Status, c.Reason = metav1.ConditionFalse, infrav1.BootstrapOverdueReason
		c.Message = fmt.Sprintf("%s; the guest has not reported since%s; see the console of VM %s",
			doing(told, limit), butUnread(f), f.windows.Status.ComputerName)
	case overdue(f):
		c.Status, c.Reason = metav1.ConditionFalse, infrav1.GuestSilentReason
		c.Message = fmt.Sprintf("the guest has not reported within its limit of %s and the %s that Windows gets to start%s; "+
			"see the console of VM %s", brief(limit), brief(grace), butUnread(f), f.windows.Status.ComputerName)
	case hadVM(f) && !runs(f):
		// The guest of a VM that is off or gone is not at work; it goes on when its VM is started again.
		provisioned := conditions.Get(f.windows, infrav1.VMProvisionedCondition)
		c.Reason, c.Message = provisioned.Reason, provisioned.Message
		return c
	case told != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, infrav1.BootstrappingReason, doing(told, limit)+butUnread(f)
	case runs(f) && f.unread != nil:
		c.Reason, c.Message = infrav1.WaitingForGuestReason, "the VM is running"+butUnread(f)
	case runs(f):
		c.Reason = infrav1.WaitingForGuestReason
		c.Message = "the VM is running, but its guest has not reported yet; Windows may still be starting"
	default:
		c.Reason, c.Message = infrav1.ProvisioningReason, "no VM is running yet"
	}
	return stands(f, c)
}

// stands keeps what was said last, also of a report that was not understood, while the cloud does not answer.
func stands(f *facts, c metav1.Condition) metav1.Condition {
	known := conditions.Get(f.windows, c.Type)
	if f.vm == nil && known != nil && known.Status == c.Status && known.Reason == c.Reason {
		return *known
	}
	return c
}

// notUnderstood does not quote the report: each change of the status wakes us.
const notUnderstood = "the manager does not understand the guest's report (its log says why)"

func butUnread(f *facts) string {
	if f.unread == nil {
		return ""
	}
	return ", but " + notUnderstood
}

// logUnread logs why a report was not understood, whenever people are told something new of the guest, except that its time is
// over. The guest's words are cleaned and cut because we do not trust it.
func logUnread(ctx context.Context, f *facts) {
	if f.unread == nil {
		return
	}
	log := ctrl.LoggerFrom(ctx)
	const progress = infrav1.BootstrapProgressCondition
	newReason := conditions.GetReason(f.windows, progress) != conditions.GetReason(f.before, progress)
	newMessage := conditions.GetMessage(f.windows, progress) != conditions.GetMessage(f.before, progress)
	if !newMessage || newReason && overdue(f) {
		log = log.V(4)
	}
	log.Info("Report of the guest not understood", "vm", f.identity.Name, "error", clean(f.unread.Error(), maxLine))
}

// succeededCondition says how the bootstrap ended. A Node that has joined proves more than a silent guest; but a guest that
// failed after that has not done everything it was asked for, and we believe it.
func succeededCondition(f *facts, progress metav1.Condition) metav1.Condition {
	c := progress
	c.Type = infrav1.BootstrapSucceededCondition
	switch {
	case said(f, plan.StateFailed), c.Reason == infrav1.BootstrapSucceededReason:
	case joined(f):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, infrav1.BootstrapSucceededReason, "the Node has joined"
	case c.Status == metav1.ConditionTrue: // the guest is at work and not done
		c.Status = metav1.ConditionUnknown
	}
	return c
}

// everyBootCondition says how the node's last start went.
func everyBootCondition(boot *infrav1.BootResult) metav1.Condition {
	c := metav1.Condition{Type: infrav1.EveryBootSucceededCondition, Status: metav1.ConditionUnknown}
	c.Reason = infrav1.EveryBootRunningReason
	switch plan.State(boot.State) {
	case plan.StateSucceeded:
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.EveryBootSucceededReason
	case plan.StateFailed:
		c.Status, c.Reason = metav1.ConditionFalse, boot.Reason
		c.Message = fmt.Sprintf("at the last start of the node: %s (%s)", boot.Message, boot.Reason)
	}
	return c
}

// doing reads: Bootstrap 4/11 network, step hns-network, 2m of at most 30m.
func doing(p *infrav1.BootstrapProgress, limit time.Duration) string {
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

// programEnded matches what the agent says when a program ended by itself: alone, or in parentheses after the failure's name.
var programEnded = regexp.MustCompile(`^\S+ ended with exit code -?\d+$| \(\S+ ended with exit code -?\d+\)$`)

// cause is what tells most of all that the guest says: the name of the failure or, when only the exit code is known, the last
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
