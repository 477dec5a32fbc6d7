// Package gitops evaluates the health checks of config/gitops as Argo CD and Flux do. It is a module of its own, because
// nothing else needs the languages of those checks.
package gitops

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"
)

// poolStage is a MachineDeployment as Cluster API's controller writes it at one time of its life.
type poolStage struct {
	available, rolling *metav1.Condition
	// seen is the generation that the controller has seen; the object has generation 2.
	seen    int64
	healthy bool
}

func poolCondition(name string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	return &metav1.Condition{Type: name, Status: status, Reason: reason}
}

// poolStages are those of setAvailableCondition and setRollingOutCondition in Cluster API's core/reconcilers/machinedeployment.
func poolStages() map[string]poolStage {
	available := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return poolCondition(clusterv1.MachineDeploymentAvailableCondition, status, reason)
	}
	rollingOut := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return poolCondition(clusterv1.MachineDeploymentRollingOutCondition, status, reason)
	}
	yes := available(metav1.ConditionTrue, clusterv1.MachineDeploymentAvailableReason)
	no := available(metav1.ConditionFalse, clusterv1.MachineDeploymentNotAvailableReason)
	uncounted := available(metav1.ConditionUnknown, clusterv1.MachineDeploymentAvailableWaitingForAvailableReplicasSetReason)
	failed := available(metav1.ConditionUnknown, clusterv1.MachineDeploymentAvailableInternalErrorReason)
	still := rollingOut(metav1.ConditionFalse, clusterv1.MachineDeploymentNotRollingOutReason)
	rolling := rollingOut(metav1.ConditionTrue, clusterv1.MachineDeploymentRollingOutReason)
	return map[string]poolStage{
		"created":                     {},
		"seen":                        {seen: 2},
		"waiting for counts":          {seen: 2, rolling: still, available: uncounted},
		"scaling up":                  {seen: 2, rolling: still, available: no},
		"available":                   {seen: 2, rolling: still, available: yes, healthy: true},
		"changed, not seen":           {seen: 1, rolling: still, available: yes},
		"rolling out with a surge":    {seen: 2, rolling: rolling, available: yes},
		"rolling out without a surge": {seen: 2, rolling: rolling, available: no},
		"controller failed":           {seen: 2, rolling: still, available: failed},
	}
}

// object is what a GitOps tool reads.
func (s poolStage) object(t *testing.T) map[string]any {
	t.Helper()
	pool := clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: "win", Generation: 2}}
	pool.Status.ObservedGeneration = s.seen
	for _, one := range []*metav1.Condition{s.rolling, s.available} {
		if one != nil {
			pool.Status.Conditions = append(pool.Status.Conditions, *one)
		}
	}
	var read map[string]any
	ok(t, json.Unmarshal(got(json.Marshal(pool))(t), &read))
	if s.seen == 0 {
		delete(read, "status") // the API server keeps none before the controller writes it
	}
	return read
}

// fluxHealth evaluates as Flux's runtime/cel/status_evaluator.go does: an older generation is in progress, whatever the
// expressions say; then come inProgress, failed and current, and what is none of them is in progress, too.
func fluxHealth(t *testing.T, current string, object map[string]any) bool {
	t.Helper()
	if status, ok := object["status"].(map[string]any); ok {
		if status["observedGeneration"] != object["metadata"].(map[string]any)["generation"] {
			return false
		}
	}
	environment := got(cel.NewEnv(cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true)))(t)
	parsed, issues := environment.Parse(current)
	ok(t, issues.Err())
	value, _, err := got(environment.Program(parsed))(t).Eval(object)
	return err == nil && value.Value() == true // without a status there is an error, and Flux asks again
}

// checksFolder has the health checks to which docs/day-two.md links.
var checksFolder = filepath.Join("..", "..", "..", "config", "gitops")

// The health check for Flux calls a pool healthy when its machines are available and all up to date.
func TestFluxHealthCheck(t *testing.T) {
	text := got(os.ReadFile(filepath.Join(checksFolder, "flux.yaml")))(t)
	var kustomization struct {
		Spec struct {
			Wait             bool
			HealthCheckExprs []struct{ APIVersion, Kind, Current string }
		}
	}
	ok(t, yaml.UnmarshalStrict(text, &kustomization))
	checks := kustomization.Spec.HealthCheckExprs
	if len(checks) != 1 || checks[0].APIVersion != clusterv1.GroupVersion.String() || checks[0].Kind != "MachineDeployment" {
		t.Fatalf("flux.yaml has the checks %v", checks)
	}
	for name, stage := range poolStages() {
		if got := fluxHealth(t, checks[0].Current, stage.object(t)); got != stage.healthy {
			t.Errorf("%s: healthy is %v, want %v", name, got, stage.healthy)
		}
	}
}

// The health check for Argo CD calls a pool healthy in the same stages as that for Flux.
func TestArgoHealthCheck(t *testing.T) {
	text := got(os.ReadFile(filepath.Join(checksFolder, "argocd.yaml")))(t)
	var configMap struct{ Data map[string]string }
	ok(t, yaml.UnmarshalStrict(text, &configMap))
	script := configMap.Data["resource.customizations.health."+clusterv1.GroupVersion.Group+"_MachineDeployment"]
	if len(configMap.Data) != 1 || script == "" {
		t.Fatalf("argocd.yaml has the checks %v", configMap.Data)
	}
	for name, stage := range poolStages() {
		want := "Progressing"
		if stage.healthy {
			want = "Healthy"
		}
		if got := argoHealth(t, script, stage.object(t)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// argoHealth runs a check as util/lua/lua.go of Argo CD does: these libraries and no other, the object as the global obj, and the
// table that the script returns. A status that is none of Argo CD's would be Unknown there.
func argoHealth(t *testing.T, script string, object map[string]any) string {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		ok(t, l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)))
	}
	l.SetGlobal("obj", luaValue(l, object))
	ok(t, l.DoString(script))
	health, isTable := l.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("the script returns %v, want a table", l.Get(-1))
	}
	if message := health.RawGetString("message"); message.Type() != lua.LTString {
		t.Errorf("the message is %v, want text", message)
	}
	return health.RawGetString("status").String()
}

func luaValue(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, one := range v {
			table.RawSetString(key, luaValue(l, one))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, one := range v {
			table.Append(luaValue(l, one))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func got[V any](value V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		ok(t, err)
		return value
	}
}
