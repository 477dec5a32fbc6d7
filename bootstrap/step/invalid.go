package step

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// InvalidError says what the user has to change, and where.
type InvalidError struct {
	// Field with the object it belongs to: WindowsBootstrapConfig spec.node.labels.
	Field string
	// Message names the value and says what to write instead.
	Message string
}

// Error is field and sentence.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// Invalid is an *InvalidError whose message says what to write instead.
func Invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// Choose is what a value of the API means; a field that is left out means the fallback.
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

// SortedKeys of a map, for sentences that must not change.
func SortedKeys[K ~string, V any](meanings map[K]V) []string {
	keys := make([]string, 0, len(meanings))
	for _, key := range slices.Sorted(maps.Keys(meanings)) {
		keys = append(keys, string(key))
	}
	return keys
}
