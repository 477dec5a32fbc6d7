package admission

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// hollow is an optional field that holds others, and its empty value: {} or [].
type hollow struct {
	field string
	value any
}

// Two patches of a ClusterClass can each add a field below a parent that is there and empty, so an empty object or list is as
// if it were left out: what the API server says of one, it says of the other.
func TestEmptyIsAsIfAbsent(t *testing.T) {
	for _, kind := range []string{"WindowsBootstrapConfig", "WindowsMachine"} {
		spec := definitions[kind].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, h := range hollows("spec", spec) {
			made := newObjectFor(kind, h.field)
			set(made.Object, h.field, absent)
			without := create(t, made)
			set(made.Object, h.field, h.value)
			with := create(t, made)
			if (without == nil) != (with == nil) {
				t.Errorf("%s: with %v: %v\nwithout: %v", h.field, h.value, with, without)
			}
		}
	}
}

// A config of empty fields is one that says nothing.
func TestHollowConfigs(t *testing.T) {
	spec := definitions["WindowsBootstrapConfig"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	all := newObject("WindowsBootstrapConfig")
	set(all.Object, "spec", map[string]any{})
	for _, h := range hollows("spec", spec) {
		if strings.Contains(h.field, "[]") {
			continue
		}
		alone := newObject("WindowsBootstrapConfig")
		set(alone.Object, "spec", map[string]any{})
		set(alone.Object, h.field, h.value)
		set(all.Object, h.field, h.value)
		if err := create(t, alone); err != nil {
			t.Errorf("%s: %v", h.field, err)
		}
	}
	if err := create(t, all); err != nil {
		t.Errorf("all fields empty: %v", err)
	}
}

// hollows are the optional objects and lists of a schema, parents first.
func hollows(path string, schema apiextensionsv1.JSONSchemaProps) []hollow {
	var all []hollow
	required := map[string]bool{}
	for _, name := range schema.Required {
		required[name] = true
	}
	for name, of := range schema.Properties {
		field := path + "." + name
		switch {
		case required[name]:
		case of.Type == "array":
			all = append(all, hollow{field, []any{}})
		case of.Type == "object":
			all = append(all, hollow{field, map[string]any{}})
		}
		all = append(all, hollows(field, of)...)
		if of.Items != nil {
			all = append(all, hollows(field+"[]", *of.Items.Schema)...)
		}
	}
	return all
}
