// Package agent carries out a plan on a simulated Windows. It was written from the description of the language
// (bootstrap/plan, bootstrap/plan/vectors) and is the second interpreter, next to the PowerShell that real machines run.
//
// It lives as the agent of a real machine does: a task starts it at every boot, it may be killed at any moment, and it goes
// on from C:\ProgramData\capwin\state.json.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Where the agent lives, what it is called, and what it leaves when all is done.
const (
	Root     = `C:\ProgramData\capwin`
	Sentinel = `C:\run\cluster-api\bootstrap-success.complete`
	TaskName = "capwin-agent"
)

// restart is what a step asks for: a reboot, and then the next step or the same one again.
type restart string

const (
	thenNext  restart = "next"
	thenAgain restart = "again"
)

// run is one life of the agent's process.
type run struct {
	machine *windows.Machine
	head    head
	plan    *plan.Plan
	state   *state
	facts   map[string]string
	restart restart
	// copied says that the disk is a copy of another machine's.
	copied bool
	// boot is the result of everyBoot, from its start until the process ends.
	boot *plan.ReportBoot
	// problem is what the last probe of a wait saw.
	problem string
	// secrets are never told; see secrets.go.
	secrets      []*regexp.Regexp
	redact       []string
	started      time.Time
	startElapsed int
}

// Run carries out the plan on the machine until it has ended or reboots. The end of ctx is a kill, after which Run writes
// nothing.
func Run(ctx context.Context, machine *windows.Machine) error {
	release, mine := machine.Lock(Root + `\agent.lock`)
	if !mine {
		return errors.New("another agent is at work")
	}
	defer release()
	r := &run{machine: machine, facts: map[string]string{}, started: machine.Clock.Now()}
	err := r.carryOut(ctx)
	if err == nil && ctx.Err() == nil && r.hasEveryBoot() {
		err = r.background(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	return r.fail(ctx, err)
}

func (r *run) carryOut(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	if len(r.facts) > 0 && r.otherMachine() {
		return nil
	}
	marked, err := r.machine.BootMarked()
	switch {
	case err != nil:
		return err
	case r.state.State == plan.StateRebooting && marked:
		return r.shutdown(ctx)
	case r.state.over():
		return r.startAgain(ctx, marked)
	}
	r.state.State = plan.StateRunning
	if err := r.phases(ctx, r.plan.Phases); err != nil || r.restart != "" {
		return err
	}
	return r.succeed(ctx)
}

// startAgain is a start after the end.
func (r *run) startAgain(ctx context.Context, marked bool) error {
	if err := r.forget(); err != nil {
		return err
	}
	if r.hasEveryBoot() && !marked {
		return r.everyBoot(ctx)
	}
	return r.finish(ctx)
}

// load reads plan, state and facts. A plan that it does not understand ends the bootstrap before anything is changed.
func (r *run) load(ctx context.Context) error {
	text, err := r.machine.ReadFile(Root + `\plan.json`)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // decode refuses a missing plan
	}
	r.head = readHead(text)
	if r.state, err = r.readState(); err != nil {
		return err
	}
	r.startElapsed = r.state.Elapsed
	r.readSecrets(nil)
	if r.state.over() {
		return nil
	}
	if err := r.decode(text); err != nil {
		return err
	}
	r.readSecrets(r.plan.Phases)
	r.state.Phases = max(r.state.Phases, len(r.plan.Phases))
	if err := r.findFacts(ctx); err != nil {
		return err
	}
	r.state.SMBIOS = cmp.Or(r.state.SMBIOS, r.facts[plan.FactSMBIOS])
	return nil
}

func (r *run) decode(text []byte) error {
	var err error
	if r.plan, err = plan.Decode(text); err == nil {
		return nil
	}
	message := err.Error()
	if wrong, ok := errors.AsType[*plan.Error](err); ok {
		message = wrong.Message
	}
	return &failure{reason: "PlanNotUnderstood", message: message, final: true}
}

// phases runs what is left of a list of phases.
func (r *run) phases(ctx context.Context, phases []plan.Phase) error {
	s := r.state
	for s.Phase < len(phases) {
		phase := phases[s.Phase]
		s.PhaseName = phase.Name
		for s.Step < len(phase.Steps) {
			step := phase.Steps[s.Step]
			s.StepName = step.Base().Name
			if err := r.step(ctx, step); err != nil {
				return err
			}
			if r.restart != "" && r.boot != nil {
				r.warn(s.StepName + ": asks for a reboot, which everyBoot does not do")
				r.restart = ""
			}
			if r.restart != "" {
				return r.reboot(ctx)
			}
			s.Step++
		}
		now := r.elapsed()
		s.Durations[s.PhaseName] = now - s.PhaseElapsed
		s.PhaseElapsed = now
		s.Phase++
		s.Step = 0
		if err := r.save(); err != nil {
			return err
		}
	}
	return nil
}

// step makes the attempts of one step.
func (r *run) step(ctx context.Context, step plan.Step) error {
	base, s := step.Base(), r.state
	if base.When != nil {
		holds, err := r.holds(*base.When)
		if err != nil {
			return err // this is not the step's failure: it is unknown whether to run it
		}
		if !holds {
			r.log("skip %s", base.Name)
			return nil
		}
	}
	limit, delay := max(1, base.Attempts), 5*time.Second
	if base.DelaySeconds != nil {
		delay = time.Duration(*base.DelaySeconds) * time.Second
	}
	var problem *failure
	for {
		if err := r.checkDeadline(); err != nil {
			return err
		}
		err := r.attempt(ctx, step, limit)
		if err == nil || ctx.Err() != nil {
			s.Attempts, s.Tries = 0, 0
			return ctx.Err()
		}
		problem = asFailure(err)
		r.log("%s", problem.message)
		s.Attempts++
		if problem.final || s.Attempts >= limit {
			break
		}
		if err := r.machine.Clock.Sleep(ctx, delay); err != nil {
			return err
		}
	}
	s.Attempts, s.Tries = 0, 0
	if base.Optional && !problem.final {
		r.warn(base.Name + ": " + problem.message)
		return nil
	}
	problem.reason = cmp.Or(problem.reason, base.Reason, plan.KindOf(step).DefaultReason())
	return problem
}

// attempt writes down that it has begun: after a kill, the step is made again.
func (r *run) attempt(ctx context.Context, step plan.Step, limit int) error {
	s := r.state
	s.Tries++
	if err := r.save(); err != nil {
		return err
	}
	if s.Step == 0 && s.Tries == 1 {
		r.report(ctx)
	}
	r.log("%s %s, attempt %d of %d", plan.KindOf(step), step.Base().Name, s.Attempts+1, limit)
	return r.do(ctx, step)
}

// reboot writes down what comes after it before it asks for it.
func (r *run) reboot(ctx context.Context) error {
	s, limit := r.state, orElse(r.plan.MaxReboots, 5)
	if s.Reboots >= limit {
		message := fmt.Sprintf("rebooted %d times, and '%s' wants another", limit, s.StepName)
		return &failure{reason: "TooManyReboots", message: message, final: true}
	}
	if r.restart == thenNext {
		s.Step++
	}
	s.Reboots++
	s.State = plan.StateRebooting
	if err := r.machine.MarkBoot(); err != nil {
		return cannotRestart(err)
	}
	if err := r.save(); err != nil {
		return err
	}
	r.report(ctx)
	return r.shutdown(ctx)
}

func (r *run) shutdown(ctx context.Context) error {
	r.log("reboot")
	// 1115 and 1190: another restart is in progress, or is scheduled.
	err := r.tool(ctx, []string{"shutdown.exe", "/r", "/t", "5", "/f", "/d", "p:2:4"}, 0, 1115, 1190)
	if err != nil {
		return cannotRestart(err)
	}
	return nil
}

func cannotRestart(err error) error {
	problem := asFailure(err)
	problem.reason, problem.message = "RebootFailed", "the machine cannot be restarted: "+problem.message
	return problem
}
