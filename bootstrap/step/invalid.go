package step

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// InvalidError tells the user what to change, and where.
type InvalidError struct {
	// Field, after the object it belongs to: WindowsBootstrapConfig spec.node.labels.
	Field string
	// Message names the value, says what is wrong with it, and what to use instead.
	Message string
}

// Error is field and sentence.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// Invalid makes an *InvalidError.
func Invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// Choose translates a value of the API; an empty value means the fallback.
func Choose[K ~string, V any](field string, value K, fallback V, meanings map[K]V) (V, error) {
	if value == "" {
		return fallback, nil
	}
	meaning, ok := meanings[value]
	if !ok {
		return meaning, Invalid(field, "%q is none; write %s", value, strings.Join(SortedKeys(meanings), " or "))
	}
	return meaning, nil
}

// SortedKeys of a map, so that a sentence always lists them in the same order.
func SortedKeys[K ~string, V any](meanings map[K]V) []string {
	keys := make([]string, 0, len(meanings))
	for _, key := range slices.Sorted(maps.Keys(meanings)) {
		keys = append(keys, string(key))
	}
	return keys
}
