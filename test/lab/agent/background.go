package agent

import (
	"context"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// pauseInBackground is between two tries of a step in the background.
const pauseInBackground = 30 * time.Second

// background tries the steps that wait for what others bring, each until it is done. None of it is kept or told.
func (r *run) background(ctx context.Context) error {
	if len(r.head.Background) == 0 {
		return nil
	}
	if r.boot == nil {
		r.boot = &plan.ReportBoot{State: plan.StateSucceeded} // from here on nothing is written to the state
	}
	if err := r.knowAgain(ctx); err != nil || r.otherMachine() {
		return err
	}
	r.state = r.state.forBoot(0, nil)
	r.state.Step = 1 // the first step of a phase reports
	for _, phase := range r.plan.Background {
		for _, step := range phase.Steps {
			for r.step(ctx, step) != nil {
				if err := r.machine.Clock.Sleep(ctx, pauseInBackground); err != nil {
					return err
				}
				r.state.Attempts, r.state.Tries = 0, 0
			}
		}
	}
	return nil
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
