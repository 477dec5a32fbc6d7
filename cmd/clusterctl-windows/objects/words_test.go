package objects

import (
	"maps"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What a user reads about a field with a pattern is what the API says about the field.
func TestEveryPatternHasWords(t *testing.T) {
	seen := 0
	check := func(kind schema.GroupVersionKind) {
		rules := expect.Got(rulesOf(kind))(t)
		for _, path := range patterns(rules.structural, "") {
			seen++
			words := rules.describe(path, "PATTERN")
			if words == "" || strings.Contains(words, "PATTERN") {
				t.Errorf("%s: %s has a pattern, and nothing says what it wants", kind.Kind, path)
			}
		}
	}
	ours, theirs := expect.Got(ourSchemas())(t), expect.Got(capiSchemas())(t)
	for kind, versions := range ours {
		for version := range versions {
			check(kind.WithVersion(version))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		for version := range theirs[name] {
			check(schema.ParseGroupKind(name).WithVersion(version))
		}
	}
	if seen < 200 {
		t.Errorf("%d patterns were looked at, and there are more", seen)
	}
}

// patterns lists the paths of fields with a pattern.
func patterns(at *structuralschema.Structural, path string) []string {
	var found []string
	if at.ValueValidation != nil && at.ValueValidation.Pattern != "" {
		found = append(found, strings.TrimPrefix(path, "."))
	}
	for name, below := range at.Properties {
		found = append(found, patterns(&below, path+"."+name)...)
	}
	if at.Items != nil {
		found = append(found, patterns(at.Items, path+"[0]")...)
	}
	if at.AdditionalProperties != nil && at.AdditionalProperties.Structural != nil {
		found = append(found, patterns(at.AdditionalProperties.Structural, path+".key")...)
	}
	return found
}
