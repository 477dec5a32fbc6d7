package machine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// How much the fields of the API take.
const (
	maxName    = 128
	maxMessage = 1024
	maxLine    = 256
	maxWarning = 512
	maxLines   = 20
	maxNote    = 1024 // of an Event
)

// progressOf reads a guest's report. Any program in the guest can write there: the report is cut to size and cleaned before it
// is shown, and one that makes no sense is an error.
func progressOf(report string) (progress *infrav1.BootstrapProgress, windowsBuild string, err error) {
	if report == "" {
		return nil, "", nil
	}
	r, err := plan.DecodeReport([]byte(report))
	if err != nil {
		return nil, "", fmt.Errorf("decode report: %w", err)
	}
	progress = &infrav1.BootstrapProgress{
		State:          string(r.State),
		Phase:          clean(fmt.Sprintf("%d/%d %s", r.Phase.Index, r.Phase.Of, r.Phase.Name), maxName),
		Step:           clean(r.Step, maxName),
		Reason:         reasonOf(r.State, r.Reason, infrav1.BootstrapFailedReason),
		Message:        clean(r.Message, maxMessage),
		ExitCode:       int32(r.ExitCode), //nolint:gosec // because a number that wraps is as trustworthy as any other from the guest
		ElapsedSeconds: seconds(r.Elapsed),
		LastLines:      cleanAll(r.LastLines, maxLine),
		Warnings:       cleanAll(r.Warnings, maxWarning),
		Durations:      durationsOf(r.Durations),
		EveryBoot:      bootOf(r.Boot),
	}
	return progress, clean(r.Facts.OS, maxName/2), nil
}

// reasonOf lets only documented reasons become the reason of a condition; any other becomes unknown.
func reasonOf(state plan.State, reason, unknown string) string {
	if state != plan.StateFailed {
		return ""
	}
	if slices.Contains(bootstrap.Reasons(), reason) {
		return reason
	}
	return unknown
}

// durationsOf lists the phases that we know, in their order, so that a guest cannot invent any.
func durationsOf(durations map[string]int) []infrav1.PhaseDuration {
	var all []infrav1.PhaseDuration
	for _, name := range bootstrap.PhaseNames() {
		if took, over := durations[name]; over {
			all = append(all, infrav1.PhaseDuration{Phase: name, Seconds: new(seconds(took))})
		}
	}
	return all
}

func bootOf(boot *plan.ReportBoot) *infrav1.BootResult {
	if boot == nil {
		return nil
	}
	switch boot.State {
	case plan.StateRunning, plan.StateSucceeded, plan.StateFailed:
		return &infrav1.BootResult{
			State:   string(boot.State),
			Reason:  reasonOf(boot.State, boot.Reason, infrav1.EveryBootFailedReason),
			Message: clean(boot.Message, maxMessage),
		}
	}
	return nil
}

// takeOver takes a report over into the status. A report without news changes nothing, not even the time of the first one.
func takeOver(status *infrav1.WindowsMachineStatus, told infrav1.BootstrapProgress, now metav1.Time) {
	known := status.Bootstrap
	if known != nil && told.EveryBoot != nil && told.EveryBoot.State == string(plan.StateRunning) {
		// While a node runs its everyBoot phases, it reports their phase and durations, not those of its bootstrap.
		boot := told.EveryBoot
		told = *known.DeepCopy()
		told.EveryBoot = boot
	}
	if known != nil {
		told.LastReportTime = known.LastReportTime
	}
	if known == nil || !equality.Semantic.DeepEqual(told, *known) {
		told.LastReportTime = now
		status.Bootstrap = &told
	}
}

// seconds makes a number that is not negative and fits the field.
func seconds(value int) int32 { return int32(min(max(value, 0), 1<<30)) }

func cleanAll(lines []string, limit int) []string {
	if len(lines) > maxLines {
		lines = lines[len(lines)-maxLines:]
	}
	var all []string
	for _, line := range lines {
		all = append(all, clean(line, limit))
	}
	return all
}

// clean leaves only printable ASCII, up to the limit.
func clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, text)
	if len(text) > limit {
		text = text[:limit-3] + "..."
	}
	return text
}
