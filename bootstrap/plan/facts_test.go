package plan_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// The facts that a plan may ask for without setting them are those that both interpreters find: the one of the node and the one
// of the lab.
func TestStartFactsAreThoseOfTheInterpreters(t *testing.T) {
	script := string(expect.Got(os.ReadFile("../scripts/agent.ps1"))(t))
	_, script, _ = strings.Cut(script, "function Read-MachineFact {")
	script, _, _ = strings.Cut(script, "\n}")
	node := map[string]bool{}
	for _, found := range regexp.MustCompile(`(\w+) = \[string\]`).FindAllStringSubmatch(script, -1) {
		node[found[1]] = true
	}
	machine := expect.Got(windows.New(t.TempDir()))(t)
	lab := maps.Keys(expect.Got(machine.Facts())(t))
	expect.Same(t, "facts of the node's interpreter", plan.StartFacts(), slices.Sorted(maps.Keys(node)))
	expect.Same(t, "facts of the lab's interpreter", plan.StartFacts(), slices.Sorted(lab))
}
