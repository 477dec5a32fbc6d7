package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// check is one thing that we rely on and no simulator proves.
type check struct {
	name string
	// effect is what it does in the vCenter; relies names the code that needs what it proves; decides is how; means is what it means
	// if it does not hold.
	effect, relies, decides, means string

	run func(ctx context.Context, r *runner) outcome
}

// checks in their order: the first VM is made by the first that needs it, and removed by the last.
var checks = []check{
	instanceID, limitedRole, cloneIdentity, powerOn, adapters, keyedPushes, taskLeaves,
	eventLog, probeTime, dhcpDisabled, scheduledTask, addressesBehindVSwitch, userDataGone, ownFiles, findAfterRestart, vmLeaves,
}

// onVM checks the VM that most checks look at.
func onVM(run func(context.Context, *runner, *machine) outcome) func(context.Context, *runner) outcome {
	return func(ctx context.Context, r *runner) outcome {
		m, err := r.vm(ctx)
		if err != nil {
			return unchecked("%v", err)
		}
		return run(ctx, r, m)
	}
}

// outcome of a check.
type outcome struct {
	verdict verdict
	reason  string
	seen    map[string]string
}

func unchecked(format string, args ...any) outcome {
	return outcome{verdict: notChecked, reason: fmt.Sprintf(format, args...)}
}

// decide returns that a check holds, unless there are faults.
func decide(seen map[string]string, good string, faults ...string) outcome {
	faults = slices.DeleteFunc(faults, func(text string) bool { return text == "" })
	if len(faults) > 0 {
		return outcome{doesNot, strings.Join(faults, "; "), seen}
	}
	return outcome{holds, good, seen}
}

// require returns the text if the condition does not hold.
func require(good bool, format string, args ...any) string {
	if good {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func choose(checks []check, names []string) (chosen []check, err error) {
	if len(names) == 0 {
		return checks, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(checks, func(c check) bool { return c.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no check %q; -list prints their names", name)
		}
		chosen = append(chosen, checks[i])
	}
	return chosen, nil
}

func describeAll(out io.Writer, checks []check) {
	for _, c := range checks {
		fmt.Fprintf(out, "  %-26s %s\n", c.name, c.effect)
	}
}
