// Package gitops evaluates the health checks of docs/day-two.md as Flux does. It is a module of its own, because nothing else
// needs the language of those checks.
package gitops

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
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

// The health check that docs/day-two.md has for Flux calls a pool healthy when its machines are available and all up to date.
func TestFluxHealthCheck(t *testing.T) {
	page := string(got(os.ReadFile(filepath.Join("..", "..", "docs", "day-two.md")))(t))
	_, rest, _ := strings.Cut(page, "For Flux, ")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	text, _, _ := strings.Cut(rest, "```\n")
	var kustomization struct {
		Spec struct {
			Wait             bool
			HealthCheckExprs []struct{ APIVersion, Kind, Current string }
		}
	}
	ok(t, yaml.UnmarshalStrict([]byte(text), &kustomization))
	checks := kustomization.Spec.HealthCheckExprs
	if len(checks) != 1 || checks[0].APIVersion != clusterv1.GroupVersion.String() || checks[0].Kind != "MachineDeployment" {
		t.Fatalf("docs/day-two.md has the checks %v", checks)
	}
	for name, stage := range poolStages() {
		if got := fluxHealth(t, checks[0].Current, stage.object(t)); got != stage.healthy {
			t.Errorf("%s: healthy is %v, want %v", name, got, stage.healthy)
		}
	}
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
