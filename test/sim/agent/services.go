package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// service makes a service or changes it in place, because one that is deleted cannot always be made again before a reboot.
func (r *run) service(ctx context.Context, step *plan.Service) error {
	wanted := settings{
		image: windows.JoinArguments(texts(step.Command)), start: string(cmp.Or(step.Start, plan.StartAuto)),
		depends: strings.Join(texts(step.DependsOn), "/"),
	}
	have, err := r.serviceSettings(step.Service)
	if err != nil {
		return err
	}
	if windows.Same(have.depends, wanted.depends) && have.image == wanted.image && have.start == wanted.start {
		return nil
	}
	return r.configure(ctx, step.Service, have, wanted)
}

// settings of a service, as the registry has them. An empty image means that there is no service.
type settings struct{ image, start, depends string }

func (r *run) serviceSettings(name string) (settings, error) {
	values := map[string]windows.RegistryValue{}
	for _, one := range []string{"ImagePath", "Start", "DelayedAutostart", "DependOnService"} {
		value, _, err := r.machine.ReadRegistry(windows.ServicesKey+`\`+name, one)
		if err != nil {
			return settings{}, err
		}
		values[one] = value
	}
	have := settings{image: values["ImagePath"].Text, depends: strings.Join(values["DependOnService"].List, "/")}
	switch values["Start"].Number {
	case 2:
		have.start = string(plan.StartAuto)
		if values["DelayedAutostart"].Number == 1 {
			have.start = string(plan.StartDelayedAuto)
		}
	case 3:
		have.start = string(plan.StartDemand)
	case 4:
		have.start = string(plan.StartDisabled)
	}
	return have, nil
}

func (r *run) configure(ctx context.Context, name string, have, wanted settings) error {
	verb := "create"
	if have.image != "" {
		verb = "config"
	}
	if strings.Contains(strings.ToLower(have.image), "nssm.exe") {
		if err := r.bring(ctx, name, windows.Stopped, 60); err != nil {
			return err
		}
		if err := r.machine.ClearRegistry(windows.ServicesKey + `\` + name + `\Parameters`); err != nil {
			return err
		}
	}
	argv := []string{"sc.exe", verb, name, "binPath=", wanted.image, "start=", wanted.start, "obj=", "LocalSystem"}
	switch {
	case wanted.depends != "":
		argv = append(argv, "depend=", wanted.depends)
	case have.image != "":
		argv = append(argv, "depend=", "/") // which removes them
	}
	return r.tool(ctx, argv, 0)
}

func (r *run) serviceState(ctx context.Context, step *plan.ServiceState) error {
	have, err := r.machine.ServiceState(step.Service)
	if err != nil {
		return err
	}
	if have == windows.Absent {
		return failf("service %s does not exist", step.Service)
	}
	limit := orElse(step.TimeoutSeconds, 60)
	states := map[string][]string{
		plan.ServiceRunning:   {windows.Running},
		plan.ServiceStopped:   {windows.Stopped},
		plan.ServiceRestarted: {windows.Stopped, windows.Running},
	}[step.State]
	if states == nil {
		return failf("service state '%s' is unknown", step.State)
	}
	others, err := r.machine.Dependents(step.Service)
	if err != nil {
		return err
	}
	for _, state := range states {
		if err := r.bring(ctx, step.Service, state, limit); err != nil {
			return err
		}
	}
	if step.State != plan.ServiceRestarted {
		return nil
	}
	return r.bringAll(ctx, others, windows.Running, limit)
}

func (r *run) bringAll(ctx context.Context, names []string, wanted string, limit int) error {
	for _, name := range names {
		if err := r.bring(ctx, name, wanted, limit); err != nil {
			return err
		}
	}
	return nil
}

// bring starts or stops a service and waits until it has. It leaves a service that does not exist alone.
func (r *run) bring(ctx context.Context, name, wanted string, limit int) error {
	have, err := r.machine.ServiceState(name)
	if err != nil || have == wanted || have == windows.Absent {
		return err
	}
	verb, already := "start", 1056
	if wanted == windows.Stopped {
		verb, already = "stop", 1062
	}
	const cannotAcceptNow = 1061
	what := func() string { return fmt.Sprintf("service %s is not %s", name, wanted) }
	// A service that is on its way takes no order.
	settled := func(context.Context) (bool, error) {
		have, err = r.machine.ServiceState(name)
		return !strings.HasSuffix(have, "Pending"), err
	}
	if err := r.waitUntil(ctx, settled, limit, what); err != nil {
		return err
	}
	if have, err = r.machine.ServiceState(name); err != nil || have == wanted {
		return err
	}
	if wanted == windows.Stopped {
		others, err := r.machine.Dependents(name)
		if err == nil {
			err = r.bringAll(ctx, others, wanted, limit)
		}
		if err != nil {
			return err
		}
	}
	if err := r.tool(ctx, []string{"sc.exe", verb, name}, 0, already, cannotAcceptNow); err != nil {
		return err
	}
	return r.waitUntil(ctx, r.serviceIs(name, wanted), limit, what)
}

func (r *run) serviceIs(name, wanted string) probe {
	return func(context.Context) (bool, error) {
		state, err := r.machine.ServiceState(name)
		return state == wanted, err
	}
}
