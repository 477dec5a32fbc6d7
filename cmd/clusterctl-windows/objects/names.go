package objects

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
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
func fieldAt(problem, path string) string {
	prefix := plainPath.FindString(path)
	name, _, _ := strings.Cut(path[len(prefix):], "[")
	if plainName.MatchString(name) {
		return fmt.Sprintf("%s field %q", problem, path)
	}
	place := "the object"
	if prefix != "" {
		place = strings.TrimSuffix(prefix, ".")
	}
	return fmt.Sprintf("%s field in %s; its name is not shown, because it has more than letters and may be a secret", problem, place)
}

// unknownField reports that a field does not exist, and suggests what was meant.
func (k *kindRules) unknownField(object Object, content map[string]any, path string) string {
	hint, isKnown := k.meant(object, content, path)
	text := fieldAt("unknown", path)
	if isKnown {
		text = fmt.Sprintf("unknown field %q", path)
	}
	return join("", text, hint)
}

// covered reports whether a path is within one of the values.
func covered(path string, wrong []mismatch) bool {
	return slices.ContainsFunc(wrong, func(m mismatch) bool {
		rest, ok := strings.CutPrefix(path, m.path)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// strictly joins what a strict decoder found.
func strictly(found []error) error {
	var errs []error
	for _, err := range found {
		if field, ok := errors.AsType[kjson.FieldError](err); ok {
			problem, _, _ := strings.Cut(err.Error(), " ") // unknown or duplicate
			err = errors.New(fieldAt(problem, field.FieldPath()))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// keyTwice reports that an object of a YAML document has a key twice.
func keyTwice(key string) string {
	if plainName.MatchString(key) {
		return fmt.Sprintf("the key %q is set twice in the same object; keep one", key)
	}
	return "the key in this line is set twice in the same object; keep one"
}

// patternWords are the patterns of names that many kinds have.
var patternWords = map[string]string{
	`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: "write lower-case letters, digits, - and . alone, with a " +
		"letter or digit at both ends, such as windows-2022",
}
