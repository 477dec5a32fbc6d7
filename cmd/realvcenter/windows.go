package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// ending is how the bootstrap of the VM ended, and what its guest reported.
type ending struct {
	report    *plan.Report // nil if the guest reported no end
	err       error        // why
	answers   map[string]any
	addresses []string // its addresses before the end
}

// answer is a text of a guest's answer.
func (e ending) answer(name string) string {
	if value, ok := e.answers[name]; ok {
		return fmt.Sprint(value)
	}
	return ""
}

// seen are answers, and why there are none.
func (e ending) seen(topic string, names ...string) map[string]string {
	seen := map[string]string{"report": string(e.report.State)}
	for _, name := range append(names, topic+"Error") {
		if text := e.answer(name); text != "" {
			seen[name] = text
		}
	}
	return seen
}

// guestEnd waits once until the guest has reported how its bootstrap ended.
func (r *runner) guestEnd(ctx context.Context) ending {
	if r.guest == nil {
		end := r.awaitEnd(ctx)
		r.guest = &end
	}
	return *r.guest
}

func (r *runner) awaitEnd(ctx context.Context) (end ending) {
	if r.config.NoWindows {
		end.err = errors.New("the config says that the template is not Windows")
		return end
	}
	m, err := r.vm(ctx)
	if err != nil {
		end.err = err
		return end
	}
	r.say("    waiting for Windows, for at most %s", r.times.guest)
	end.report, end.err = r.await(ctx, m, func(report plan.Report) bool {
		if vm, err := r.account.Observe(ctx, m.Machine); err == nil && report.State == plan.StateRunning {
			end.addresses = slices.Compact(slices.Sorted(slices.Values(append(end.addresses, internalIPs(vm)...))))
		}
		return report.State == plan.StateSucceeded || report.State == plan.StateFailed
	})
	if end.err != nil {
		end.report = nil
		return end
	}
	text, err := r.witness.read(ctx, m.ref, keyed(probeKey))
	if err == nil {
		err = unpack(option(text[keyed(probeKey)]), &end.answers)
	}
	if err != nil {
		end.answers = map[string]any{"eventLogError": err.Error()}
	}
	return end
}

// await waits for a report of the guest.
func (r *runner) await(ctx context.Context, m *machine, good func(plan.Report) bool) (*plan.Report, error) {
	var latest *plan.Report
	err := poll(ctx, r.times.poll, r.times.guest, func(ctx context.Context) (bool, error) {
		vm, err := r.account.Observe(ctx, m.Machine)
		if err != nil && !mayPass(err) {
			return false, err
		}
		report, err := plan.DecodeReport([]byte(vm.Report))
		if err != nil || report.Phase.Name == "" {
			return false, nil //nolint:nilerr // because the guest has not reported yet, or something else wrote there
		}
		ok := good(*report)
		if latest == nil || latest.Phase.Name != report.Phase.Name || latest.State != report.State {
			r.say("    Windows: %s, phase %s", report.State, report.Phase.Name)
		}
		latest = report
		return ok, nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && latest == nil:
		return nil, fmt.Errorf("the guest did not report within %s; -guest sets how long to wait", r.times.guest)
	case err != nil && latest == nil:
		return nil, fmt.Errorf("the guest did not report: %w", err)
	case err != nil:
		return latest, fmt.Errorf("the guest reported last %s in phase %s, step %s: %w", latest.State, latest.Phase.Name, latest.Step,
			err)
	}
	return latest, nil
}

func unpack(text string, target any) error {
	if text == "" {
		return errors.New("the guest told no answers")
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("read the guest's answers: %w", err)
	}
	if err := json.Unmarshal(data, target); err != nil {
		return fmt.Errorf("read the guest's answers: %w", err)
	}
	return nil
}

func internalIPs(vm cloud.VM) (ips []string) {
	for _, address := range vm.Addresses {
		if address.Type == clusterv1.MachineInternalIP {
			ips = append(ips, address.Address)
		}
	}
	return ips
}

func sameHost(guest, name string) bool {
	short, _, _ := strings.Cut(guest, ".")
	return strings.EqualFold(short, name)
}

// onWindows makes a check of the guest's answers. It decides only when all of them are there.
func onWindows(
	topic string, names []string, judge func(ending) (good string, faults []string),
) func(context.Context, *runner) outcome {
	return func(ctx context.Context, r *runner) outcome {
		end := r.guestEnd(ctx)
		if end.report == nil {
			return unchecked("%v", end.err)
		}
		seen := end.seen(topic, names...)
		for _, name := range names {
			if end.answer(name) == "" {
				return outcome{notChecked, "the guest did not tell: see Seen", seen}
			}
		}
		good, faults := judge(end)
		return decide(seen, good, faults...)
	}
}

var eventLog = check{
	name:    "event-log",
	effect:  "has Windows bootstrap with a secret in its plan, and looks for that in the PowerShell event log, as SYSTEM",
	relies:  "bootstrap/scripts: no PowerShell text holds the plan; docs/images.md says where its secrets are",
	decides: "no event 4103 or 4104 has the secret, or packed data",
	means: "Secrets of a node reach the event log of Windows. If a policy turns on module logging (4103), " +
		"docs/images.md says so; else tell us.",
	run: onWindows("eventLog", []string{"events", "eventsWithCanary", "eventsWithPacked", "logsEveryScript"},
		func(e ending) (string, []string) {
			return "no event has the secret or packed data", []string{
				require(e.answer("eventsWithCanary") == "0", "%s events have the secret", e.answer("eventsWithCanary")),
				require(e.answer("eventsWithPacked") == "0", "%s events have packed data", e.answer("eventsWithPacked")),
			}
		}),
}

// A kube-apiserver closes a connection over which nothing was asked for 32 s.
const longestChain = 30.0

var probeTime = check{
	name: "probe-time",
	effect: "blocks TCP 80 and 443 in the guest's firewall, and measures how long Windows takes to check an unknown " +
		"certificate",
	relies:  "Test-Issuer in bootstrap/scripts/steps.ps1, and the timeouts of its steps in bootstrap/discovery.go",
	decides: "one check takes less than 30 s",
	means:   "The check of the API server may fail on a healthy node without egress, with ApiServerCaMismatch.",
	run: onWindows("probe", []string{"chainSeconds"}, func(e ending) (string, []string) {
		seconds, _ := e.answers["chainSeconds"].(float64)
		return fmt.Sprintf("it took %.1f s", seconds), []string{require(seconds < longestChain, "it took %.1f s", seconds)}
	}),
}

var dhcpDisabled = check{
	name: "dhcp-disabled",
	effect: "switches DHCP off on an adapter with a lease, looks at its address at once and after 10 s, and switches " +
		"DHCP on again",
	relies:  "Invoke-AddressStep in bootstrap/scripts/steps.ps1: an address by DHCP does not count as there",
	decides: "after 10 s the address is gone, or it is still one of DHCP; never one that looks as if it had been set",
	means:   "A static address equal to a lease may be taken for set, and be lost later.",
	run: onWindows("lease", []string{"leaseAtOnce", "leaseAfter10s"}, func(e ending) (string, []string) {
		origin := e.answer("leaseAfter10s")
		return "at once: " + e.answer("leaseAtOnce") + ", after 10 s: " + origin, []string{
			require(origin == "gone" || origin == "Dhcp", "after 10 s its origin is %s", origin),
		}
	}),
}

var scheduledTask = check{
	name: "scheduled-task",
	effect: "registers a task with the settings of the agent's, starts it twice at once, has it fail, and counts its " +
		"runs",
	relies:  "Register-Agent in bootstrap/scripts/loader.ps1: a second start is ignored, and nothing relies on restarts",
	decides: "two starts are one run",
	means:   "Two agents may run at once; their lock file then keeps the second one out.",
	run: onWindows("task", []string{"taskRuns", "taskRunsLater"}, func(e ending) (string, []string) {
		restarts := "an exit code of 1 does not start it again"
		if e.answer("taskRunsLater") != e.answer("taskRuns") {
			restarts = "an exit code of 1 starts it again"
		}
		return restarts, []string{require(e.answer("taskRuns") == "1", "two starts are %s runs", e.answer("taskRuns"))}
	}),
}
