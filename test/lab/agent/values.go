package agent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

func (r *run) value(v plan.Value) (string, error) { return v.Resolve(r.facts) }

func (r *run) values(list []plan.Value) ([]string, error) {
	texts := make([]string, 0, len(list))
	for _, v := range list {
		text, err := r.value(v)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (r *run) valueMap(all map[string]plan.Value) (map[string]string, error) {
	texts := map[string]string{}
	for name, v := range all {
		text, err := r.value(v)
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}

// number is a value that must be one.
func (r *run) number(v plan.Value, bits int) (int64, error) {
	text, err := r.value(v)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a number of %d bits", text, bits)
	}
	return number, nil
}

// match lists what fits patterns.
func (r *run) match(patterns []plan.Value) ([]string, error) {
	texts, err := r.values(patterns)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, pattern := range texts {
		found, err := r.machine.Match(pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// mismatch is "" when the fact is as wanted, else the sentence that says why not. An unknown fact is the empty text; what it
// is compared with must be known.
func (r *run) mismatch(test plan.Test) (string, error) {
	found := r.facts[test.Fact]
	for _, how := range []struct {
		name   string
		wanted plan.Value
		holds  func(found, wanted string) bool
	}{
		{"is", test.Is, strings.EqualFold},
		{"isNot", test.IsNot, func(f, w string) bool { return !strings.EqualFold(f, w) }},
		{"atLeast", test.AtLeast, func(f, w string) bool { return compareVersions(f, w) >= 0 }},
		{"below", test.Below, func(f, w string) bool { return compareVersions(f, w) < 0 }},
	} {
		if how.wanted == nil {
			continue
		}
		wanted, err := r.value(how.wanted)
		if err != nil {
			return "", err
		}
		if !how.holds(found, wanted) {
			return fmt.Sprintf("fact %s is '%s', wanted: %s '%s'", test.Fact, found, how.name, wanted), nil
		}
	}
	return "", nil
}

// same says whether Windows takes two texts for one: paths, addresses and names have no case.
func same(one string) func(string) bool {
	return func(other string) bool { return strings.EqualFold(one, other) }
}

// compareVersions compares dotted numbers: a leading v, and all from the first other character on, is ignored.
func compareVersions(left, right string) int {
	a, b := versionParts(left), versionParts(right)
	for i := range max(len(a), len(b)) {
		if difference := part(a, i) - part(b, i); difference != 0 {
			return int(max(-1, min(1, difference)))
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

// part is 0 where there is none.
func part(parts []string, i int) int64 {
	if i >= len(parts) {
		return 0
	}
	number, err := strconv.ParseInt(parts[i], 10, 64)
	if err != nil {
		return 0
	}
	return number
}
