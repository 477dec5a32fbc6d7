package agent

import (
	"context"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// do makes one attempt of a step, of any kind of the language.
func (r *run) do(ctx context.Context, step plan.Step) error {
	step, err := r.resolved(step)
	if err != nil {
		return err
	}
	switch step := step.(type) {
	case *plan.File:
		return r.file(step)
	case *plan.Directory:
		return r.directory(step)
	case *plan.Remove:
		return r.remove(step)
	case *plan.Reservations:
		return r.reservations(step)
	case *plan.CollectLogs:
		return r.collectLogs(ctx, step)
	case *plan.Service:
		return r.service(ctx, step)
	case *plan.ServiceState:
		return r.serviceState(ctx, step)
	case *plan.Run:
		return r.runStep(ctx, step)
	case *plan.Script:
		return r.script(ctx, step)
	case *plan.Fact:
		return r.fact(ctx, step)
	case *plan.Check:
		return r.check(step)
	case *plan.WaitFor:
		return r.waitFor(ctx, step)
	case *plan.SendReport:
		r.report(ctx)
		return nil
	}
	return r.doWindows(ctx, step)
}

// doWindows does the kinds that set up Windows itself and its network.
func (r *run) doWindows(ctx context.Context, step plan.Step) error {
	switch step := step.(type) {
	case *plan.Registry:
		return r.registry(step)
	case *plan.Environment:
		return r.environment(step)
	case *plan.Firewall:
		return r.firewall(step)
	case *plan.Feature:
		return r.feature(step)
	case *plan.Reboot:
		return r.rebootStep(step)
	case *plan.Time:
		return r.time(ctx, step)
	case *plan.LocalUser:
		return r.localUser(step)
	case *plan.PageFile:
		return r.pageFile(step)
	case *plan.DefenderExclusions:
		return r.defenderExclusions(step)
	case *plan.PortRange:
		return r.portRange(ctx, step)
	case *plan.Address:
		return r.address(step)
	case *plan.Route:
		return r.route(step)
	case *plan.HNSNetwork:
		return r.hnsNetwork(ctx, step)
	case *plan.HNSCleanup:
		return r.hnsCleanup(step)
	}
	// Decode refuses any other kind; a kind that is added there and not here must not pass.
	return &failure{reason: "PlanNotUnderstood", message: fmt.Sprintf("step kind '%s' is unknown", plan.KindOf(step)), final: true}
}
