package machine

import (
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// The limits of the API's fields.
const (
	maxName    = 128
	maxMessage = 1024
	maxLine    = 256
	maxWarning = 512
	maxLines   = 20
	maxNote    = 1024 // of an Event
)

// progressOf reads a guest's report. Any program in the guest can write it, so that it is cut to size, cleaned, and
// shown; a report that makes no sense is none.
func progressOf(report string) (progress *infrav1.BootstrapProgress, windowsBuild string) {
	if report == "" {
		return nil, ""
	}
	r, err := plan.DecodeReport([]byte(report))
	if err != nil {
		return nil, ""
	}
	progress = &infrav1.BootstrapProgress{
		State:          string(r.State),
		Phase:          clean(fmt.Sprintf("%d/%d %s", r.Phase.Index, r.Phase.Of, r.Phase.Name), maxName),
		Step:           clean(r.Step, maxName),
		Reason:         reasonOf(r),
		Message:        clean(r.Message, maxMessage),
		ExitCode:       int32(r.ExitCode), //nolint:gosec // because a number that wraps is as untrue as any other from the guest
		ElapsedSeconds: int32(min(max(r.Elapsed, 0), 1<<30)),
		LastLines:      cleanAll(r.LastLines, maxLine),
		Warnings:       cleanAll(r.Warnings, maxWarning),
	}
	return progress, clean(r.Facts.OS, maxName/2)
}

// reasonOf lets only documented reasons become the reason of a condition.
func reasonOf(r *plan.Report) string {
	if r.State != plan.StateFailed {
		return ""
	}
	for _, known := range bootstrap.Reasons() {
		if known.Name == r.Reason {
			return r.Reason
		}
	}
	return infrav1.BootstrapFailedReason
}

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

// clean leaves printable ASCII of a bounded length.
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
