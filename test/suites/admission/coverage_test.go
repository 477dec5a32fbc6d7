package admission

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// imported are the fields whose types and limits come from Kubernetes or Cluster API.
var imported = map[string]string{
	"status.conditions":      "metav1.Condition",
	"status.addresses":       "Cluster API's MachineAddress",
	"spec.template.metadata": "Cluster API's ObjectMeta",
	"status.allocatable":     "corev1.ResourceList",
	"status.capacity":        "corev1.ResourceList",
}

// found has everything that a CRD can refuse: limits as "field marker", and rules as "field: message".
type found struct {
	limits map[string]bool
	rules  map[string]bool
}

// Every limit and rule of the API has a case, and every case has a limit or rule.
func TestEveryRuleAndLimitIsTried(t *testing.T) {
	var tried struct{ rules, limits int }
	for kind, definition := range definitions {
		f := found{limits: map[string]bool{}, rules: map[string]bool{}}
		f.walk("", definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
		for _, r := range rules[kind] {
			if len(r.accepted) == 0 || len(r.refused) == 0 {
				t.Errorf("%s: the rule needs an accepted and a refused case: %s", kind, r.message)
			}
		}
		compare(t, kind, f.rules, triedRules(kind))
		compare(t, kind, f.limits, triedLimits(kind))
		tried.rules += len(f.rules)
		tried.limits += len(f.limits)
	}
	t.Logf("%d rules and %d limits of %d kinds tried both ways", tried.rules, tried.limits, len(definitions))
}

func triedRules(kind string) map[string]bool {
	tried := map[string]bool{}
	for _, r := range rules[kind] {
		tried[in(kind, r.at)+": "+r.message] = true
	}
	return tried
}

func triedLimits(kind string) map[string]bool {
	tried := map[string]bool{}
	for _, l := range limits[kind] {
		tried[l.in(kind)+" "+l.marker] = true
	}
	return tried
}

func compare(t *testing.T, kind string, found, tried map[string]bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !tried[name] {
			t.Errorf("%s: there is no case for %s; add it to rules_test.go, or to limits_test.go if it is a limit", kind, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tried)) {
		if !found[name] {
			t.Errorf("%s: there is a case for a rule or limit that the API does not have: %s", kind, name)
		}
	}
}

// walk collects the limits and rules of a schema. A field's name begins with a dot.
func (f found) walk(field string, schema *apiextensionsv1.JSONSchemaProps) {
	name := strings.TrimPrefix(field, ".")
	if imported[name] != "" {
		return
	}
	for _, rule := range schema.XValidations {
		f.rules[name+": "+rule.Message] = true
	}
	for _, child := range schema.Required {
		f.limits[strings.TrimPrefix(field+"."+child, ".")+" required"] = true
	}
	for marker, present := range markers(schema) {
		if present {
			f.limits[name+" "+marker] = true
		}
	}
	for child, properties := range schema.Properties {
		f.walk(field+"."+child, &properties)
	}
	if schema.AdditionalProperties != nil { // the only map is that of labels, whose values are tried with the key pool
		f.walk(field+".pool", schema.AdditionalProperties.Schema)
	}
	if schema.Items != nil {
		f.walk(field+"[]", schema.Items.Schema)
	}
}

func markers(schema *apiextensionsv1.JSONSchemaProps) map[string]bool {
	return map[string]bool{
		"minLength":     schema.MinLength != nil,
		"maxLength":     schema.MaxLength != nil,
		"pattern":       schema.Pattern != "",
		"minimum":       schema.Minimum != nil,
		"maximum":       schema.Maximum != nil,
		"enum":          len(schema.Enum) > 0,
		"minItems":      schema.MinItems != nil && *schema.MinItems > 0,
		"maxItems":      schema.MaxItems != nil,
		"minProperties": schema.MinProperties != nil,
		"maxProperties": schema.MaxProperties != nil,
	}
}
