package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
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

// guestReport is what a guest reports: how its bootstrap goes, how its last start went, and which Windows it is.
type guestReport struct {
	Bootstrap infrav1.BootstrapProgress
	LastBoot  *infrav1.BootResult
	Build     string
	Updated   string // the day of its last update
}

// isIn reports whether there is a report with one of these states.
func (g *guestReport) isIn(states ...plan.State) bool {
	return g != nil && slices.Contains(states, plan.State(g.Bootstrap.State))
}

// readReport decodes a guest's report; nil is none. Any program in the guest can write there: the report is cut to size and
// cleaned before it is shown, and one that makes no sense is an error.
func readReport(report string) (*guestReport, error) {
	if report == "" {
		return nil, nil
	}
	r, err := plan.DecodeReport([]byte(report))
	if err != nil {
		return nil, fmt.Errorf("decode report: %w", err)
	}
	progress := infrav1.BootstrapProgress{
		State:          string(r.State),
		Phase:          cloud.Clean(phaseText(r.Phase), maxName),
		Step:           cloud.Clean(cleanName(r.Step), maxName),
		Reason:         reasonOf(r.State, r.Reason, infrav1.BootstrapFailedReason),
		Message:        cloud.Clean(r.Message, maxMessage),
		ExitCode:       int32(r.ExitCode), //nolint:gosec // because a number that wraps is as trustworthy as any other from the guest
		ElapsedSeconds: seconds(r.Elapsed),
		LastLines:      cleanAll(r.LastLines, maxLine),
		Warnings:       cleanAll(r.Warnings, maxWarning),
		Durations:      durationsOf(r.Durations),
	}
	return &guestReport{
		Bootstrap: progress, LastBoot: bootOf(r.Boot),
		Build: cloud.Clean(cleanName(r.Facts.OS), maxName/2), Updated: dayOf(r.Facts.Updated),
	}, nil
}

// dayOf reads the day of an update; empty if it is none.
func dayOf(text string) string {
	day, err := time.Parse("2 Jan 2006", text)
	if err != nil {
		return ""
	}
	return day.Format(time.DateOnly)
}

// phaseText leaves out the numbers where the guest reported none.
func phaseText(p plan.ReportPhase) string {
	name := cleanName(p.Name)
	if p.Of == 0 {
		return name
	}
	return fmt.Sprintf("%d/%d %s", p.Index, p.Of, name)
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
	var phases []infrav1.PhaseDuration
	for _, name := range bootstrap.PhaseNames() {
		if took, ok := durations[name]; ok {
			phases = append(phases, infrav1.PhaseDuration{Phase: name, Seconds: new(seconds(took))})
		}
	}
	return phases
}

func bootOf(boot *plan.ReportBoot) *infrav1.BootResult {
	if boot == nil {
		return nil
	}
	switch boot.State {
	case plan.StateRunning, plan.StateSucceeded, plan.StateFailed:
		return &infrav1.BootResult{
			State:   string(boot.State),
			Reason:  reasonOf(boot.State, boot.Reason, infrav1.LastBootFailedReason),
			Message: cloud.Clean(boot.Message, maxMessage),
		}
	}
	return nil
}

// takeOver takes a report over into the status. A report without news changes nothing, not even the time of the first one: that
// time has passed is no news.
func takeOver(status *infrav1.WindowsMachineStatus, guest guestReport, now metav1.Time) {
	if guest.Build != "" {
		status.WindowsBuild = guest.Build
	}
	if guest.Updated != "" {
		status.WindowsUpdated = guest.Updated
	}
	if guest.LastBoot != nil {
		status.LastBoot = guest.LastBoot
	}
	published := status.Bootstrap
	if published != nil && guest.LastBoot != nil && guest.LastBoot.State == string(plan.StateRunning) {
		return // while a node runs its everyBoot phases, it reports their phase and durations, not those of its bootstrap
	}
	if published != nil {
		candidate := guest.Bootstrap
		candidate.LastReportTime, candidate.ElapsedSeconds = published.LastReportTime, published.ElapsedSeconds
		if equality.Semantic.DeepEqual(candidate, *published) {
			return
		}
	}
	guest.Bootstrap.LastReportTime = now
	status.Bootstrap = &guest.Bootstrap
}

// seconds makes a number that is not negative and fits the field.
func seconds(value int) int32 { return int32(min(max(value, 0), 1<<30)) }

func cleanAll(lines []string, limit int) []string {
	if len(lines) > maxLines {
		lines = lines[len(lines)-maxLines:]
	}
	var cleaned []string
	for _, line := range lines {
		cleaned = append(cleaned, cloud.Clean(line, limit))
	}
	return cleaned
}

// cleanName leaves only what names of phases and steps have: they stand in our sentences without quotes, so a guest could go on
// with a sentence of its own.
func cleanName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, name)
}
