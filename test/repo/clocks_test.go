package repo

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"testing"
)

// clocked are the functions of tests that wait for the clock of the computer or compare a time with a limit, outside of a bubble
// of testing/synctest, by their reason. A busy computer is slow: a test that needs a clock for what it asserts is red there, and
// one that waits for nothing to happen proves little. So this list may only get shorter.
var clocked = map[string][]string{
	"who calls it is in a bubble": {
		"controllers/fresh/sweep_test.go sweepWrite", "controllers/guests/guests_test.go pass",
		"controllers/identities/identities_test.go pass", "controllers/machine/console_test.go looks",
		"controllers/machine/identity_test.go connected", "controllers/machine/lifestage_test.go look",
		"cmd/clusterctl-windows/remote/guard_test.go RoundTrip",
		"cmd/clusterctl-windows/smoke/serverfails_test.go TestListsFailLater",
		"cmd/clusterctl-windows/smoke/serverfails_test.go TestNewNamespace", "internal/workload/line_test.go later",
		"test/suites/health/loop_test.go rest",
	},
	"it plays a program that does something again and again": {
		"internal/cloud/azure/contract_test.go ticks",
		"test/suites/cost/azure/life_test.go restart", "test/suites/frontdoor/calico_test.go run",
		"test/suites/frontdoor/cloudprovider_test.go repeat",
		"test/suites/frontdoor/watch_test.go watch", "test/suites/security/crowd/server_test.go withoutPause",
	},
	"it plays a server that is slow": {
		"internal/cloud/vsphere/late_test.go TestLateAnswerOfDestroy",
		"internal/cloud/azure/drip_test.go Read", "internal/cloud/azure/login/hostile_test.go dripping",
	},
	"it is a time of the account or of its controller, made short": {
		"internal/cloud/vsphere/proved_test.go goes", "internal/cloud/vsphere/vcenter_test.go prompt",
	},
	"it measures, and its figure is of a time": {
		"test/suites/cost/azure/life_test.go TestSecondProcess", "test/suites/cost/large_test.go outage",
		"test/suites/cost/stage_test.go await",
		"test/suites/linux/keeper_figures_test.go watched",
	},
	"it measures all the time": {"internal/cloud/azure/manylists_test.go heapOf"},
	"it bounds a hang alone": {
		"internal/cloud/vsphere/calls_test.go driven", "internal/cloud/vsphere/tasks_test.go tasksDrive",
		"internal/cloud/vsphere/unmarked_test.go wakesAlone",
		"test/sim/windows/machine_test.go await", "test/upstream/machines/worker_test.go do",
	},
	"it interrupts at moments that are spread over a call": {
		"test/suites/plugin/interrupt_test.go TestInterruptedRender", "test/suites/plugin/interrupt_test.go TestInterruptedTwice",
	},
	"it asserts that something does not come, which a busy machine cannot make red": {
		"test/suites/frontdoor/leftout_test.go noPodRuns",
	},
	"it asserts that something does not come before its time": {
		"test/suites/linux/kubeadm_test.go stalls", "test/suites/linux/keeping_test.go keptFirst",
	},
	"it compares a date with one that is an hour off": {
		"test/sim/windows/tools_test.go TestFastClockAndWrongDate",
	},
}

// waits are the calls that let the clock of the computer decide when a test goes on.
var waits = []string{"time.Sleep", "time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Tick"}

// TestClocks keeps the clock of the computer out of what tests assert. What waits for something that happens takes test/kit/wait,
// whose limit only bounds a hang; what has to last takes a bubble.
func TestClocks(t *testing.T) {
	known, met := map[string]bool{}, map[string]bool{}
	for _, functions := range clocked {
		for _, name := range functions {
			known[name] = true
		}
	}
	for _, s := range sources(t) {
		for _, declared := range s.file.Decls {
			function, is := declared.(*ast.FuncDecl)
			if !is || !s.isTest || inBubble(function) {
				continue
			}
			at := clockIn(function)
			if at == nil {
				continue
			}
			name := s.path + " " + function.Name.Name
			met[name] = true
			if !known[name] {
				t.Errorf("%s: %s waits for the computer's clock or has a limit in an assertion; use test/kit/wait, log the time, "+
					"or run it in a bubble", s.position(at), function.Name.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !met[name] {
			t.Errorf("%s needs no clock any more; take it off the list", name)
		}
	}
	t.Logf("%d functions of tests need the computer's clock", len(known))
}

func inBubble(function *ast.FuncDecl) (bubble bool) {
	ast.Inspect(function, func(n ast.Node) bool {
		bubble = bubble || selected(n) == "synctest.Test"
		return !bubble
	})
	return bubble
}

// clockIn is where a function waits, or compares what time.Since says.
func clockIn(function *ast.FuncDecl) (at ast.Node) {
	since := map[string]bool{}
	measured := func(n ast.Expr) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			name, is := n.(*ast.Ident)
			found = found || is && since[name.Name] || selected(n) == "time.Since"
			return !found
		})
		return found
	}
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if slices.Contains(waits, selected(n)) {
				at = n
			}
		case *ast.AssignStmt:
			if name, is := n.Lhs[0].(*ast.Ident); is && measured(n.Rhs[0]) {
				since[name.Name] = true
			}
		case *ast.BinaryExpr:
			if slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}, n.Op) && (measured(n.X) || measured(n.Y)) {
				at = n
			}
		}
		return at == nil
	})
	return at
}
