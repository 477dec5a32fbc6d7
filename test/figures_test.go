package test

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// figures are all times of the product: how long it waits, keeps things and lets others take. A user feels each of them, so that
// one that changes is changed here, too. A constant has its name; what has none has the name of its function.
var figures = map[string]string{
	"addBootstrap":                                "1m0s",
	"addControllerFlags":                          "30m0s",
	"addLeaderFlags":                              "15s 10s 2s",
	"bootstrap/kubelet.fieldRules":                "1s 1s 3s",
	"bootstrap/kubelet.shutdownGrace":             "1m0s",
	"bootstrap/kubelet.shutdownGraceCritical":     "20s",
	"cmd/clusterctl-windows.smokeCommand":         "10m0s",
	"cacheWait":                                   "500ms",
	"controllerOptions":                           "50ms 1m0s",
	"controllers/addresses.strayAfter":            "1m0s",
	"controllers/credentials.every":               "10s",
	"controllers/credentials.next":                "1s",
	"controllers/credentials.pace":                "200ms",
	"controllers/credentials.patience":            "10s",
	"controllers/fresh.memory":                    "30s",
	"controllers/fresh.patience":                  "1s",
	"controllers/fresh.pause":                     "10ms",
	"controllers/guests.Start":                    "1m0s",
	"controllers/guests.firstPause":               "2s",
	"controllers/guests.forget":                   "30m0s",
	"controllers/guests.goodWatch":                "1m0s",
	"controllers/guests.longestPause":             "1m0s",
	"controllers/guests.keep":                     "10m0s",
	"controllers/guests.patience":                 "1m0s",
	"controllers/guests.settle":                   "10s",
	"controllers/guests.unasked":                  "24h0m0s",
	"controllers/identities.every":                "10s",
	"controllers/identities.keep":                 "30m0s",
	"controllers/identities.pace":                 "200ms",
	"controllers/identities.patience":             "10s",
	"controllers/linux.kubeadmAfter":              "5m0s",
	"controllers/machine.betweenHints":            "1s",
	"controllers/machine.censusTimeout":           "5s",
	"controllers/machine.cniLimit":                "15m0s",
	"controllers/machine.consoleLate":             "2m0s",
	"controllers/machine.grace":                   "15m0s",
	"controllers/machine.nodeLimit":               "10m0s",
	"controllers/machine.pace":                    "10s",
	"controllers/machine.reread":                  "1m0s",
	"controllers/machine.slowPace":                "1m0s",
	"controllers/noderights.every":                "1m0s",
	"controllers/noderights.recheck":              "10m0s",
	"controllers/noderights.retryRefused":         "15s",
	"controllers/noderights.revokeAfter":          "10m0s",
	"controllers/noderights.tellAgain":            "30m0s",
	"controllers/orphans.Lasts":                   "10m0s",
	"controllers/orphans.every":                   "1m0s",
	"controllers/owner.patience":                  "5s",
	"controllers/phase.again":                     "500ms",
	"controllers/phase.secrets":                   "15s",
	"controllers/phase.slow":                      "2m0s",
	"controllers/phase.soon":                      "5s",
	"controllers/placement.Lasts":                 "10m0s",
	"controllers/placement.versionTime":           "2m0s",
	"controllers/placement.window":                "1m0s",
	"controllers/placement.askAgain":              "1m0s",
	"controllers/placement.calm":                  "1s",
	"controllers/placement.every":                 "1m0s",
	"controllers/placement.firstPause":            "2s",
	"controllers/placement.goodWatch":             "1m0s",
	"controllers/placement.listTime":              "15s",
	"controllers/placement.longestDoubt":          "1h0m0s",
	"controllers/placement.longestPause":          "1m0s",
	"controllers/placement.patience":              "1m0s",
	"controllers/placement.recheck":               "10m0s",
	"controllers/placement.retry":                 "15s",
	"controllers/placement.settle":                "2s",
	"controllers/placement.writePause":            "10s",
	"internal/apiserver.NewTransport":             "1m0s",
	"internal/cloud/accounts.KeepUnused":          "30m0s",
	"internal/cloud/accounts.firstPause":          "1s",
	"internal/cloud/accounts.lastPause":           "30s",
	"internal/cloud/accounts.lately":              "1m0s",
	"internal/cloud/accounts.pause":               "1s",
	"internal/cloud/accounts.quiet":               "1m0s",
	"internal/cloud/accounts.steady":              "1m0s",
	"internal/cloud/accounts.sweepEvery":          "1m0s",
	"internal/cloud/accounts.tellEvery":           "1s",
	"internal/cloud/azure.adapterAgain":           "1m0s",
	"internal/cloud/azure.adapterPatience":        "2m0s",
	"internal/cloud/azure.adapterTime":            "5s",
	"internal/cloud/azure.takenFor":               "5m0s",
	"internal/cloud/azure.begunFor":               "5m0s",
	"internal/cloud/azure.brokenAt":               "15s",
	"internal/cloud/azure.callTimeout":            "30s",
	"internal/cloud/azure.deniedAt":               "30s",
	"internal/cloud/azure.everySecond":            "1s",
	"internal/cloud/azure.firstList":              "1s",
	"internal/cloud/azure.idleList":               "2m0s",
	"internal/cloud/azure.idlePowers":             "1m0s",
	"internal/cloud/azure.keptFor":                "24h0m0s",
	"internal/cloud/azure.listSizes":              "1s",
	"internal/cloud/azure.listVMs":                "1s",
	"internal/cloud/azure.oldEnough":              "10m0s",
	"internal/cloud/azure.open":                   "1s",
	"internal/cloud/azure.patience":               "1h0m0s",
	"internal/cloud/azure.probing":                "2m0s",
	"internal/cloud/azure.doubtsAfter":            "1h0m0s",
	"internal/cloud/azure.searchEvery":            "30s",
	"internal/cloud/azure.seekAgain":              "2m0s",
	"internal/cloud/azure.sizesAgain":             "5m0s",
	"internal/cloud/azure.sizesFor":               "24h0m0s",
	"internal/cloud/azure.sweepEvery":             "10m0s",
	"internal/cloud/azure.whileBusy":              "15s",
	"internal/cloud/azure/fault.later":            "1m0s",
	"internal/cloud/azure/fault.longestWait":      "1h0m0s",
	"internal/cloud/azure/fault.quotaWait":        "10m0s",
	"internal/cloud/azure/fault.reserved":         "3m0s",
	"internal/cloud/azure/fault.retryAfter":       "1ms 1ms 1s 1s",
	"internal/cloud/azure/fault.scarce":           "1h0m0s",
	"internal/cloud/azure/fault.shortestWait":     "1s",
	"internal/cloud/azure/fault.shortly":          "5s",
	"internal/cloud/azure/fault.slowly":           "5m0s",
	"internal/cloud/azure/fault.soon":             "15s",
	"internal/cloud/azure/limiter.forgotten":      "2m0s",
	"internal/cloud/azure/limiter.until":          "1s 1ms 1ms",
	"internal/cloud/azure/skus.again":             "1h0m0s",
	"internal/cloud/azure/login.calls":            "1m0s",
	"internal/cloud/azure/login.idleWait":         "1m30s",
	"internal/cloud/azure/login.late":             "1h0m0s",
	"internal/cloud/azure/login.logs":             "10s",
	"internal/cloud/azure/login.retryAfter":       "1s",
	"internal/cloud/azure/login.reused":           "30s",
	"internal/cloud/azure/login.slowly":           "5m0s",
	"internal/cloud/azure/login.soon":             "15s",
	"internal/cloud/azure/login.tlsWait":          "10s",
	"internal/cloud/azure/login.tokens":           "30s",
	"internal/cloud/azure/next.again":             "2m0s",
	"internal/cloud/azure/next.Apart":             "30s",
	"internal/cloud/azure/next.groupGone":         "10m0s",
	"internal/cloud/azure/next.lag":               "10m0s",
	"internal/cloud/azure/next.remnant":           "10m0s",
	"internal/cloud/vsphere.firstPause":           "30s",
	"internal/cloud/vsphere.firstSnapshot":        "1m0s",
	"internal/cloud/vsphere.gatherTasks":          "3s",
	"internal/cloud/vsphere.guestsTime":           "10s",
	"internal/cloud/vsphere.keepGone":             "1m0s",
	"internal/cloud/vsphere.keptFor":              "24h0m0s",
	"internal/cloud/vsphere.lastPause":            "5m0s",
	"internal/cloud/vsphere.lateRequest":          "30s",
	"internal/cloud/vsphere.leaveTimeout":         "5s",
	"internal/cloud/vsphere.maxWait":              "3m0s",
	"internal/cloud/vsphere.pollAfter":            "15s",
	"internal/cloud/vsphere.pushTime":             "30s",
	"internal/cloud/vsphere.readAgain":            "10m0s",
	"internal/cloud/vsphere/inspect.maxSkew":      "30s",
	"internal/cloud/vsphere/inspect.skew":         "1s",
	"internal/cloud/vsphere/places.keepAbsent":    "30s",
	"internal/cloud/vsphere/places.keepPlaces":    "10m0s",
	"internal/cloud/vsphere/session.CallTimeout":  "30s",
	"internal/cloud/vsphere/session.afterRefusal": "5m0s",
	"internal/cloud/vsphere/session.busyPause":    "1s",
	"internal/cloud/vsphere/session.keepIdle":     "4m0s",
	"internal/cloud/vsphere/session.loginTimeout": "15s",
	"internal/cloud/vsphere/session.lookAgain":    "1m0s",
	"internal/cloud/vsphere/session.pause":        "30s",
	"internal/cloud/vsphere/session.probeEvery":   "5s",
	"internal/cloud/vsphere/session.probeTimeout": "5s",
	"internal/plugin/management.readTime":         "5m0s",
	"internal/plugin/progress.every":              "1s",
	"internal/plugin/progress.plainEvery":         "10s",
	"internal/plugin/remote.answerTime":           "30s",
	"internal/plugin/remote.kubeletSilence":       "15s",
	"internal/plugin/remote.silence":              "8s",
	"internal/plugin/smoke.askTimeout":            "15s",
	"internal/plugin/smoke.connectBound":          "2m0s",
	"internal/plugin/smoke.connectTimeout":        "10s",
	"internal/plugin/smoke.every":                 "1s",
	"internal/plugin/smoke.finalizing":            "2m0s",
	"internal/plugin/smoke.makeTime":              "16s",
	"internal/plugin/smoke.newAPI":                "30s",
	"internal/plugin/smoke.schedulePatience":      "30s",
	"internal/plugin/smoke.seconds":               "100ms",
	"internal/plugin/smoke.settling":              "20s",
	"internal/plugin/smoke.silence":               "30s",
	"internal/plugin/topology.longest":            "1m0s",
	"internal/plugin/topology.often":              "10ms",
	"internal/workload.Start":                     "1m0s",
	"internal/workload.answerTime":                "10s",
	"internal/workload.callTime":                  "5s",
	"internal/workload.calmTime":                  "2s",
	"internal/workload.connectTime":               "3s",
	"internal/workload.firstPause":                "5s",
	"internal/workload.followTime":                "5m0s",
	"internal/workload.fresh":                     "4s",
	"internal/workload.kubeadmServes":             "1m0s",
	"internal/workload.longestPause":              "1m20s",
	"internal/workload.patience":                  "1s",
	"internal/workload.reread":                    "3m0s",
	"internal/workload.rereadFailed":              "10s",
	"internal/workload.watching":                  "1m0s",
	"internal/workload.unused":                    "15m0s",
	"longestPass":                                 "2m0s",
	"minSyncPeriod":                               "1m0s",
	"minTokenTTL":                                 "1m0s",
	"mostSkew":                                    "10s",
	"aheadOf":                                     "1s",
	"newFlags":                                    "10m0s",
}

// TestFigures compares them with the code.
func TestFigures(t *testing.T) {
	found := map[string]string{}
	for _, s := range sources(t) {
		if s.isTest || within(s.folder, "test") || within(s.folder, "internal/cloud/cloudtest") {
			continue
		}
		for _, d := range s.file.Decls {
			for name, all := range timesOf(d) {
				key := strings.TrimPrefix(s.folder+"."+name, "..")
				found[key] = strings.TrimSpace(found[key] + " " + strings.Join(all, " "))
			}
		}
	}
	if diff := cmp.Diff(figures, found); diff != "" {
		t.Errorf("times of the product that are not those of the table (-table +code); change the table if you mean it:\n%s", diff)
	}
}

// timesOf finds the times in a declaration, by the name of the constant or of the function.
func timesOf(d ast.Decl) map[string][]string {
	found := map[string][]string{}
	within := ""
	if f, ok := d.(*ast.FuncDecl); ok {
		within = f.Name.Name
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				if all := timesIn(value); len(all) > 0 {
					found[n.Names[i].Name] = append(found[n.Names[i].Name], all...)
				}
			}
			return false
		case ast.Expr:
			if all := timesIn(n); len(all) > 0 {
				found[within] = append(found[within], all...)
			}
			return false
		}
		return true
	})
	return found
}

// timesIn are the constant times in an expression. The unit of a number that is not constant is none, nor is one that times are
// rounded to.
func timesIn(whole ast.Expr) (found []string) {
	ast.Inspect(whole, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Truncate" {
				return false
			}
		case *ast.BinaryExpr:
			value, constant := timeOf(n)
			if constant {
				found = append(found, value.String())
			}
			_, left := timeOf(n.X)
			_, right := timeOf(n.Y)
			return !constant && (n.Op != token.MUL && n.Op != token.QUO || !left && !right)
		case *ast.SelectorExpr:
			if value, ok := unit(n); ok {
				found = append(found, value.String())
			}
		}
		return true
	})
	return found
}

// timeOf is the value of a constant expression with a unit of time in it.
func timeOf(e ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return unit(e)
	case *ast.BinaryExpr:
		left, hasLeft := timeOf(e.X)
		right, hasRight := timeOf(e.Y)
		switch {
		case hasLeft && hasRight && e.Op == token.ADD:
			return left + right, true
		case hasLeft && e.Op == token.QUO && number(e.Y) > 0:
			return left / time.Duration(number(e.Y)), true
		case hasRight && e.Op == token.MUL && number(e.X) > 0:
			return time.Duration(number(e.X)) * right, true
		}
	}
	return 0, false
}

func unit(e *ast.SelectorExpr) (time.Duration, bool) {
	units := map[string]time.Duration{
		"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second,
		"Minute": time.Minute, "Hour": time.Hour,
	}
	room, ok := e.X.(*ast.Ident)
	value := units[e.Sel.Name]
	return value, ok && room.Name == "time" && value > 0
}

func number(e ast.Expr) int {
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(literal.Value)
	if err != nil {
		return 0
	}
	return n
}

// TestLongestPass: the time of a pass holds a login and three more calls of a cloud, each as slow as it may be.
func TestLongestPass(t *testing.T) {
	of := func(name string) time.Duration { return expect.Got(time.ParseDuration(figures[name]))(t) }
	for _, call := range []string{"internal/cloud/vsphere/session.CallTimeout", "internal/cloud/azure.callTimeout"} {
		slowest := of("internal/cloud/vsphere/session.loginTimeout") + 3*of(call)
		if longest := of("longestPass"); longest < slowest {
			t.Errorf("a pass may take %s, and one of %s takes %s", longest, call, slowest)
		}
	}
}
