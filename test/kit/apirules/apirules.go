// Package apirules holds the rules of the WindowsBootstrapConfig's CRD against those of Render. The API refuses some names by
// itself, and must not know fewer of them, or others.
package apirules

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Check that the CRD has each of the rules, by what they are about; crds is the folder of CRDs.
func Check(t *testing.T, crds string, rules map[string]string) {
	t.Helper()
	content := expect.Got(os.ReadFile(crds + "/bootstrap.cluster.x-k8s.io_windowsbootstrapconfigs.yaml"))(t)
	var definition any
	expect.OK(t, yaml.Unmarshal(content, &definition))
	all := rulesIn(definition)
	for what, rule := range rules {
		if !strings.Contains(all, rule) {
			t.Errorf("%s: no rule of the API has %q", what, rule)
		}
	}
}

// Matches is a rule by which a text must match a regular expression, in the very same words.
func Matches(expression *regexp.Regexp) string { return "self.matches(r'" + expression.String() + "')" }

// In is a rule that refuses names of a list.
func In(names []string) string { return "in ['" + strings.Join(names, "', '") + "']" }

// rulesIn are all rules of a CRD, one a line.
func rulesIn(of any) string {
	var text strings.Builder
	switch of := of.(type) {
	case map[string]any:
		if rule, ok := of["rule"].(string); ok {
			text.WriteString(rule + "\n")
		}
		for _, value := range of {
			text.WriteString(rulesIn(value))
		}
	case []any:
		for _, value := range of {
			text.WriteString(rulesIn(value))
		}
	}
	return text.String()
}
