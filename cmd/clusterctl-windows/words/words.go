// Package words describes a plan in sentences: each phase, each step, what it changes, and how it fails. The sentences of the
// kinds of steps are in sentences.go and kinds.go, the limits of time in times.go.
package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// Tell returns the plan in words.
func Tell(p *plan.Plan) string {
	var text strings.Builder
	tellFrame(&text, p)
	for i, phase := range p.Phases {
		tellPhase(&text, fmt.Sprint(i+1), phase)
	}
	if len(p.EveryBoot) > 0 {
		text.WriteString("\nAt every later boot:\n")
	}
	for i, phase := range p.EveryBoot {
		tellPhase(&text, fmt.Sprintf("B%d", i+1), phase)
	}
	if len(p.Background) > 0 {
		text.WriteString("\nAfter that, in the background, until it is done:\n")
	}
	for i, phase := range p.Background {
		tellPhase(&text, fmt.Sprintf("W%d", i+1), phase)
	}
	return text.String()
}

// The defaults of an interpreter, which apply to 0.
const (
	defaultDeadline = 1800
	defaultReboots  = 5
)

// tellFrame describes what applies to all steps.
func tellFrame(text *strings.Builder, p *plan.Plan) {
	for _, channel := range p.Report {
		fmt.Fprintf(text, "It reports its progress through %s.\n", tellChannel(channel))
	}
	if p.Logs != nil {
		fmt.Fprintf(text, "If it fails, it %s.\n", sentences[plan.KindOf(p.Logs)](p.Logs))
	}
	if len(p.Erase) > 0 {
		fmt.Fprintf(text, "When it ends, successful or not, it deletes %s.\n", values(p.Erase))
	}
}

func tellChannel(channel plan.Channel) string {
	switch channel.Do {
	case plan.ChannelGuestInfo:
		return "the guest variable " + channel.Key
	case plan.ChannelAzure:
		return "Azure's host agent at " + channel.URL + " (failures only)"
	}
	if channel.Do == plan.ChannelReplace {
		return "its own object in the workload cluster" + clause(", and deletes after its last report ", values(channel.Erase))
	}
	if channel.Port == "" {
		return "its standard output"
	}
	return "the serial port " + channel.Port
}

func tellPhase(text *strings.Builder, number string, phase plan.Phase) {
	fmt.Fprintf(text, "\n%s. %s\n", number, phase.Name)
	for i, step := range phase.Steps {
		fmt.Fprintf(text, "   %s.%d %s: %s.\n", number, i+1, step.Base().Name, OneLine(sentenceOf(step)))
		fmt.Fprintf(text, "       %s.\n", endOf(step))
	}
}

// Step describes a step as Tell does, without its number.
func Step(step plan.Step) []string {
	return []string{OneLine(sentenceOf(step)) + ".", endOf(step) + "."}
}

// OneLine keeps a text, which is not trusted, from looking like several lines.
func OneLine(text string) string { return strings.NewReplacer("\r", "", "\n", `\n`).Replace(text) }

// sentenceOf describes what the step changes, and under which condition.
func sentenceOf(step plan.Step) string {
	say, ok := sentences[plan.KindOf(step)]
	if !ok {
		return "does something that this release cannot describe: " + string(plan.KindOf(step))
	}
	if condition := step.Base().When; condition != nil {
		return "only if " + question(*condition) + ": " + say(step)
	}
	return say(step)
}

// endOf describes how the step fails, and how long and how often it is tried before that.
func endOf(step plan.Step) string {
	base := step.Base()
	parts := []string{"Fails with " + reasonOf(step)}
	if base.Optional {
		parts[0] = "Is optional: a failure is the warning " + reasonOf(step)
	}
	if base.TimeoutSeconds > 0 {
		parts = append(parts, "within "+seconds(base.TimeoutSeconds))
	}
	if base.Attempts > 1 {
		attempts := fmt.Sprintf("%d attempts", base.Attempts)
		if base.DelaySeconds != nil {
			attempts += ", " + seconds(*base.DelaySeconds) + " apart"
		}
		parts = append(parts, attempts)
	}
	return strings.Join(parts, "; ")
}

// reasonOf returns the reason of the step's failure, and the other reasons that the output of its program can lead to.
func reasonOf(step plan.Step) string {
	reason := cmp.Or(step.Base().Reason, plan.KindOf(step).DefaultReason())
	var alternatives []string
	for _, rule := range diagnoses(step) {
		if rule.Reason != reason && !slices.Contains(alternatives, rule.Reason) {
			alternatives = append(alternatives, rule.Reason)
		}
	}
	if len(alternatives) == 0 {
		return reason
	}
	return reason + " (or, depending on its output, " + strings.Join(alternatives, ", ") + ")"
}

func diagnoses(step plan.Step) []plan.Diagnosis {
	if run, ok := step.(*plan.Run); ok {
		return run.Diagnose
	}
	return nil
}

// seconds writes a duration as 1m30s, 15m or 1h, without the zeros that Go adds.
func seconds(n int) string {
	text := (time.Duration(n) * time.Second).String()
	for _, unit := range []string{"m", "h"} {
		if prefix, ok := strings.CutSuffix(text, unit+"0s"); ok {
			text = prefix + unit
		}
		if prefix, ok := strings.CutSuffix(text, unit+"0m"); ok {
			text = prefix + unit
		}
	}
	return text
}
