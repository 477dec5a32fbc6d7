package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// pauseInBackground is between two tries of a step in the background.
const pauseInBackground = 30 * time.Second

// patience is how many seconds a step in the background may fail before that is told.
const patience = 300

// background tries the steps that wait for what others bring, each until it is done. None of it is kept.
func (r *run) background(ctx context.Context) error {
	if !hasPhase(r.head.Background) {
		return nil
	}
	if r.boot == nil {
		r.boot = &plan.ReportBoot{State: plan.StateSucceeded, At: r.stamp()} // from here on nothing is written to the state
	}
	if err := r.knowAgain(ctx); err != nil || r.otherMachine() {
		return err
	}
	other := *r.state
	other.Facts, other.Warnings = maps.Clone(other.Facts), slices.Clone(other.Warnings)
	other.Step, other.Attempts, other.Tries = 1, 0, 0 // the first step of a phase reports
	r.state = &other
	for _, phase := range r.plan.Background {
		for _, step := range phase.Steps {
			if err := r.untilDone(ctx, step); err != nil {
				return err
			}
		}
	}
	return nil
}

// untilDone tries a step without end. What has failed for long is told as a failure of this start of the machine, and later that
// it is done.
func (r *run) untilDone(ctx context.Context, step plan.Step) error {
	told, due := false, r.elapsed()+patience
	for {
		err := r.step(ctx, step)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			break
		}
		if !told && r.elapsed() >= due {
			told = true
			r.tellBoot(ctx, r.bootFailure(step.Base().Name, asFailure(err)))
		}
		if err := r.machine.Clock.Sleep(ctx, pauseInBackground); err != nil {
			return err
		}
		r.state.Attempts, r.state.Tries = 0, 0
	}
	if told {
		r.tellBoot(ctx, r.boot)
	}
	return ctx.Err()
}

func (r *run) tellBoot(ctx context.Context, boot *plan.ReportBoot) {
	r.state.Boot = boot
	r.lastReport(ctx)
}

// knowAgain reads plan and facts in a life of the agent that has run no step before.
func (r *run) knowAgain(ctx context.Context) error {
	if len(r.facts) > 0 {
		return nil
	}
	text, err := r.machine.ReadFile(Root + `\plan.json`)
	if err != nil {
		return err
	}
	if err := r.decode(text); err != nil {
		return err
	}
	return r.findFacts(ctx)
}
