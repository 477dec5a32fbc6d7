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
	p.SparedKnown = true // a policy is told that there is none, too
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
		text = strings.ReplaceAll(text, placeOf(key), strconv.QuoteToASCII(data[key]))
	}
	return text
}

// placeOf is where an expression has what the param says under a key.
func placeOf(key string) string { return "params.?data[?'" + key + "'].orValue('')" }

// ToldSpared is what the mutating policy was told to spare, if it is one that Told has written and nobody has edited since.
func ToldSpared(policy *unstructured.Unstructured) (spared []Ref, found bool) {
	for _, written := range Mutating() {
		for name, expression := range expressions(written) {
			before, _, has := strings.Cut(expression, placeOf(sparedKey))
			after, same := strings.CutPrefix(expressions(policy)[name], before)
			if !has || !same {
				continue
			}
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return nil, false
			}
			text, _ := strconv.Unquote(quoted) // it is a quoted one
			refs, wrong := readRefs(text)
			return refs, wrong == ""
		}
	}
	return nil, false
}

// expressions are those of a policy's variables, by name.
func expressions(policy *unstructured.Unstructured) map[string]string {
	variables, _, _ := unstructured.NestedSlice(policy.Object, "spec", "variables") // nil where there are none
	all := map[string]string{}
	for _, variable := range variables {
		of, _ := variable.(map[string]any)
		name, _ := of["name"].(string)
		all[name], _ = of["expression"].(string)
	}
	return all
}
