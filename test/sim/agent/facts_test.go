package agent

import (
	"testing"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestFactsInValues: text of users is never scanned for facts, nor is the value of a fact.
func TestFactsInValues(t *testing.T) {
	r := &run{facts: map[string]string{"cpus": "4", "tricky": `{"fact":"cpus"}`}}
	for want, value := range map[string]plan.Value{
		"a": plan.Text("a"), "": plan.Text(""), "4": plan.FromFact("cpus"), `{"fact":"cpus"}`: plan.FromFact("tricky"),
		"n=4;":                         plan.Parts(plan.Text("n="), plan.FromFact("cpus"), plan.Text(";")),
		`{"fact":"cpus"} $x %x% {{x}}`: plan.Text(`{"fact":"cpus"} $x %x% {{x}}`),
	} {
		expect.Same(t, "with facts", want, expect.Got(r.resolve(value))(t))
	}
	_, err := r.resolve(plan.Parts(plan.Text("a"), plan.FromFact("nope")))
	expect.Says(t, "an unknown fact", err, "fact 'nope' is not known")
}

// TestFactsInTrees: the tree itself stays.
func TestFactsInTrees(t *testing.T) {
	r := &run{facts: map[string]string{"cpus": "4"}}
	tree := map[string]any{
		"plain": "a", "none": nil, "number": 2, "leaf": plan.FactLeaf("cpus"),
		"list":   []any{plan.FactLeaf("cpus"), "b", map[string]any{"deep": plan.FactLeaf("cpus")}},
		"object": map[string]any{"fact": "cpus", "and": "more"},
	}
	expect.Same(t, "with facts", map[string]any{
		"plain": "a", "none": nil, "number": 2, "leaf": "4",
		"list":   []any{"4", "b", map[string]any{"deep": "4"}},
		"object": map[string]any{"fact": "cpus", "and": "more"},
	}, expect.Got(r.resolveTree(tree))(t))
	expect.Same(t, "the tree's own leaf", map[string]any{"fact": "cpus"}, tree["leaf"].(map[string]any))
	for name, broken := range map[string]map[string]any{
		"leaf": {"a": plan.FactLeaf("nope")}, "in a list": {"a": []any{plan.FactLeaf("nope")}},
		"in an object": {"a": map[string]any{"b": plan.FactLeaf("nope"), "c": 1}},
	} {
		_, err := r.resolveTree(broken)
		expect.Says(t, name, err, "is not known")
	}
}
