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
	object  Object
	list    []sentence
	omitted int
}

type sentence struct{ path, text string }

// FieldError is what is wrong with a field of an object.
type FieldError struct {
	Object Object
	Path   string
	// Text begins with the path.
	Text string
}

// Error is the sentence about the field.
func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s", e.Object, e.Text) }

// mostSentences are reported about an object.
const mostSentences = 20

// add adds a sentence, unless there are enough.
func (s *sentences) add(path string, words func() string) {
	if len(s.list) == mostSentences {
		s.omitted++
		return
	}
	s.list = append(s.list, sentence{path, words()})
}

// err joins the sentences. If a variable in the object was not filled in, that is the cause, and is reported once.
func (s *sentences) err(content map[string]any) error {
	var errs []error
	causes := map[string]bool{}
	for _, next := range s.list {
		text, _ := valueAt(content, next.path).(string)
		if cause := unrendered(text); cause != "" {
			if causes[cause] {
				continue
			}
			causes[cause], next.text = true, next.path+" has "+cause
		}
		errs = append(errs, &FieldError{Object: s.object, Path: next.path, Text: next.text})
	}
	if s.omitted > 0 {
		errs = append(errs, fmt.Errorf("%s: and %d more", s.object, s.omitted))
	}
	return errors.Join(errs...)
}

var variable = regexp.MustCompile(`\$\{[A-Z][A-Z0-9_]{0,60}(?::?[=-][^}]*)?\}`)

// unrendered reports a variable of a template in a text, and what fills it in.
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

// RefuseValue lists what a schema refuses of a value with this name. The paths begin with the name.
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
	for _, m := range wrong {
		refused = append(refused, &FieldError{Path: m.path, Text: m.words()})
	}
	unknown := pruning.PruneWithOptions(runtime.DeepCopyJSON(content), k.structural, false,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		if !covered(path, wrong) {
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
	for _, limit := range limits {
		refused = append(refused, &FieldError{Path: limit.Field, Text: k.words(limit, content)})
	}
	slices.SortStableFunc(refused, func(a, b *FieldError) int { return strings.Compare(a.Path, b.Path) })
	return refused
}
