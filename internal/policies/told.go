package policies

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxTold is how long a list may be that is written into a policy: CEL reads no expression of more than 100,000 characters.
const maxTold = 60_000

// Told are policies that have the params in their own text, and need no param: an API server (seen with v1.36.3) stops to watch
// ConfigMaps when the last policy with such a param is removed, and never begins anew, so that policies which come back later,
// and those of other people, are asked without their param, or with an old one. Where they are too many, the labels are any.
func Told(objects []*unstructured.Unstructured, p Params) []*unstructured.Unstructured {
	data := maps.Clone(Param(p).Data)
	if len(data[labelsKey]) > maxTold {
		data[labelsKey] = Any + "=" + Any
	}
	for _, object := range objects {
		unstructured.RemoveNestedField(object.Object, "spec", "paramKind")
		unstructured.RemoveNestedField(object.Object, "spec", "paramRef")
		variables, _, _ := unstructured.NestedSlice(object.Object, "spec", "variables") // nil where there are none
		for _, variable := range variables {
			if of, is := variable.(map[string]any); is {
				of["expression"] = told(of["expression"], data)
			}
		}
		if len(variables) > 0 {
			_ = unstructured.SetNestedSlice(object.Object, variables, "spec", "variables") // spec is there
		}
	}
	return objects
}

// NeedsParams says whether a policy, or the policy of a binding, is told something.
func NeedsParams(object *unstructured.Unstructured) bool {
	_, kind, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "paramKind") // not there
	_, ref, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "paramRef")   // not there
	return kind || ref
}

// TooMany says that more is to be spared than a policy can be told.
func (p Params) TooMany() bool { return len(Param(p).Data[sparedKey]) > maxTold }

func told(expression any, data map[string]string) any {
	text, is := expression.(string)
	if !is {
		return expression
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text = strings.ReplaceAll(text, "params.?data[?'"+key+"'].orValue('')", strconv.QuoteToASCII(data[key]))
	}
	return text
}
