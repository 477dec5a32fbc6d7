package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

func printPlan(m *machine, _ options, s streams) error {
	p := m.plan
	if p == nil {
		return fmt.Errorf("the plan in Secret %s cannot be read by this release: use the one that rendered it", m.storedIn)
	}
	fmt.Fprintf(s.out, "Machine %s/%s of Cluster %s becomes Node %s, %s.\n",
		p.Machine.Namespace, p.Machine.Name, p.Machine.Cluster, p.Machine.Node, m.owner.Spec.Version)
	_, err := io.WriteString(s.out, tell(p))
	return err
}

// tell is the plan in words, without its secrets.
func tell(p *plan.Plan) string {
	var text strings.Builder
	tellFrame(&text, p)
	for i, phase := range p.Phases {
		tellPhase(&text, fmt.Sprint(i+1), phase, p.Redact)
	}
	if len(p.EveryBoot) > 0 {
		text.WriteString("\nAt every later boot:\n")
	}
	for i, phase := range p.EveryBoot {
		tellPhase(&text, fmt.Sprintf("B%d", i+1), phase, p.Redact)
	}
	return mask(text.String(), p.Redact)
}

// What an interpreter takes for 0.
const (
	defaultDeadline = 1800
	defaultReboots  = 5
)

// tellFrame says what holds for all steps.
func tellFrame(text *strings.Builder, p *plan.Plan) {
	fmt.Fprintf(text, "It has %s", seconds(cmp.Or(p.DeadlineSeconds, defaultDeadline)))
	if reboots := cmp.Or(p.MaxReboots, defaultReboots); reboots != defaultReboots {
		fmt.Fprintf(text, " and %d reboots", reboots)
	}
	text.WriteString(" for it, else BootstrapTimeout.\n")
	for _, channel := range p.Report {
		fmt.Fprintf(text, "It reports how far it is by %s.\n", tellChannel(channel))
	}
	if p.Logs != nil {
		fmt.Fprintf(text, "When it fails: %s.\n", sentences[plan.KindOf(p.Logs)](p.Logs))
	}
	if len(p.Erase) > 0 {
		fmt.Fprintf(text, "When it is over, however it ends, it deletes %s.\n", values(p.Erase))
	}
}

func tellChannel(channel plan.Channel) string {
	switch channel.Do {
	case plan.ChannelGuestInfo:
		return "the guest variable " + channel.Key
	case plan.ChannelAzure:
		return "Azure's host agent at " + channel.URL + ", failures only"
	}
	return "the serial port " + cmp.Or(channel.Port, "that is its standard output")
}

// tellPhase masks before it makes one line of a sentence: a secret may have several.
func tellPhase(text *strings.Builder, number string, phase plan.Phase, secrets []string) {
	fmt.Fprintf(text, "\n%s. %s\n", number, phase.Name)
	for i, step := range phase.Steps {
		fmt.Fprintf(text, "   %s.%d %s: %s.\n", number, i+1, step.Base().Name, oneLine(mask(sentenceOf(step), secrets)))
		fmt.Fprintf(text, "       %s.\n", endOf(step))
	}
}

func oneLine(text string) string { return strings.NewReplacer("\r", "", "\n", `\n`).Replace(text) }

// sentenceOf says what the step changes, and when it is left out.
func sentenceOf(step plan.Step) string {
	say, known := sentences[plan.KindOf(step)]
	if !known {
		return "does what this release has no words for: " + string(plan.KindOf(step))
	}
	if when := step.Base().When; when != nil {
		return "only if " + test(*when) + ": " + say(step)
	}
	return say(step)
}

// endOf says how the step fails, and what it may take until then.
func endOf(step plan.Step) string {
	base := step.Base()
	said := []string{"Fails with " + reasonOf(step)}
	if base.Optional {
		said[0] = "Is optional: " + reasonOf(step) + " is a warning"
	}
	if base.TimeoutSeconds > 0 {
		said = append(said, "within "+seconds(base.TimeoutSeconds))
	}
	if base.Attempts > 1 {
		attempts := fmt.Sprintf("%d attempts", base.Attempts)
		if base.DelaySeconds != nil {
			attempts += ", " + seconds(*base.DelaySeconds) + " apart"
		}
		said = append(said, attempts)
	}
	return strings.Join(said, "; ")
}

// reasonOf the step's failure; a program may give others by what it writes.
func reasonOf(step plan.Step) string {
	reason := step.Base().Reason
	if reason == "" {
		reason = plan.KindOf(step).DefaultReason()
	}
	var others []string
	for _, rule := range diagnoses(step) {
		if rule.Reason != reason && !slices.Contains(others, rule.Reason) {
			others = append(others, rule.Reason)
		}
	}
	if len(others) == 0 {
		return reason
	}
	return reason + ", or by what it writes " + strings.Join(others, ", ")
}

func diagnoses(step plan.Step) []plan.Diagnosis {
	switch step := step.(type) {
	case *plan.Run:
		return step.Diagnose
	case *plan.Script:
		return step.Diagnose
	}
	return nil
}

// seconds are written as 90s, 15m or 1h: without the zeros that Go adds.
func seconds(n int) string {
	text := (time.Duration(n) * time.Second).String()
	for _, unit := range []string{"m", "h"} {
		if before, ok := strings.CutSuffix(text, unit+"0s"); ok {
			text = before + unit
		}
		if before, ok := strings.CutSuffix(text, unit+"0m"); ok {
			text = before + unit
		}
	}
	return text
}
