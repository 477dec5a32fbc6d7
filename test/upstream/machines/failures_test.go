package machines

import (
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// fail has each step of kind run fail once, at all its attempts, with all secrets in what it writes.
func (c *campaign) fail(l *life) {
	for number, at := range l.places {
		if at.Step < 0 || l.inBackground(at) {
			continue
		}
		step, ok := l.stepAt(at).(*plan.Run)
		if !ok {
			c.t.Errorf("%s: %s is no step of kind run", l.machine.Name, at.Name)
			continue
		}
		l.failOnce(c, number, step)
	}
}

func (l *life) stepAt(at savedPlace) plan.Step { return l.phasesAt(at)[at.Phase].Steps[at.Step] }

func (l *life) phasesAt(at savedPlace) []plan.Phase {
	if at.Boot {
		return l.machine.Plan.EveryBoot
	}
	return l.machine.Plan.Phases
}

// inBackground tells whether all phases were done, so that a failure has no consequence.
func (l *life) inBackground(at savedPlace) bool { return at.Phase >= len(l.phasesAt(at)) }

// failure is what a program that fails does, and what the agent must make of it.
type failure struct {
	exit         int
	text, reason string
}

// failureOf takes one of the step's diagnoses in turn, or none of them.
func (l *life) failureOf(number int, step *plan.Run) failure {
	f := failure{text: l.secrets.Spill(), reason: step.Reason}
	exits := []int{77, 1, -1073741502, 5}
	f.exit = exits[number%len(exits)]
	for slices.Contains(step.OkExitCodes, f.exit) || slices.Contains(step.RebootExitCodes, f.exit) {
		f.exit++
	}
	if turn := number % (len(step.Diagnose) + 1); turn < len(step.Diagnose) {
		f.text += sample(step.Diagnose[turn].Match) + "\r\n"
	}
	for _, rule := range step.Diagnose {
		if regexp.MustCompile("(?i)" + rule.Match).MatchString(f.text) {
			f.reason = rule.Reason
			break
		}
	}
	return f
}

func (l *life) failOnce(c *campaign, number int, step *plan.Run) {
	l.t.Helper()
	at, f := l.places[number], l.failureOf(number, step)
	what := "the step " + step.Name + " fails"
	s := l.goTo(at, map[string]any{
		"failAt": map[string]any{"boot": at.Boot, "phase": at.Phase, "step": at.Step, "exit": f.exit, "out": f.text, "err": ""},
		"spill":  l.secrets.Spill(),
	})
	if err := c.run("failures", job{Base: s.base, Act: "restart", Starts: 0}, nil); err != nil {
		c.t.Errorf("%s, %s: %v", l.machine.Name, what, err)
		return
	}
	c.count("failures", 1)
	if failed, _ := s.world()["failed"].(bool); !failed {
		c.t.Errorf("%s, %s: it was not started", l.machine.Name, what)
	}
	s.checkFailure(what, at.Boot, step, f)
	s.checkEnd(c, what)
}

// checkFailure: the state has reason, exit code and a sentence about the program; an optional step is a warning.
func (s *stage) checkFailure(what string, boot bool, step *plan.Run, f failure) {
	s.t.Helper()
	end := s.state()
	program := path.Base(strings.ReplaceAll(step.Argv[0].String(), `\`, "/"))
	names := func(text string) bool { return strings.Contains(text, program) && strings.Contains(text, "exit code") }
	switch {
	case step.Optional:
		told := func(text string) bool { return strings.HasPrefix(text, step.Name+": ") && names(text) }
		if !slices.ContainsFunc(end.Warnings, told) {
			s.t.Errorf("%s, %s: no warning of %s in %q", s.machine.Name, what, program, end.Warnings)
		}
	case boot:
		if end.Boot == nil || end.Boot.State != plan.StateFailed || end.Boot.Reason != f.reason || !names(end.Boot.Message) {
			s.t.Errorf("%s, %s: boot %+v, want %s by %s", s.machine.Name, what, end.Boot, f.reason, program)
		}
	default:
		if end.State != plan.StateFailed || end.Reason != f.reason || end.ExitCode != f.exit || !names(end.Message) {
			s.t.Errorf("%s, %s: %s, reason %s, exit code %d, %q; want Failed, %s, %d, and a word of %s",
				s.machine.Name, what, end.State, end.Reason, end.ExitCode, end.Message, f.reason, f.exit, program)
		}
		if s.machine.Plan.Logs != nil && s.read(s.machine.Plan.Logs.Path.String()) == "" {
			s.t.Errorf("%s, %s: there is no zip of logs", s.machine.Name, what)
		}
		if step.Quiet == (len(end.LastLines) > 0) {
			s.t.Errorf("%s, %s: quiet is %t, and the last lines are %d", s.machine.Name, what, step.Quiet, len(end.LastLines))
		}
	}
}

// sample is a text in which an expression finds something: of alternatives the first.
func sample(expression string) string {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		panic(err) // a plan with it is not valid
	}
	return sampleOf(parsed)
}

func sampleOf(e *syntax.Regexp) string {
	switch e.Op {
	case syntax.OpLiteral:
		return string(e.Rune)
	case syntax.OpCharClass:
		return string(e.Rune[:1])
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpPlus:
		return sampleOf(e.Sub[0])
	case syntax.OpConcat:
		var text strings.Builder
		for _, part := range e.Sub {
			text.WriteString(sampleOf(part))
		}
		return text.String()
	}
	return ""
}
