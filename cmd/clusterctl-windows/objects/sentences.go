package objects

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
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

// RefuseValue says in our words what a schema refuses of a value that has this name. The paths begin with the name.
func RefuseValue(schema *apiextensionsv1.JSONSchemaProps, name string, data []byte) ([]*FieldError, error) {
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &value); err != nil {
		return nil, err
	}
	rules, err := newRules(&apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{name: *schema},
	}, true)
	if err != nil {
		return nil, err
	}
	rules.ofClass = true
	return rules.refuseValue(map[string]any{name: value}), nil
}

func (k *kindRules) refuseValue(content map[string]any) []*FieldError {
	var refused []*FieldError
	wrong := mismatches(content, k.structural, "")
	for _, one := range wrong {
		refused = append(refused, &FieldError{Path: one.path, Text: one.words()})
	}
	unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(content), k.structural, false,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		if !inside(path, wrong) {
			refused = append(refused, &FieldError{Path: path, Text: k.unknownField(Object{}, content, path)})
		}
	}
	if len(refused) > 0 {
		return refused // what is missing is mostly what is misspelt
	}
	limits := validation.ValidateCustomResource(nil, content, k.limits)
	if len(limits) == 0 {
		limits, _ = k.rules.Validate(context.Background(), nil, k.structural, content, nil, allRulesCost)
	}
	for _, why := range limits {
		refused = append(refused, &FieldError{Path: why.Field, Text: k.words(why, content)})
	}
	slices.SortStableFunc(refused, func(a, b *FieldError) int { return strings.Compare(a.Path, b.Path) })
	return refused
}
