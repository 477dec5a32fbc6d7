package agree

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/config/crd"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// neverGood are the fields that no good file can have: kind and field.
var neverGood = map[string]string{
	"WindowsMachineTemplate spec.template.spec.providerID": "it is one VM's",
}

// TestLeaves: each leaf field of our kinds is in a file that is taken. A user writes no status.
func TestLeaves(t *testing.T) {
	leaves, taken, there := map[string]bool{}, map[string]bool{}, map[string]bool{}
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, entry := range expect.Got(crd.Bases.ReadDir("bases"))(t) {
		var definition apiextensionsv1.CustomResourceDefinition
		expect.OK(t, yaml.Unmarshal(expect.Got(crd.Bases.ReadFile("bases/"+entry.Name()))(t), &definition))
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		schemas[definition.Spec.Names.Kind] = &spec
		leavesOf(definition.Spec.Names.Kind+" spec", &spec, leaves)
	}
	for _, f := range corpus() {
		for _, one := range f.objects() {
			kind, _ := one["kind"].(string)
			if schema := schemas[kind]; schema != nil {
				touched(kind+" spec", one["spec"], schema, there)
				if f.class == good {
					touched(kind+" spec", one["spec"], schema, taken)
				}
			}
		}
	}
	for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
		switch {
		case !there[leaf]:
			t.Errorf("no file has %s", leaf)
		case !taken[leaf] && neverGood[leaf] == "":
			t.Errorf("no file that is taken has %s", leaf)
		case taken[leaf] && neverGood[leaf] != "":
			t.Errorf("a file that is taken has %s, although %s", leaf, neverGood[leaf])
		}
	}
	t.Logf("%d leaf fields of %d kinds, each in a file", len(leaves), len(schemas))
}

// leavesOf collects the fields of a schema that have no fields.
func leavesOf(path string, schema *apiextensionsv1.JSONSchemaProps, leaves map[string]bool) {
	switch {
	case len(schema.Properties) > 0:
		for name, child := range schema.Properties {
			leavesOf(path+"."+name, &child, leaves)
		}
	case schema.Items != nil:
		leavesOf(path+"[]", schema.Items.Schema, leaves)
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		leavesOf(path+"{}", schema.AdditionalProperties.Schema, leaves)
	default:
		leaves[path] = true
	}
}

// touched collects the leaves that an object has.
func touched(path string, value any, schema *apiextensionsv1.JSONSchemaProps, leaves map[string]bool) {
	switch value := value.(type) {
	case object:
		if len(schema.Properties) == 0 && schema.AdditionalProperties == nil {
			leaves[path] = true // any fields may be in it
		}
		for name, below := range value {
			if child, listed := schema.Properties[name]; listed {
				touched(path+"."+name, below, &child, leaves)
			} else if of := schema.AdditionalProperties; of != nil && of.Schema != nil {
				touched(path+"{}", below, of.Schema, leaves)
			}
		}
	case []any:
		for _, item := range value {
			if schema.Items != nil {
				touched(path+"[]", item, schema.Items.Schema, leaves)
			}
		}
	default:
		leaves[strings.TrimSuffix(path, ".")] = true
	}
}
