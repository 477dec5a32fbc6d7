package keep

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// manager is the field manager of our writes.
	manager = "capwin"
	// Label has the value Mark where an object is ours.
	Label = "app.kubernetes.io/managed-by"
	// Mark is the value of Label.
	Mark = "capwin"
)

// Must reads the objects of a manifest, in its order, and makes them ours. It panics if there is a mistake in the manifest, which
// is a part of the program.
func Must(manifest string) (objects []*unstructured.Unstructured) {
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		written, err := yaml.YAMLToJSONStrict([]byte(text))
		if err = errors.Join(err, object.UnmarshalJSON(written)); err != nil {
			panic(err)
		}
		object.SetLabels(map[string]string{Label: Mark})
		objects = append(objects, object)
	}
	return objects
}

// NameOf is what people call an object.
func NameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}

// isOurs reports whether capwin may write an object. The API server takes fields from their manager that somebody else changes.
// It is not trusted: GetManagedFields would log what it cannot read.
func isOurs(object *unstructured.Unstructured) bool {
	if value, ok := object.GetLabels()[Label]; ok {
		return value == Mark
	}
	return slices.ContainsFunc(managedFields(object), func(entry map[string]any) bool { return entry["manager"] == manager })
}

func managedFields(object *unstructured.Unstructured) (entries []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields") // nil where there are none
	fields, _ := value.([]any)
	for _, field := range fields {
		entry, _ := field.(map[string]any) // nil is nobody's
		entries = append(entries, entry)
	}
	return entries
}

// isRight reports whether two objects have the same content: one more rule, subject, validation, match condition or
// aggregationRule makes it another object.
func isRight(existing, next *unstructured.Unstructured) bool {
	return reflect.DeepEqual(plain(content(existing)), plain(content(next)))
}

// content is what we decide about an object: all but its metadata and its status.
func content(object *unstructured.Unstructured) map[string]any {
	kept := maps.Clone(object.Object)
	maps.DeleteFunc(kept, func(key string, _ any) bool { return !isContent(key) })
	return kept
}

func isContent(key string) bool {
	return !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, key)
}

// defaults are what an API server sets where we have nothing (kubernetes v1.36.3, pkg/apis/admissionregistration/v1/defaults.go).
var defaults = map[string]any{"matchPolicy": "Equivalent", "scope": "*"}

// plain leaves out defaults, and what is empty, which means the same as what is not there.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range v {
			if field = plain(field); field != defaults[key] { // which is nil for most
				kept[key] = field
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
		kept := make([]any, len(v))
		for i, element := range v {
			kept[i] = plain(element)
		}
		return kept
	}
	return value
}

// contains reports whether a plain value has all of another one. A list has the same number of elements.
func contains(value, part any) bool {
	switch p := part.(type) {
	case map[string]any:
		v, _ := value.(map[string]any)
		for key, field := range p {
			if !contains(v[key], field) {
				return false
			}
		}
		return true
	case []any:
		v, _ := value.([]any)
		return slices.EqualFunc(v, p, contains)
	}
	return reflect.DeepEqual(value, part)
}
