package step

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// InvalidError is what the user must change, and where.
type InvalidError struct {
	// Field, after the object it belongs to: WindowsBootstrapConfig spec.node.labels.
	Field string
	// Message has the value, what is wrong with it, and what to use instead.
	Message string
}

// Error is field and sentence.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// Invalid makes an *InvalidError.
func Invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// Port is the regular expression of a port, from 1 to 65535.
const Port = `(6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|[1-9]\d{0,3})`

// goodName is valid for a step as well as for a file.
var goodName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// CheckName refuses a name that steps and files cannot have, or that was seen before in the same list.
func CheckName(field, name string, seen map[string]bool) error {
	switch {
	case !goodName.MatchString(name):
		return Invalid(field, "name %q is not valid; use at most 40 lower-case letters, digits and dashes", name)
	case seen[name]:
		return Invalid(field, "name %q is used twice; rename one of the two", name)
	}
	seen[name] = true
	return nil
}

// Choose translates a value of the API; an empty value means the fallback.
func Choose[K ~string, V any](field string, value K, fallback V, meanings map[K]V) (V, error) {
	if value == "" {
		return fallback, nil
	}
	meaning, ok := meanings[value]
	if !ok {
		return meaning, Invalid(field, "%q is not valid; use %s", value, OneOf(SortedKeys(meanings)))
	}
	return meaning, nil
}

// OneOf lists what may be used: "A, B or C".
func OneOf(names []string) string {
	final := len(names) - 1
	if final < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:final], ", ") + " or " + names[final]
}

// SortedKeys of a map, so that a sentence always lists them in the same order.
func SortedKeys[K ~string, V any](meanings map[K]V) []string {
	keys := make([]string, 0, len(meanings))
	for _, key := range slices.Sorted(maps.Keys(meanings)) {
		keys = append(keys, string(key))
	}
	return keys
}
