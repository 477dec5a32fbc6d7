package repo

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// unbounded are the fields that a schema leaves without a bound, each with the reason.
var unbounded = map[string]string{
	"apiVersion":                         "the API server takes its own few",
	"kind":                               "the API server takes its own few",
	"metadata":                           "only annotations have a bound, 256 KiB; a cache keeps a stub of a large object",
	"spec.kubelet.configuration":         "it has no schema; the policy object-sizes",
	"spec.template.metadata.annotations": "Cluster API's ObjectMeta; the policy object-sizes",
	"spec.template.metadata.labels":      "Cluster API's ObjectMeta; the policy object-sizes",
	"status.allocatable":                 "a ResourceList of Kubernetes, which our controller writes",
	"status.capacity":                    "a ResourceList of Kubernetes, of a template; no manager keeps templates",
}

// TestFieldsAreBounded: a tenant cannot fill the memory of the managers by a field that takes whatever etcd takes.
func TestFieldsAreBounded(t *testing.T) {
	used := map[string]bool{}
	for _, file := range expect.Got(filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml")))(t) {
		var definition apiextensionsv1.CustomResourceDefinition
		expect.OK(t, yaml.Unmarshal(expect.Got(os.ReadFile(file))(t), &definition))
		for _, version := range definition.Spec.Versions {
			for _, field := range withoutBound("", *version.Schema.OpenAPIV3Schema) {
				field = strings.Replace(field, "spec.template.spec.", "spec.", 1)
				if used[field] = true; unbounded[field] == "" {
					t.Errorf("%s: %s has no bound; give it maxLength, maxItems or maxProperties", filepath.Base(file), field)
				}
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(unbounded)) {
		if !used[field] {
			t.Errorf("an exception for %s, which has a bound or does not exist", field)
		}
	}
	policy := string(expect.Got(os.ReadFile(filepath.Join(root, "config", "policy", "object_sizes.yaml")))(t))
	for _, part := range []string{"kubelet.?configuration", "object.?spec.orValue"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy object-sizes does not measure %s", part)
		}
	}
}

// withoutBound are the fields below a schema that may be as large as they like, * for the values of a map.
func withoutBound(at string, schema apiextensionsv1.JSONSchemaProps) []string {
	if isUnbounded(schema) {
		return []string{strings.TrimPrefix(at, ".")}
	}
	var found []string
	for name, property := range schema.Properties {
		found = append(found, withoutBound(at+"."+name, property)...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		found = append(found, withoutBound(at+".*", *schema.AdditionalProperties.Schema)...)
	}
	if schema.Items != nil {
		found = append(found, withoutBound(at+"[]", *schema.Items.Schema)...)
	}
	return found
}

func isUnbounded(schema apiextensionsv1.JSONSchemaProps) bool {
	switch {
	case schema.XPreserveUnknownFields != nil, schema.XEmbeddedResource:
		return true
	case schema.Type == "string", schema.XIntOrString:
		return schema.MaxLength == nil && len(schema.Enum) == 0 && schema.Format != "date-time"
	case schema.Type == "array":
		return schema.MaxItems == nil
	case schema.Type == "object" && len(schema.Properties) > 0:
		return false
	case schema.Type == "object":
		return schema.MaxProperties == nil
	default:
		return schema.Type == ""
	}
}
