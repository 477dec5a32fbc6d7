package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// program runs a program. Those of steps end at the deadline; those of logs, report and reboot have their own time.
func (r *run) program(ctx context.Context, argv []string, limit int, env map[string]string, dir string) (windows.Result, error) {
	seconds := time.Duration(r.limit(limit)) * time.Second
	return r.machine.Run(ctx, windows.Command{Argv: argv, Env: env, Dir: dir, Limit: seconds})
}

// limit cuts a time limit at the deadline, while steps run.
func (r *run) limit(seconds int) int {
	if r.works() {
		seconds = min(seconds, r.deadline()-r.elapsed())
	}
	return max(1, seconds)
}

// tool runs a program of Windows, whose exit code must be one of ok.
func (r *run) tool(ctx context.Context, argv []string, ok ...int) error {
	done, err := r.program(ctx, argv, 60, nil, "")
	if err != nil {
		return err
	}
	if done.TimedOut || !slices.Contains(ok, done.ExitCode) {
		named := strings.Join(argv[:min(3, len(argv))], " ")
		message := fmt.Sprintf("%s: exit code %d", named, done.ExitCode)
		return &failure{message: message, text: done.Text(), exitCode: done.ExitCode}
	}
	return nil
}

// runStep is done when the file that the program creates is there, or when it ends as wanted.
func (r *run) runStep(ctx context.Context, step *plan.Run) error {
	program, argv := step.Program, texts(step.Argv)
	if program.Creates != nil && r.machine.FileExists(program.Creates.String()) {
		return nil
	}
	if err := r.undo(ctx, program); err != nil {
		return err
	}
	env := map[string]string{}
	for name, value := range program.Environment {
		env[name] = value.String()
	}
	limit := orElse(step.TimeoutSeconds, 600)
	done, err := r.program(ctx, argv, limit, env, program.Directory)
	if err != nil {
		return err
	}
	if err := r.keepOutput(step.Name, done); err != nil {
		return err
	}
	switch {
	case done.TimedOut:
	case slices.Contains(program.RebootExitCodes, done.ExitCode):
		r.restart = thenNext
		return nil
	case slices.Contains(program.OkExitCodes, done.ExitCode), len(program.OkExitCodes) == 0 && done.ExitCode == 0:
		return nil
	}
	return diagnose(program, windows.Base(argv[0]), limit, done)
}

// undo clears what is left of an earlier attempt that failed or was cut short.
func (r *run) undo(ctx context.Context, program plan.Program) error {
	if len(program.Undo) == 0 || r.state.Tries < 2 {
		return nil
	}
	_, err := r.program(ctx, texts(program.Undo), 300, nil, "")
	return err
}

func (r *run) keepOutput(step string, done windows.Result) error {
	name := fmt.Sprintf(`%s\logs\%02d-%02d-%s`, Root, r.state.Phase+1, r.state.Step+1, notInName.ReplaceAllString(step, "-"))
	if err := r.machine.Put(name+".out.log", []byte(done.Stdout)); err != nil {
		return err
	}
	return r.machine.Put(name+".err.log", []byte(done.Stderr))
}

// diagnose finds the reason of a program's failure.
func diagnose(program plan.Program, name string, limit int, done windows.Result) error {
	what := fmt.Sprintf("%s ended with exit code %d", name, done.ExitCode)
	if done.TimedOut {
		what = fmt.Sprintf("%s did not end within %d s and was stopped", name, limit)
	}
	if program.Quiet {
		return &failure{message: what + `; its output is in C:\ProgramData\capwin\logs on the node`, exitCode: done.ExitCode}
	}
	problem := &failure{message: what, text: done.Text(), exitCode: done.ExitCode}
	for _, rule := range program.Diagnose {
		found, err := find(rule.Match, done.Text())
		if err != nil {
			return err
		}
		if found != nil {
			problem.message, problem.reason = fmt.Sprintf("%s (%s)", rule.Message, what), rule.Reason
			return problem
		}
	}
	return problem
}

// find matches without regard to case, as the node does: with ECMAScript, IgnoreCase and CultureInvariant of .NET.
func find(expression, text string) ([]string, error) {
	compiled, err := regexp.Compile("(?i)" + expression)
	if err != nil {
		return nil, fmt.Errorf("the expression '%s' is wrong: %w", expression, err)
	}
	at := compiled.FindStringSubmatchIndex(asNet(text))
	var groups []string
	for i := 0; i < len(at); i += 2 {
		groups = append(groups, text[max(0, at[i]):max(0, at[i+1])]) // a group that takes no part is empty
	}
	return groups, nil
}

// asNet is a text of as many bytes that Go matches as .NET matches the text itself, where expressions have ASCII only: a vertical
// tab is a blank, a long s is not an s, and what is beyond the first plane of Unicode counts as two characters.
func asNet(text string) string {
	const letter = "\u05d0" // of two bytes, without case
	var same strings.Builder
	for i, char := range text {
		switch {
		case char == '\v':
			same.WriteByte('\f')
		case char == 'ſ':
			same.WriteString(letter)
		case char > 0xffff:
			same.WriteString(letter + letter)
		default:
			_, size := utf8.DecodeRuneInString(text[i:]) // of what is not UTF-8, one byte
			same.WriteString(text[i : i+size])
		}
	}
	return same.String()
}

func (r *run) fact(ctx context.Context, step *plan.Fact) error {
	text, code, err := r.answer(ctx, step)
	if err != nil {
		return err
	}
	found, err := find(step.Match, text)
	if err != nil {
		return err
	}
	if found == nil {
		return &failure{message: r.sentence(step.Say), text: text, exitCode: code}
	}
	r.setFact(step.Set, strings.TrimSpace(found[min(1, len(found)-1)]))
	return nil
}

// answer is what a program writes, or a value of the registry.
func (r *run) answer(ctx context.Context, step *plan.Fact) (text string, exitCode int, err error) {
	if step.Registry != nil {
		text, err = r.machine.RegistryText(step.Registry.Key, step.Registry.ValueName)
		return text, 0, err
	}
	done, err := r.program(ctx, texts(step.Argv), orElse(step.TimeoutSeconds, 60), nil, "")
	return done.Text(), done.ExitCode, err
}

func (r *run) check(step *plan.Check) error {
	holds, err := r.holds(step.Test)
	if err != nil || holds {
		return err
	}
	return &failure{message: r.sentence(step.Say)}
}

func orElse(value, other int) int {
	if value > 0 {
		return value
	}
	return other
}

// waitFor asks every two seconds whether the condition holds.
func (r *run) waitFor(ctx context.Context, step *plan.WaitFor) error {
	target := step.Target.String()
	if step.Host != nil {
		target = step.Host.String()
	}
	port := int64(0)
	if step.Port != nil {
		var err error
		if port, err = number(step.Port, 32); err != nil {
			return err
		}
	}
	probe, err := r.probe(step, target, int(port))
	if err != nil {
		return err
	}
	return r.waitUntil(ctx, probe, orElse(step.TimeoutSeconds, 300), func() string { return r.sentence(step.Say) })
}

// probe looks once whether a condition holds.
type probe func(ctx context.Context) (bool, error)

func (r *run) probe(step *plan.WaitFor, target string, port int) (probe, error) {
	path := "/healthz"
	if step.Path != nil {
		path = step.Path.String()
	}
	server := windows.Server{Host: target, Port: port, Path: path, CA: step.CA, Insecure: step.Insecure}
	look := func(answers bool, seen string, err error) (bool, error) {
		r.problem = seen
		return answers, err
	}
	switch step.For {
	case plan.ForHTTPS:
		return func(ctx context.Context) (bool, error) { return look(r.machine.HTTPSAnswers(ctx, server)) }, nil
	case plan.ForClock:
		server.Insecure = true
		return func(ctx context.Context) (bool, error) { return r.clockIsRight(ctx, server, step.WithinSeconds) }, nil
	case plan.ForFile:
		return func(context.Context) (bool, error) { return r.machine.FileExists(target), nil }, nil
	case plan.ForPipe:
		return func(context.Context) (bool, error) { return r.machine.PipeAnswers(target) }, nil
	case plan.ForAddress:
		return func(context.Context) (bool, error) { return r.hasAddress(target) }, nil
	}
	return nil, failf("cannot wait for '%s'", step.For)
}

// clockIsRight measures by how much the clock is wrong. A server that tells no date does not tell that it is.
func (r *run) clockIsRight(ctx context.Context, server windows.Server, within int) (bool, error) {
	ahead, known, err := r.machine.ClockOffset(ctx, server)
	if err != nil || !known {
		return true, err
	}
	offset := fmt.Sprintf("%d s ahead of", ahead)
	if ahead < 0 {
		offset = fmt.Sprintf("%d s behind", -ahead)
	}
	r.setFact(plan.FactClockOffset, offset)
	return max(ahead, -ahead) <= within, nil
}

// waitUntil ends at the deadline, even when the step is optional. The sentence may tell what was measured meanwhile.
func (r *run) waitUntil(ctx context.Context, holds probe, seconds int, what func() string) error {
	end, pause := r.elapsed()+seconds, 2*time.Second
	if seconds > 600 { // what may take days is not asked for at every moment
		pause = 15 * time.Second
	}
	for r.problem = ""; ; {
		done, err := holds(ctx)
		if err != nil || done {
			return err
		}
		if err := r.checkDeadline(); err != nil {
			return err
		}
		if r.elapsed() >= end {
			message := fmt.Sprintf("%s after %d s", what(), seconds)
			if r.problem != "" {
				message += " (" + r.problem + ")"
			}
			return failf("%s", message)
		}
		if err := r.machine.Clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
