package agent

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

var (
	joinToken    = regexp.MustCompile(`[a-z0-9]{6}\.[a-z0-9]{16}`)
	notPrintable = regexp.MustCompile(`[^\x20-\x7e]+`)
	lineEnd      = regexp.MustCompile(`\r?\n|\r`)
	notInName    = regexp.MustCompile(`[^\w.-]`)
)

// protect makes one line of printable ASCII, without secrets, of a limited length.
func (r *run) protect(text string, limit int) string {
	clean := notPrintable.ReplaceAllString(r.hide(text), " ")
	if len(clean) > limit {
		return clean[:limit-3] + "..."
	}
	return clean
}

// lastLines are the last 20 lines that are not blank, 200 characters each.
func (r *run) lastLines(text string) []string {
	lines := slices.DeleteFunc(r.safeLines(text), func(line string) bool { return strings.TrimSpace(line) == "" })
	lines = lines[max(0, len(lines)-20):]
	for i, line := range lines {
		lines[i] = r.protect(line, 200)
	}
	return lines
}

// warn keeps a warning once, at most 20 of them.
func (r *run) warn(message string) {
	text := r.protect(message, 300)
	r.log("warning: %s", message)
	if len(r.state.Warnings) < 20 && !slices.Contains(r.state.Warnings, text) {
		r.state.Warnings = append(r.state.Warnings, text)
	}
}

func (r *run) log(format string, args ...any) {
	line := r.stamp() + " " + r.protect(fmt.Sprintf(format, args...), 2000) + "\r\n"
	_ = r.machine.Append(Root+`\agent.log`, []byte(line)) // a log that cannot be written must not end a bootstrap
}

// report writes report.json and sends it. It never fails the bootstrap: a channel that does not work is a line in the log.
func (r *run) report(ctx context.Context) { r.reportTo(ctx, 1) }

// lastReport is tried more than once, because no later report replaces it.
func (r *run) lastReport(ctx context.Context) { r.reportTo(ctx, 3) }

func (r *run) reportTo(ctx context.Context, tries int) {
	text, err := r.reportText()
	if err == nil {
		err = r.machine.Keep(Root+`\report.json`, []byte(text))
	}
	if err != nil {
		r.log("report: %s", err)
		return
	}
	for _, channel := range r.head.Report {
		r.sendTo(ctx, channel, text, tries)
	}
}

func (r *run) sendTo(ctx context.Context, channel plan.Channel, text string, tries int) {
	for try := 1; ; try++ {
		err := r.send(ctx, channel, text)
		if err == nil {
			return
		}
		r.log("report %s: %s", channel.Do, err)
		if try >= tries || r.machine.Clock.Sleep(ctx, 10*time.Second) != nil {
			return
		}
	}
}

func (r *run) send(ctx context.Context, channel plan.Channel, text string) error {
	switch channel.Do {
	case plan.ChannelGuestInfo:
		program, err := r.resolve(channel.Program)
		if err != nil {
			return err
		}
		return r.tool(ctx, []string{program, "info-set " + channel.Key + " " + text}, 0)
	case plan.ChannelAzure:
		return r.sendAzure(ctx, channel.URL)
	case plan.ChannelConsole:
		return r.sendConsole(channel.Port)
	case plan.ChannelReplace:
		return r.sendObject(ctx, channel, text)
	}
	return fmt.Errorf("channel '%s' is unknown", channel.Do)
}

// sendObject has a program write an object, with the first login that lets it.
func (r *run) sendObject(ctx context.Context, channel plan.Channel, text string) error {
	path := Root + `\object.json`
	r.facts[plan.FactReport], r.facts[plan.FactObject] = text, path
	body, err := r.resolveTree(map[string]any(channel.Body))
	if err != nil {
		return err
	}
	content, err := windows.PlainJSON(body)
	if err != nil {
		return err
	}
	if err := r.machine.Keep(path, []byte(content)); err != nil {
		return err
	}
	err = failf("no file to log in with is there yet")
	for _, login := range channel.Logins {
		if !r.machine.FileExists(login.String()) {
			continue
		}
		r.facts[plan.FactLogin] = login.String()
		if err = r.sendWith(ctx, channel.Argv); err == nil {
			return nil
		}
	}
	return err
}

func (r *run) sendWith(ctx context.Context, values []plan.Value) error {
	var argv []string
	for _, value := range values {
		text, err := r.resolve(value)
		if err != nil {
			return err
		}
		argv = append(argv, text)
	}
	return r.tool(ctx, argv, 0)
}

func (r *run) reportText() (string, error) {
	s := r.state
	report := plan.Report{
		Version: plan.Version, UID: s.UID, State: s.State, Reason: r.protect(s.Reason, 63), Message: s.Message,
		Phase: plan.ReportPhase{Index: min(s.Phase+1, s.Phases), Of: s.Phases, Name: r.protect(s.PhaseName, 100)},
		Step:  r.protect(s.StepName, 100), ExitCode: s.ExitCode, Reboots: s.Reboots, Elapsed: s.Elapsed,
		LastLines: s.LastLines, Warnings: s.Warnings, Durations: s.Durations,
		Facts: r.reportFacts(),
		At:    r.stamp(), Boot: s.Boot,
	}
	if r.boot == nil {
		report.Elapsed = r.elapsed()
	}
	text, err := r.encode(report)
	for err == nil && len(text) > plan.MaxReportBytes-384 && len(report.LastLines)+len(report.Warnings) > 0 {
		report.LastLines = report.LastLines[min(5, len(report.LastLines)):]
		report.Warnings = report.Warnings[min(5, len(report.Warnings)):]
		text, err = r.encode(report)
	}
	return text, err
}

// reportFacts are those that Windows told last: it may not answer, and is not asked at a start after the end.
func (r *run) reportFacts() plan.ReportFacts {
	short := func(name string) string { return r.protect(r.state.Machine[name], 64) }
	return plan.ReportFacts{
		OS: short(plan.FactOSBuild) + "." + short(plan.FactOSUBR), MemoryMiB: short(plan.FactMemoryMiB), CPUs: short(plan.FactCPUs),
		Updated: r.protect(r.state.Facts[plan.FactUpdated], 64),
	}
}

// encode writes ASCII, whatever the names in a plan are made of.
func (r *run) encode(report plan.Report) (string, error) {
	plain, err := windows.PlainJSON(report)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, char := range plain {
		switch {
		case char < 0x80:
			text.WriteRune(char)
		case char < 0x10000:
			fmt.Fprintf(&text, `\u%04x`, char)
		default:
			fmt.Fprintf(&text, `\u%04x\u%04x`, 0xd800+(char-0x10000)>>10, 0xdc00+(char-0x10000)&0x3ff)
		}
	}
	return text.String(), nil
}

// sendAzure tells the host of failures only; cloudbase-init tells it that the machine is ready.
func (r *run) sendAzure(ctx context.Context, url string) error {
	if r.state.State != plan.StateFailed {
		return nil
	}
	said := r.markedFailure()
	body, err := windows.PlainJSON(map[string]any{
		"state": "NotReady", "details": map[string]any{"subStatus": "ProvisioningFailed", "description": said},
	})
	if err != nil {
		return err
	}
	_, err = r.machine.Web(ctx, http.MethodPost, url+"/provisioning/health", said, []byte(body))
	return err
}

// markedFailure has the mark that tells a guest's own word from what the host says by itself.
func (r *run) markedFailure() string {
	s := r.state
	names := []string{s.UID, s.PhaseName, s.StepName, s.Reason, strconv.Itoa(s.ExitCode)}
	for i, name := range names {
		names[i] = notInName.ReplaceAllString(name, "-")
	}
	return r.protect(plan.Mark+strings.Join(names, "|")+"|"+s.Message, 480)
}

func (r *run) sendConsole(port string) error {
	s := r.state
	step := notInName.ReplaceAllString(r.protect(s.StepName, 100), "-")
	line := fmt.Sprintf("CAPWIN uid=%s phase=%d/%d step=%s state=%s reason=%s",
		s.UID, min(s.Phase+1, s.Phases), s.Phases, step, s.State, r.protect(s.Reason, 63))
	return r.machine.WriteSerial(port, line)
}
