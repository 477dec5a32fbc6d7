package bootstrap

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The API refuses some names by itself, and must not know fewer of them, or others, than Render.
func TestTheAPIKnowsTheSameNames(t *testing.T) {
	content, err := os.ReadFile("../config/crd/bases/bootstrap.cluster.x-k8s.io_windowsbootstrapconfigs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition any
	if err := yaml.Unmarshal(content, &definition); err != nil {
		t.Fatal(err)
	}
	rules := rulesIn(definition)
	list := func(names []string) string { return "in ['" + strings.Join(names, "', '") + "']" }
	places := strings.ToLower("[r'" + strings.Join(ownPlaces, "', r'") + "']")
	for what, rule := range map[string]string{
		"images":         "self.matches('" + strings.ReplaceAll(imageName.String(), `\.`, "[.]") + "')",
		"firewall rules": list(ownRules),
		"users":          list(builtInUsers),
		"places":         places + ".exists(",
		"node ports":     fmt.Sprintf("self.dynamicPorts.first > %d)", defaultNodePorts.Last),
		"dynamic ports":  fmt.Sprintf(">= %d", fewestDynamicPorts-1),
		"feature gate":   "gate.name == '" + logQueryGate + "'",
	} {
		if !strings.Contains(rules, rule) {
			t.Errorf("%s: no rule of the API has %q", what, rule)
		}
	}
}

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
