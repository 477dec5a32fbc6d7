package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// act is what one attempt of a step does.
type act func(ctx context.Context, r *run, step plan.Step) error

// acts are the kinds of the language: first those of programs and files, then those that set up Windows itself and its network.
var acts = map[plan.Kind]act{
	"file":         quick((*run).file),
	"directory":    quick((*run).directory),
	"remove":       quick((*run).remove),
	"reservations": quick((*run).reservations),
	"collectLogs":  slow((*run).collectLogs),
	"service":      slow((*run).service),
	"serviceState": slow((*run).serviceState),
	"run":          slow((*run).runStep),
	"fact":         slow((*run).fact),
	"check":        quick((*run).check),
	"waitFor":      slow((*run).waitFor),

	"registry":           quick((*run).registry),
	"feature":            quick((*run).feature),
	"reboot":             quick((*run).rebootStep),
	"localUser":          quick((*run).localUser),
	"defenderExclusions": quick((*run).defenderExclusions),
	"adapter":            quick((*run).nameAdapter),
	"address":            quick((*run).address),
	"route":              quick((*run).route),
	"hnsNetwork":         slow((*run).hnsNetwork),
	"hnsEndpoint":        quick((*run).hnsEndpoint),
	"hnsCleanup":         quick((*run).hnsCleanup),
}

// quick waits for nothing, slow may.
func quick[S plan.Step](do func(*run, S) error) act {
	return func(_ context.Context, r *run, step plan.Step) error { return do(r, step.(S)) }
}

func slow[S plan.Step](do func(*run, context.Context, S) error) act {
	return func(ctx context.Context, r *run, step plan.Step) error { return do(r, ctx, step.(S)) }
}

// do makes one attempt of a step, of any kind of the language.
func (r *run) do(ctx context.Context, step plan.Step) error {
	step, err := r.resolved(step)
	if err != nil {
		return err
	}
	if act := acts[plan.KindOf(step)]; act != nil {
		return r.aside(ctx, r.patience(step), func() error { return act(ctx, r, step) })
	}
	// Decode refuses any other kind; a kind that is added there and not here must not pass.
	return &failure{reason: "PlanNotUnderstood", message: fmt.Sprintf("step kind '%s' is unknown", plan.KindOf(step)), final: true}
}

// asideSeconds are the kinds that call Windows inside of the agent's process, and how long Windows may take for one.
var asideSeconds = map[plan.Kind]int{
	"waitFor": 300, "feature": 1800, "localUser": 300, "defenderExclusions": 300, "adapter": 300, "address": 300,
	"route": 300, "hnsNetwork": 180, "hnsEndpoint": 180, "hnsCleanup": 180,
}

// patience is how long an attempt of a step may take before it is left behind; 0 is for ever.
func (r *run) patience(step plan.Step) int {
	seconds := asideSeconds[plan.KindOf(step)]
	if seconds == 0 {
		return 0
	}
	return 60 + r.limit(orElse(step.Base().TimeoutSeconds, seconds))
}

// aside leaves what hangs behind, as the script does with its thread.
func (r *run) aside(ctx context.Context, seconds int, do func() error) error {
	begin := r.elapsed()
	err := do()
	if !errors.Is(err, windows.ErrHangs) {
		return err
	}
	wait := begin + seconds - r.elapsed()
	if seconds == 0 {
		wait = 1 << 30 // nobody would see it end
	}
	if err := r.machine.Clock.Sleep(ctx, time.Duration(wait)*time.Second); err != nil {
		return err
	}
	return &failure{message: fmt.Sprintf("Windows has not answered for %d s", seconds), reason: "StepHung"}
}
