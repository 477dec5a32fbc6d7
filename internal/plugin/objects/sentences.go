package objects

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// sentences are what is wrong with an object, each about a field.
type sentences struct {
	of   Object
	all  []sentence
	more int
}

type sentence struct{ path, text string }

// FieldError says what is wrong with a field of an object.
type FieldError struct {
	Of   Object
	Path string
	// Text begins with the path.
	Text string
}

// Error is the sentence about the field.
func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s", e.Of, e.Text) }

// mostSentences about an object are told.
const mostSentences = 20

// add adds a sentence, unless there are enough.
func (s *sentences) add(path string, words func() string) {
	if len(s.all) == mostSentences {
		s.more++
		return
	}
	s.all = append(s.all, sentence{path, words()})
}

// err joins the sentences. If a variable in the object was not filled in, that is the cause, and is told once.
func (s *sentences) err(content map[string]any) error {
	var told []error
	causes := map[string]bool{}
	for _, next := range s.all {
		text, _ := valueAt(content, next.path).(string)
		if cause := unrendered(text); cause != "" {
			if causes[cause] {
				continue
			}
			causes[cause], next.text = true, next.path+" has "+cause
		}
		told = append(told, &FieldError{Of: s.of, Path: next.path, Text: next.text})
	}
	if s.more > 0 {
		told = append(told, fmt.Errorf("%s: and %d more", s.of, s.more))
	}
	return errors.Join(told...)
}

var variable = regexp.MustCompile(`\$\{[A-Z][A-Z0-9_]{0,60}(?::?[=-][^}]*)?\}`)

// unrendered says that a text has a variable of a template, and what fills it in.
func unrendered(text string) string {
	if found := variable.FindString(text); found != "" {
		name, _, _ := strings.Cut(strings.TrimRight(found, "}"), ":")
		name, _, _ = strings.Cut(name, "=")
		return fmt.Sprintf("the variable %s}, which is not filled in; run clusterctl generate yaml, or clusterctl generate cluster, "+
			"and give what that prints", name)
	}
	if strings.Contains(text, "{{") && strings.Contains(text, "}}") {
		return templateOfHelm
	}
	return ""
}
