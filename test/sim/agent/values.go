package agent

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// resolved is a copy of a step with the facts put in: every Value is a text, and no Tree has a fact. A step that needs an
// unknown fact fails here, before it has changed anything.
func (r *run) resolved(step plan.Step) (plan.Step, error) {
	made := reflect.New(reflect.TypeOf(step).Elem())
	made.Elem().Set(reflect.ValueOf(step).Elem())
	err := r.putFacts(made.Elem())
	return made.Interface().(plan.Step), err
}

func (r *run) putFacts(into reflect.Value) error {
	switch known := into.Addr().Interface().(type) {
	case *[]byte:
		return nil
	case *plan.Value:
		return r.putText(known)
	case *plan.Tree:
		tree, err := r.resolveTree(map[string]any(*known))
		*known, _ = tree.(map[string]any)
		return err
	case *map[string]plan.Value:
		*known = maps.Clone(*known)
		for name, value := range *known {
			if err := r.putText(&value); err != nil {
				return err
			}
			(*known)[name] = value
		}
		return nil
	}
	switch into.Kind() {
	case reflect.Struct:
		for field, value := range into.Fields() {
			if field.Name == "Say" {
				continue // a sentence may tell that a fact is unknown
			}
			if err := r.putFacts(value); err != nil {
				return err
			}
		}
	case reflect.Slice:
		return r.putFactsInList(into)
	}
	return nil
}

func (r *run) putFactsInList(list reflect.Value) error {
	list.Set(reflect.AppendSlice(reflect.Zero(list.Type()), list)) // the list of the plan stays as it is
	for _, item := range list.Seq2() {
		if err := r.putFacts(item); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) putText(value *plan.Value) error {
	text, err := r.resolve(*value)
	if *value != nil {
		*value = plan.Text(text)
	}
	return err
}

// texts of values that are resolved.
func texts(values []plan.Value) []string {
	list := make([]string, 0, len(values))
	for _, value := range values {
		list = append(list, value.String())
	}
	return list
}

// number is a value that must be one.
func number(value plan.Value, bits int) (int64, error) {
	number, err := strconv.ParseInt(value.String(), 10, bits)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a number of %d bits", value, bits)
	}
	return number, nil
}

// match lists what fits patterns.
func (r *run) match(patterns []plan.Value) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		text, err := r.resolve(pattern)
		if err != nil {
			return nil, err
		}
		found, err := r.machine.Match(text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// holds says whether a fact is as wanted. An unknown fact is the empty text; what it is compared with must be known.
func (r *run) holds(test plan.Test) (bool, error) {
	found := r.facts[test.Fact]
	for _, how := range []struct {
		wanted plan.Value
		holds  func(found, wanted string) bool
	}{
		{test.Is, windows.Same},
		{test.IsNot, func(f, w string) bool { return !windows.Same(f, w) }},
		{test.AtLeast, func(f, w string) bool { return compareVersions(f, w) >= 0 }},
		{test.Below, func(f, w string) bool { return compareVersions(f, w) < 0 }},
	} {
		if how.wanted == nil {
			continue
		}
		wanted, err := r.resolve(how.wanted)
		if err != nil || !how.holds(found, wanted) {
			return false, err
		}
	}
	return true, nil
}

// sentence is how the plan tells a failure: what was measured stands there in short, or as unknown.
func (r *run) sentence(say plan.Value) string {
	var text strings.Builder
	for _, part := range say {
		text.WriteString(part.Text)
		if part.Fact != "" {
			text.WriteString(cmp.Or(strings.TrimSpace(r.protect(r.facts[part.Fact], 200)), "unknown"))
		}
	}
	return text.String()
}

// same says whether Windows takes two texts for the same: case does not matter in paths, addresses and names.
func same(one string) func(string) bool {
	return func(other string) bool { return windows.Same(one, other) }
}

// compareVersions compares dotted numbers. A leading v and all from the first other character on are ignored.
func compareVersions(left, right string) int {
	a, b := versionParts(left), versionParts(right)
	for i := range max(len(a), len(b)) {
		one, other := part(a, i), part(b, i)
		if order := cmp.Or(len(one)-len(other), strings.Compare(one, other)); order != 0 {
			return order
		}
	}
	return 0
}

func versionParts(text string) []string {
	text = strings.TrimPrefix(strings.ToLower(text), "v")
	end := strings.IndexFunc(text, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })
	if end >= 0 {
		text = text[:end]
	}
	return strings.Split(text, ".")
}

// part is a number without leading zeros, of any length: of two such texts the longer one is the larger number. A missing part
// is 0.
func part(parts []string, i int) string {
	if i >= len(parts) {
		return ""
	}
	return strings.TrimLeft(parts[i], "0")
}
