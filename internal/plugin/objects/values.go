package objects

import (
	"context"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

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
