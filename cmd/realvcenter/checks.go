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
	// does is what it does in the vCenter; relies names the code that needs what it proves; decides is how; means is what it means
	// if it does not hold.
	does, relies, decides, means string

	do func(ctx context.Context, r *runner) outcome
}

// checks in their order: the first VM is made by the first that needs it, and removed by the last.
var checks = []check{
	instanceID, limitedRole, cloneIdentity, powerOn, adapters, keyedPushes, taskLeaves,
	eventLog, probeTime, dhcpDisabled, scheduledTask, addressesBehindVSwitch, userDataGone, ownFiles, findAfterRestart, vmLeaves,
}

// outcome of a check.
type outcome struct {
	verdict verdict
	why     string
	seen    map[string]string
}

func unchecked(format string, args ...any) outcome {
	return outcome{verdict: notChecked, why: fmt.Sprintf(format, args...)}
}

// decide says that a check holds, unless something speaks against it.
func decide(seen map[string]string, good string, against ...string) outcome {
	against = slices.DeleteFunc(against, func(text string) bool { return text == "" })
	if len(against) > 0 {
		return outcome{doesNot, strings.Join(against, "; "), seen}
	}
	return outcome{holds, good, seen}
}

// unless is the text when a condition does not hold.
func unless(good bool, format string, args ...any) string {
	if good {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func choose(all []check, names []string) (chosen []check, err error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(c check) bool { return c.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no check %q; -list prints their names", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func describeAll(out io.Writer, all []check) {
	for _, c := range all {
		fmt.Fprintf(out, "  %-26s %s\n", c.name, c.does)
	}
}
