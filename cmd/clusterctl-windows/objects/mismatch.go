package objects

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mismatch is a value of another type than its field.
type mismatch struct {
	path  string
	value any
	want  *structuralschema.Structural
}

// mismatches finds values of another type, and stops a little after the number that is reported. The API server's own message
// shows neither the value nor how to write it.
func mismatches(value any, want *structuralschema.Structural, path string) []mismatch {
	if value == nil || want == nil || fits(value, want) && isLeaf(value) {
		return nil
	}
	if !fits(value, want) {
		return []mismatch{{path, value, want}}
	}
	var found []mismatch
	if list, ok := value.([]any); ok {
		for i, item := range list {
			if len(found) <= mostSentences {
				found = append(found, mismatches(item, want.Items, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
		return found
	}
	fields, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(found) > mostSentences {
			break
		}
		fieldPath := fieldIn(path, name)
		if _, ok := want.Properties[name]; !ok && !plainName.MatchString(name) {
			fieldPath = path // the name may be a secret
		}
		found = append(found, mismatches(fields[name], childOf(want, name), fieldPath)...)
	}
	return found
}

func fieldIn(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isLeaf(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// fits reports whether the value has the type that the field wants.
func fits(value any, want *structuralschema.Structural) bool {
	var ok bool
	switch value := value.(type) {
	case string:
		ok = want.Type == "string"
	case bool:
		ok = want.Type == "boolean"
	case int64:
		ok = want.Type == "integer" || want.Type == "number" || want.XIntOrString
	case float64:
		ok = want.Type == "number" || want.Type == "integer" && value == math.Trunc(value)
	case []any:
		ok = want.Type == "array"
	case map[string]any:
		ok = want.Type == "object"
	}
	_, text := value.(string)
	return ok || want.Type == "" && !want.XIntOrString || want.XIntOrString && text
}

// words describes what the field must have, what it has, and how to write it.
func (m mismatch) words() string {
	wanted := typeWords[m.want.Type]
	if m.want.XIntOrString {
		wanted = "a whole number or a text"
	}
	return join(m.path, "must be "+wanted+", not "+stands(m.path, m.value), m.write())
}

// write shows how to write what was meant.
func (m mismatch) write() string {
	switch value := m.value.(type) {
	case string:
		return m.writeText(value)
	case map[string]any:
		if m.want.Type == "array" {
			return listed(m.path, m.want.Items, keysOf(m.want), value)
		}
	case bool:
		if word := map[bool]string{true: "Enabled", false: "Disabled"}[value]; slices.Contains(enumOf(m.want), word) {
			return "write " + word
		}
	}
	if m.want.Type == "object" {
		return itsFields(m.want)
	}
	if !isLeaf(m.value) {
		return ""
	}
	return m.writeLeaf()
}

// writeLeaf shows how to write a number, or true or false, whose field wants something else.
func (m mismatch) writeLeaf() string {
	_, isNumber := m.value.(float64)
	switch {
	case m.want.Type == "string", m.want.XIntOrString:
		return strings.TrimSpace("write it in quotes " + m.oneOf())
	case m.want.Type == "array":
		return inBrackets(m.want.Items)
	case m.want.Type == "integer" && isNumber:
		return "write a number without a fraction"
	case m.want.Type == "boolean":
		return "write true or false"
	}
	return "write a number" + inUnits(m.path)
}

// itsFields lists the fields of an object, if the schema knows any.
func itsFields(want *structuralschema.Structural) string {
	if len(want.Properties) == 0 {
		return ""
	}
	return "its fields are " + joinAnd(fieldsAt(want))
}

func (m mismatch) oneOf() string {
	if values := enumOf(m.want); len(values) > 0 {
		return "as one of " + strings.Join(values, ", ")
	}
	return ""
}

// writeText shows how to write a text whose field wants something else.
func (m mismatch) writeText(text string) string {
	name := m.path[strings.LastIndex(m.path, ".")+1:]
	plain := shown(m.path, text) != ""
	switch m.want.Type {
	case "integer", "number":
		if number := inUnitOf(name, text); plain && number != "" {
			return "write " + number + inUnits(name)
		}
		return "write a number" + inUnits(name)
	case "boolean":
		return "write true or false, without quotes"
	case "array":
		if keys := keysOf(m.want); plain && len(keys) == 1 && oneWord.MatchString(text) {
			return fmt.Sprintf("write [{%s: %s}]", keys[0], text)
		}
		return inBrackets(m.want.Items)
	case "object":
		if textField := onlyText(m.want); plain && textField != "" {
			return fmt.Sprintf("write {%s: %s}", textField, strings.Trim(shown(m.path, text), `"`))
		}
		return itsFields(m.want)
	}
	return ""
}

// oneWord may be the key of an item; NAME=VALUE and lists are more than that.
var oneWord = regexp.MustCompile(`^[A-Za-z0-9._-]{1,80}$`)

// inBrackets shows how to write a list of such items.
func inBrackets(item *structuralschema.Structural) string {
	if item == nil || item.Type != "object" {
		return "write it in brackets, as in [a, b]"
	}
	return "write a list of objects, each with the fields " + joinAnd(fieldsAt(item))
}

// onlyText is the only field of an object that takes any text.
func onlyText(want *structuralschema.Structural) string {
	var found []string
	for name, field := range want.Properties {
		if field.Type == "string" && len(enumOf(&field)) == 0 {
			found = append(found, name)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return ""
}

// unit is what a field counts, by the end of its name.
var units = map[string]struct {
	name string
	size float64
}{
	"MiB": {"MiB", 1 << 20}, "GiB": {"GiB", 1 << 30}, "Seconds": {"seconds", 1}, "Hours": {"hours", 3600},
}

// inUnits names the unit of a field.
func inUnits(field string) string {
	for end, unit := range units {
		if strings.HasSuffix(field, end) {
			return "; this field counts " + unit.name
		}
	}
	return ""
}

var bytesInWords = regexp.MustCompile(`^(\d+(?:[.,]\d+)?) ?([KMGT])i?[Bb]?$`)

// inUnitOf converts an amount with a unit into the unit of the field.
func inUnitOf(field, text string) string {
	if _, err := strconv.ParseInt(text, 10, 32); err == nil {
		return text
	}
	for end, unit := range units {
		if !strings.HasSuffix(field, end) {
			continue
		}
		amount := 0.0
		if parts := bytesInWords.FindStringSubmatch(text); parts != nil {
			// People mean the same by GB and Gi when they size a VM.
			quantity, _ := resource.ParseQuantity(strings.Replace(parts[1], ",", ".", 1) + parts[2] + "i")
			amount = quantity.AsApproximateFloat64()
		} else if lasts, err := time.ParseDuration(strings.Replace(text, "min", "m", 1)); err == nil {
			amount = lasts.Seconds()
		}
		if count := amount / unit.size; count >= 1 && count == math.Trunc(count) {
			return strconv.FormatFloat(count, 'f', 0, 64)
		}
	}
	return ""
}

func keysOf(list *structuralschema.Structural) []string { return list.XListMapKeys }

func enumOf(node *structuralschema.Structural) []string {
	if node == nil || node.ValueValidation == nil {
		return nil
	}
	var values []string
	for _, value := range node.ValueValidation.Enum {
		values = append(values, fmt.Sprint(value.Object))
	}
	return values
}

// listed writes what was given as an object as the list that is wanted: as one item of it, or as an item for each field.
func listed(path string, item *structuralschema.Structural, keys []string, fields map[string]any) string {
	if item == nil || item.Type != "object" {
		return inBrackets(item)
	}
	if names := fieldsOf(item, fields); len(names) == len(fields) {
		return "put a dash and a blank before its first field, and two blanks before the others"
	}
	second := otherText(item, keys)
	if second == "" || !allLeaves(fields) {
		return inBrackets(item)
	}
	field := item.Properties[second]
	var items []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		items = append(items, fmt.Sprintf("- {%s: %s, %s: %s}", keys[0], nameOrSo(path, name), second,
			valueOrSo(path, fields[name], enumOf(&field))))
	}
	return "write a list: " + strings.Join(items[:min(len(items), mostItems)], " ")
}

// otherText is the only text field of an item besides its only key, or empty.
func otherText(item *structuralschema.Structural, keys []string) string {
	if len(keys) != 1 || len(item.Properties) != 2 {
		return ""
	}
	for name := range item.Properties {
		if name != keys[0] && item.Properties[name].Type == "string" {
			return name
		}
	}
	return ""
}

func allLeaves(fields map[string]any) bool {
	for _, value := range fields {
		if !isLeaf(value) {
			return false
		}
	}
	return true
}

// mostItems of a list are written out.
const mostItems = 5

func nameOrSo(path, name string) string {
	if plainField.MatchString(path) && len(name) <= longestShown {
		return name
	}
	return "..."
}

// valueOrSo writes a value as a text of the list, if it may be shown.
func valueOrSo(path string, value any, enum []string) string {
	if word := map[any]string{true: "Enabled", false: "Disabled"}[scalar(value)]; slices.Contains(enum, word) {
		return word
	}
	text := shown(path, value)
	if text == "" || !plainField.MatchString(path) {
		return "..."
	}
	if _, quoted := value.(string); !quoted {
		text = strconv.Quote(text)
	}
	return text
}

// scalar turns the texts "true" and "false" into booleans.
func scalar(value any) any {
	if text, ok := value.(string); ok {
		if enabled, err := strconv.ParseBool(text); err == nil && len(text) > 1 {
			return enabled
		}
		return text
	}
	if !isLeaf(value) {
		return nil
	}
	return value
}
