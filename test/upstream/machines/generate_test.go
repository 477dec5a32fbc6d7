package machines

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const repository = "../../.."

// The machines use every field of a plan that a golden one uses, or a field would never be tried in a life.
func TestGeneratedUseEveryField(t *testing.T) {
	used, wanted := map[string]bool{}, map[string]bool{}
	for _, m := range expect.Got(Generated(repository))(t) {
		maps.Copy(used, expect.Got(fieldsOf(m.Plan))(t))
	}
	for _, m := range expect.Got(Golden(repository))(t) {
		maps.Copy(wanted, expect.Got(fieldsOf(m.Plan))(t))
	}
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(wanted)), func(field string) bool { return used[field] })
	t.Logf("%d machines use %d fields; golden plans use %d", generatedCount, len(used), len(wanted))
	if len(missing) > 0 {
		t.Errorf("no generated machine uses %q", missing)
	}
}

// Every run must see the same machines, no two of them alike.
func TestGeneratedAreTheSame(t *testing.T) {
	first, second := expect.Got(Generated(repository))(t), expect.Got(Generated(repository))(t)
	for i := range first {
		if !bytes.Equal(first[i].UserData, second[i].UserData) {
			t.Errorf("%s differs from itself", first[i].Name)
		}
		if i > 0 && bytes.Equal(first[i].UserData, first[i-1].UserData) {
			t.Errorf("%s is the machine before it", first[i].Name)
		}
	}
}

// Each trait of each cloud is in a machine that Render takes: one that always clashes would be none.
func TestEveryTraitIsDrawn(t *testing.T) {
	seen := map[string]int{}
	for _, m := range expect.Got(Generated(repository))(t) {
		for _, trait := range m.Traits {
			seen[trait]++
		}
	}
	for _, trait := range traits {
		if seen[trait.name] == 0 {
			t.Errorf("no machine has the trait %q", trait.name)
		}
	}
	t.Log(seen)
}
