package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// places is what of a plan never comes from a user.
type places struct {
	programs, facts, phases, reasons map[string]bool
	// interpreted are whole command lines of programs that read their arguments as a language.
	interpreted map[string]bool
}

// interpreters read an argument as a program.
var interpreters = []string{"cmd.exe", step.PowerShell, `C:\k\kubectl.exe`}

// placesOf all golden plans: between them they use all that the renderer has.
func placesOf(tb testing.TB) places {
	tb.Helper()
	known := places{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, golden := range goldens {
		known.read(render(tb, plainInput(tb, golden.change)).Plan(), func(set map[string]bool, name string) { set[name] = true })
	}
	clear(known.reasons)
	for _, reason := range bootstrap.Reasons() {
		known.reasons[reason] = true
	}
	return known
}

// check fails for a place that is not known.
func (known places) check(t *testing.T, p *plan.Plan) {
	t.Helper()
	known.read(p, func(set map[string]bool, name string) {
		if !set[name] {
			t.Errorf("%q came into a place that is not the user's", name)
		}
	})
}

// read tells the place of everything that must not come from a user.
func (known places) read(p *plan.Plan, tell func(map[string]bool, string)) {
	for _, channel := range p.Report {
		if channel.Program != nil {
			tell(known.programs, channel.Program.String())
		}
	}
	for _, phase := range slices.Concat(p.Phases, p.EveryBoot, p.Background) {
		tell(known.phases, phase.Name)
		for _, one := range phase.Steps {
			known.step(one, tell)
		}
	}
}

func (known places) step(step plan.Step, tell func(map[string]bool, string)) {
	base := step.Base()
	if base.Reason != "" {
		tell(known.reasons, base.Reason)
	}
	if base.When != nil {
		tell(known.facts, base.When.Fact)
	}
	switch step := step.(type) {
	case *plan.Run:
		known.command(step.Argv, tell)
		known.command(step.Undo, tell)
		for _, rule := range step.Diagnose {
			tell(known.reasons, rule.Reason)
		}
	case *plan.Fact:
		known.command(step.Argv, tell)
		tell(known.facts, step.Set)
	case *plan.Check:
		tell(known.facts, step.Fact)
	}
}

func (known places) command(argv []plan.Value, tell func(map[string]bool, string)) {
	if len(argv) == 0 {
		return
	}
	tell(known.programs, argv[0].String())
	for _, arg := range argv {
		for _, part := range arg {
			if part.Fact != "" {
				tell(known.facts, part.Fact)
			}
		}
	}
	if !slices.Contains(interpreters, argv[0].String()) {
		return
	}
	line := shown(argv)
	// A script of the user has the user's name, in a folder of ours.
	last := len(line) - 1
	if slices.Contains([]string{"-File", "/c"}, line[last-1]) && strings.HasPrefix(line[last], step.OwnDirectory) {
		line = line[:last]
	}
	tell(known.interpreted, strings.Join(line, "\n"))
}
