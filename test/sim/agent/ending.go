package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// succeed erases, empties the plan, leaves the sentinel, then reports. Each of these may be done twice.
func (r *run) succeed(ctx context.Context) error {
	r.state.StepName = ""
	if err := r.forget(); err != nil {
		return err
	}
	if r.head.keepsEveryBoot() {
		// It has to wait for the next start of the machine.
		if err := r.machine.MarkBoot(); err != nil {
			r.warn("boot marker: " + err.Error())
		}
	}
	if err := patiently(func() error { return r.machine.WriteFile(Sentinel, []byte("success\n"), "") }); err != nil {
		return err
	}
	r.state.State = plan.StateSucceeded
	if err := r.save(); err != nil {
		return err
	}
	return r.finish(ctx)
}

// fail writes the failure down first, so that an end in the middle does not lose it.
func (r *run) fail(ctx context.Context, err error) error {
	problem := asFailure(err)
	s := r.state
	if s == nil || r.boot != nil {
		r.log("%s", problem.message) // the bootstrap stays what it was, and the next start tries again
		return nil
	}
	s.State = plan.StateFailed
	s.Reason = cmp.Or(problem.reason, "InternalError")
	s.Message = r.protect(problem.message, 1000)
	s.ExitCode = problem.exitCode
	if problem.text != "" {
		s.LastLines = r.lastLines(problem.text)
	}
	if err := r.save(); err != nil {
		return err
	}
	if r.head.Logs != nil {
		if err := r.do(ctx, r.head.Logs); err != nil {
			r.warn("logs: " + err.Error())
		}
	}
	if err := r.forget(); err != nil {
		return err
	}
	return r.finish(ctx)
}

// finish reports, and disables the task unless everyBoot needs it, or what could not be erased.
func (r *run) finish(ctx context.Context) error {
	r.lastReport(ctx)
	left := r.head.Erase
	for _, channel := range r.head.Report {
		left = append(left, r.erase(channel.Erase)...)
	}
	if ctx.Err() != nil || len(left) > 0 || r.hasEveryBoot() {
		return ctx.Err()
	}
	if err := r.aside(ctx, 60, func() error { return r.machine.DisableTask(TaskName) }); err != nil {
		r.log("task: %v", err)
	}
	return nil
}

// forget erases the copies of the user data, and all of the plan that reports and everyBoot do not need.
func (r *run) forget() error {
	r.head.Erase = r.erase(r.head.Erase)
	rest := kept{
		Version: r.head.Version, Machine: r.head.Machine, Report: r.head.Report, Erase: r.head.Erase, Phases: []string{}, Ended: true,
	}
	if r.head.keepsEveryBoot() && r.state.State != plan.StateFailed {
		rest.EveryBoot, rest.Background, rest.DeadlineSeconds = r.head.EveryBoot, r.head.Background, r.head.DeadlineSeconds
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return fmt.Errorf("empty the plan: %w", err)
	}
	return r.machine.Keep(Root+`\plan.json`, text)
}

// erase goes on where a pattern cannot be, and gives back those of what is still there.
func (r *run) erase(patterns []plan.Value) []plan.Value {
	left := []plan.Value{}
	for _, pattern := range patterns {
		if err := patiently(func() error { return r.eraseOne(pattern) }); err != nil {
			r.warn("erase: " + err.Error())
			left = append(left, pattern)
		}
	}
	return left
}

func (r *run) eraseOne(pattern plan.Value) error {
	paths, err := r.match([]plan.Value{pattern})
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := r.machine.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// patiently tries as often as the node does while a scanner holds a file. What that costs there, 5 s, is no time of the lab's
// clock.
func patiently(do func() error) error {
	var err error
	for range 25 {
		if err = do(); err == nil {
			return nil
		}
	}
	return err
}

func (r *run) hasEveryBoot() bool {
	return r.state.State == plan.StateSucceeded && r.head.keepsEveryBoot()
}

// works says whether steps run, those of the bootstrap or those of every boot.
func (r *run) works() bool {
	if r.boot != nil {
		return r.boot.State == plan.StateRunning
	}
	return r.state.State == plan.StateRunning
}

// everyBoot runs at a later start of the machine. Its progress is kept in a copy of the state that is never written.
func (r *run) everyBoot(ctx context.Context) error {
	own := r.state
	r.boot = &plan.ReportBoot{State: plan.StateRunning, At: r.stamp()}
	other, err := r.everyBootPhases(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if other {
		r.state = own
		return nil
	}
	if err == nil {
		r.boot.State = plan.StateSucceeded
	} else {
		r.boot = r.bootFailure(r.state.StepName, asFailure(err))
		r.state.Boot = r.boot
		r.always(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	own.Warnings, own.Facts, own.Machine = r.state.Warnings, r.state.Facts, r.state.Machine
	r.state = own
	return r.finishEveryBoot(ctx)
}

func (r *run) everyBootPhases(ctx context.Context) (otherMachine bool, err error) {
	text, err := r.machine.ReadFile(Root + `\plan.json`)
	if err != nil {
		return false, err
	}
	if err := r.decode(text); err != nil {
		return false, err
	}
	r.state = r.state.forBoot(len(r.plan.EveryBoot), r.boot)
	r.startElapsed = 0
	if err := r.findFacts(ctx); err != nil {
		return false, err
	}
	if r.otherMachine() {
		return true, nil
	}
	return false, r.phases(ctx, r.plan.EveryBoot)
}

// always does what a failure, a hang or the deadline must not prevent: the steps behind the one that failed, or behind none,
// that are for always.
func (r *run) always(ctx context.Context) {
	s := r.state
	var rest []plan.Step
	for _, phase := range r.plan.EveryBoot[min(s.Phase, len(r.plan.EveryBoot)):] {
		rest = append(rest, phase.Steps...)
	}
	if s.StepName != "" {
		rest = rest[min(s.Step+1, len(rest)):]
	}
	for _, step := range rest {
		if !step.Base().Always {
			continue
		}
		s.StepName, s.Attempts, s.Tries = step.Base().Name, 0, 0 // the deadline may have left those of another step
		if err := r.step(ctx, step); err != nil && ctx.Err() == nil {
			r.warn(s.StepName + ": " + asFailure(err).message)
		}
	}
}

// bootFailure is what a start of the machine has failed with: everyBoot comes first, the background behind it.
func (r *run) bootFailure(name string, problem *failure) *plan.ReportBoot {
	reason, message := cmp.Or(problem.reason, "InternalError"), problem.message
	if name != "" {
		message = name + ": " + message
	}
	if r.boot.Reason != "" {
		reason, message = r.boot.Reason, r.boot.Message+"; "+message
	}
	return &plan.ReportBoot{State: plan.StateFailed, Reason: reason, Message: r.protect(message, 1000), At: r.stamp()}
}

func (r *run) finishEveryBoot(ctx context.Context) error {
	r.boot.At = r.stamp()
	r.log("every boot: %s %s %s", r.boot.State, r.boot.Reason, r.boot.Message)
	r.state.Boot = r.boot
	if err := r.write(); err != nil {
		return err
	}
	r.lastReport(ctx)
	if ctx.Err() != nil || r.boot.State != plan.StateSucceeded {
		return ctx.Err() // after a failure the task may be started again by hand
	}
	return r.machine.MarkBoot()
}

// failure ends a step.
type failure struct {
	message string
	reason  string
	// final failures get no other attempt and end the bootstrap, even those of optional steps.
	final bool
	// text is what a program wrote, exitCode how it ended.
	text     string
	exitCode int
}

// Error is the message.
func (f *failure) Error() string { return f.message }

func asFailure(err error) *failure {
	if problem, ok := errors.AsType[*failure](err); ok {
		return problem
	}
	return &failure{message: err.Error()}
}

func failf(format string, args ...any) *failure {
	return &failure{message: fmt.Sprintf(format, args...)}
}
