package objects

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	kjson "sigs.k8s.io/json"
)

// An unknown name of a field is shown if it has only letters, as names in an API have. Another one may be a password that was
// pasted into a wrong place, and is left out.
var (
	plainName = regexp.MustCompile(`^[A-Za-z]{1,40}$`)
	plainPath = regexp.MustCompile(`^(?:[A-Za-z]{1,40}(?:\[\d+\])*\.)*`)
)

// fieldAt names a field by its path, or the object that it is in.
func fieldAt(what, path string) string {
	within := plainPath.FindString(path)
	name, _, _ := strings.Cut(path[len(within):], "[")
	if plainName.MatchString(name) {
		return fmt.Sprintf("%s field %q", what, path)
	}
	place := "the object"
	if within != "" {
		place = strings.TrimSuffix(within, ".")
	}
	return fmt.Sprintf("%s field in %s; its name is not shown, because it has more than letters and may be a secret", what, place)
}

// unknownField says that there is no such field, and what was meant.
func (k *kindRules) unknownField(one Object, content map[string]any, path string) string {
	hint, known := k.meant(one, content, path)
	text := fieldAt("unknown", path)
	if known {
		text = fmt.Sprintf("unknown field %q", path)
	}
	return join("", text, hint)
}

// inside says whether a path is within one of the values.
func inside(path string, wrong []mismatch) bool {
	for _, one := range wrong {
		if rest, ok := strings.CutPrefix(path, one.path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// strictly joins what a strict decoder found.
func strictly(found []error) error {
	var all []error
	for _, one := range found {
		if field, ok := errors.AsType[kjson.FieldError](one); ok {
			what, _, _ := strings.Cut(one.Error(), " ") // unknown or duplicate
			one = errors.New(fieldAt(what, field.FieldPath()))
		}
		all = append(all, one)
	}
	return errors.Join(all...)
}

// keyTwice says that a document in YAML has a key twice in an object.
func keyTwice(key string) string {
	if plainName.MatchString(key) {
		return fmt.Sprintf("the key %q is there twice in the same object; keep one", key)
	}
	return "the key in this line is there twice in the same object; keep one"
}

// patternWords are the patterns of names that many kinds have.
var patternWords = map[string]string{
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: "write lower-case letters, digits, - and . alone, with a " +
		"letter or digit at both ends, such as windows-2022",
}
