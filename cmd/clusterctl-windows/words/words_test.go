package words

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/preview"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// allKinds returns a plan with a step of each kind.
func allKinds(t *testing.T) *plan.Plan {
	t.Helper()
	p := expect.Got(plan.Decode(expect.Got(os.ReadFile("testdata/all-kinds.json"))(t)))(t)
	expect.OK(t, p.Validate())
	return p
}

var update = flag.Bool("update", false, "write the golden file")

const golden = "testdata/plan-all-kinds.txt"

func TestPlanOfAllKinds(t *testing.T) {
	got := Tell(hidden(t, allKinds(t)))
	if *update {
		expect.OK(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	expect.Same(t, "go test ./cmd/clusterctl-windows/words -update writes "+golden, string(expect.Got(os.ReadFile(golden))(t)), got)
	if strings.Contains(got, "very-secret-token") {
		t.Error("a secret is not masked")
	}
}

// hidden is a plan from an earlier rendering without its secrets.
func hidden(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	return expect.Got(preview.Hide(preview.Guest{PlanJSON: expect.Got(p.Encode())(t)}))(t).Plan
}

// A new kind of step needs a sentence, and a step in testdata/all-kinds.json.
func TestEveryKindHasASentence(t *testing.T) {
	kinds := kindsOfPlan()
	expect.Same(t, "kinds and their sentences", kinds, slices.Sorted(maps.Keys(sentences)))
	said := map[plan.Kind]string{}
	p := allKinds(t)
	for _, phase := range append(p.Phases, p.EveryBoot...) {
		for _, step := range phase.Steps {
			said[plan.KindOf(step)] = sentenceOf(step)
		}
	}
	expect.Same(t, "testdata/all-kinds.json", kinds, slices.Sorted(maps.Keys(said)))
	for kind, sentence := range said {
		broken := strings.Contains(sentence, "%!") || strings.Contains(sentence, " but is a *")
		if broken || len(sentence) < 7 || strings.HasSuffix(sentence, ".") {
			t.Errorf("%s: %q is not a sentence", kind, sentence)
		}
	}
}

func kindsOfPlan() []plan.Kind {
	var kinds []plan.Kind
	for _, step := range plan.Kinds() {
		kinds = append(kinds, plan.KindOf(step))
	}
	slices.Sort(kinds)
	return kinds
}

func TestSeconds(t *testing.T) {
	for n, want := range map[int]string{
		0: "0s", 10: "10s", 60: "1m", 90: "1m30s", 600: "10m", 1800: "30m", 3600: "1h", 3660: "1h1m", 7205: "2h0m5s",
	} {
		if got := seconds(n); got != want {
			t.Errorf("%d seconds are %s, want %s", n, got, want)
		}
	}
}

func TestTextsOfSeveralLinesStayOnOne(t *testing.T) {
	p := &plan.Plan{Phases: []plan.Phase{{Name: "p", Steps: []plan.Step{
		&plan.Run{Argv: plan.Texts("a.exe"), Program: plan.Program{Environment: map[string]plan.Value{"MORE": plan.Text("a\r\nb")}}},
	}}}}
	if got := Tell(p); !strings.Contains(got, `MORE=a\nb.`) {
		t.Errorf("got %s", got)
	}
}

// A step that does not fit is reported and not left out.
func TestStrangeSteps(t *testing.T) {
	if got := forKind(sayFile)(&plan.Run{}); got != "has kind run but is a *plan.Run" {
		t.Errorf("got %q", got)
	}
	if got := sayServiceState(&plan.ServiceState{Service: "s", State: "paused"}); got != "sets the service s to paused" {
		t.Errorf("got %q", got)
	}
}
