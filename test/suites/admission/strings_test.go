package admission

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// free are strings of a spec that have no rule of their own, each with the reason.
var free = map[string]string{"spec.providerID": "its form depends on the cloud, which only a rule of the spec sees"}

// Every string of a spec has a rule that says what it is, with a sentence for those who write it wrongly: once there are
// users, a rule cannot become stricter. A length is no such rule, and a pattern has no sentence. A string of a status is
// written by our controllers, so that its length is enough. The table of imported fields has those whose rules are others'.
func TestEveryStringSaysWhatItIs(t *testing.T) {
	for kind, definition := range definitions {
		spellings{t, kind}.walk("", definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

// spellings are the strings of a kind.
type spellings struct {
	t    *testing.T
	kind string
}

// walk looks at all strings below a field. A list's item ends in [], the value of a map in {}.
func (s spellings) walk(field string, schema *apiextensionsv1.JSONSchemaProps) {
	name := strings.Replace(strings.TrimPrefix(field, "."), "spec.template.spec", "spec", 1)
	if imported[strings.TrimPrefix(field, ".")] != "" || name == "metadata" {
		return
	}
	for _, rule := range schema.XValidations {
		if rule.Message == "" {
			s.t.Errorf("%s: a rule of %s has no sentence: %s", s.kind, name, rule.Rule)
		}
	}
	if schema.Pattern != "" && strings.HasPrefix(name, "spec") {
		s.t.Errorf("%s: %s has a pattern, which a refusal shows as it is; write a rule with a sentence", s.kind, name)
	}
	s.check(name, schema)
	for child, properties := range schema.Properties {
		s.walk(field+"."+child, &properties)
	}
	if schema.Items != nil {
		s.walk(field+"[]", schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		s.walk(field+"{}", schema.AdditionalProperties.Schema)
	}
}

// check a field that is a string, or a map, whose keys are strings, too.
func (s spellings) check(name string, schema *apiextensionsv1.JSONSchemaProps) {
	isMap := schema.AdditionalProperties != nil
	if schema.Type != "string" && !schema.XIntOrString && !isMap || name == "apiVersion" || name == "kind" {
		return
	}
	has := len(schema.Enum) > 0 || schema.Format != "" || len(schema.XValidations) > 0
	if strings.HasPrefix(name, "status") {
		has = has || schema.MaxLength != nil || schema.XIntOrString || isMap
	}
	if !has && free[name] == "" {
		s.t.Errorf("%s: %s has no rule that says what it is", s.kind, name)
	}
}
