// Package doc reads and writes resources as JSON trees. The simulator keeps resources as they were sent, not as Go types: so it
// answers clients of any api-version, and a field that it does not know survives.
package doc

import (
	"encoding/json"
	"strings"
)

// Object is a JSON object.
type Object = map[string]any

// Of returns the object at the end of a path, and nil if it is not there.
func Of(o Object, path ...string) Object {
	for _, step := range path {
		o, _ = o[step].(Object)
	}
	return o
}

// Get returns the value at the end of a path, and nil if it is not there.
func Get(o Object, path ...string) any {
	last := len(path) - 1
	return Of(o, path[:last]...)[path[last]]
}

// Has says whether there is a value other than null.
func Has(o Object, path ...string) bool { return Get(o, path...) != nil }

// Text returns a string, "" if there is none.
func Text(o Object, path ...string) string {
	s, _ := Get(o, path...).(string)
	return s
}

// Flag returns a boolean, false if there is none.
func Flag(o Object, path ...string) bool {
	b, _ := Get(o, path...).(bool)
	return b
}

// Number returns a number, 0 if there is none.
func Number(o Object, path ...string) int {
	switch n := Get(o, path...).(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

// List returns the objects of a list; what is no object is left out.
func List(o Object, path ...string) []Object {
	values, _ := Get(o, path...).([]any)
	var all []Object
	for _, v := range values {
		if object, ok := v.(Object); ok {
			all = append(all, object)
		}
	}
	return all
}

// Texts returns the strings of a list.
func Texts(o Object, path ...string) []string {
	values, _ := Get(o, path...).([]any)
	var all []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// Set writes a value at the end of a path and makes the objects on the way.
func Set(o Object, value any, path ...string) {
	last := len(path) - 1
	for _, step := range path[:last] {
		next, ok := o[step].(Object)
		if !ok {
			next = Object{}
			o[step] = next
		}
		o = next
	}
	o[path[last]] = value
}

// Remove takes a value away.
func Remove(o Object, path ...string) {
	last := len(path) - 1
	delete(Of(o, path[:last]...), path[last])
}

// Clone returns a copy that shares nothing.
func Clone(o Object) Object { return Change(o, nil) }

// Change returns a copy that shares nothing, with all texts changed; nil changes none.
func Change(o Object, text func(string) string) Object {
	copied, _ := clone(o, text).(Object)
	return copied
}

func clone(v any, text func(string) string) any {
	switch v := v.(type) {
	case Object:
		all := make(Object, len(v))
		for k, inner := range v {
			all[k] = clone(inner, text)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, inner := range v {
			all[i] = clone(inner, text)
		}
		return all
	case string:
		if text != nil {
			return text(v)
		}
	}
	return v
}

// Merge writes what is new over what is old: objects are merged, lists and values are replaced. This is what a PUT on an existing
// VM does.
func Merge(old, changes Object) Object {
	merged := Clone(old)
	if merged == nil {
		merged = Object{}
	}
	for k, v := range changes {
		inner, isObject := v.(Object)
		before, wasObject := merged[k].(Object)
		if isObject && wasObject {
			merged[k] = Merge(before, inner)
			continue
		}
		merged[k] = clone(v, nil)
	}
	return merged
}

// Read parses a JSON object.
func Read(content []byte) (Object, error) {
	var o Object
	err := json.Unmarshal(content, &o)
	return o, err
}

// Objects makes a JSON list of objects.
func Objects(all ...Object) []any {
	list := make([]any, len(all))
	for i, o := range all {
		list[i] = o
	}
	return list
}

// Same says whether two names or ids are the same to ARM, which ignores case.
func Same(a, b string) bool { return strings.EqualFold(a, b) }
