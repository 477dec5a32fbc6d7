package plan

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The interpreter that real machines run has its own table of kinds and required fields, and a function for each of them.
func TestKindsAreThoseOfTheAgent(t *testing.T) {
	agent := expect.Got(os.ReadFile("../scripts/agent.ps1"))(t)
	_, table, _ := strings.Cut(string(agent), "$StepKinds = @{")
	table, _, _ = strings.Cut(table, "\n}")
	want := map[string][]string{}
	quoted := regexp.MustCompile(`'([^']+)'`)
	steps := expect.Got(os.ReadFile("../scripts/steps.ps1"))(t)
	for _, row := range regexp.MustCompile(`(\w+) = ([^;\n]+)`).FindAllStringSubmatch(table, -1) {
		want[row[1]] = []string{}
		for _, field := range quoted.FindAllStringSubmatch(row[2], -1) {
			want[row[1]] = append(want[row[1]], field[1])
		}
		function := strings.ToLower("function Invoke-" + row[1] + "Step")
		if !strings.Contains(strings.ToLower(string(agent)+string(steps)), function) {
			t.Errorf("the agent has no %s", function)
		}
	}
	got := map[string][]string{}
	for _, step := range Kinds() {
		got[string(KindOf(step))] = append([]string{}, required(reflect.TypeOf(step).Elem())...)
	}
	expect.Same(t, "kinds and fields (-agent.ps1 +Go)", want, got)
}

func TestKindsAreEmptyAndTheCallersOwn(t *testing.T) {
	for _, step := range Kinds() {
		if !reflect.ValueOf(step).Elem().IsZero() {
			t.Errorf("%s is not empty", KindOf(step))
		}
		step.Base().Name = "mine"
	}
	if name := Kinds()[0].Base().Name; name != "" {
		t.Errorf("a caller's name %q is in the table", name)
	}
}
