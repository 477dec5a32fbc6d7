package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/config/crd"
)

// Admit checks the objects of our kinds as an API server would, with its own code: limits, patterns and rules. It returns
// all errors at once.
func (s *Set) Admit() error {
	var refused []error                              // the objects must not be used after an error
	read := map[schema.GroupVersionKind]*kindRules{} // compiling rules takes time: once for each kind
	for i, one := range s.All {
		kind := one.Version.WithKind(one.Kind)
		rules, known := read[kind]
		if !known {
			var err error
			if rules, err = rulesOf(kind); err != nil {
				return err
			}
			read[kind] = rules
		}
		if rules == nil {
			continue
		}
		data, err := rules.admit(one)
		refused = append(refused, err)
		s.All[i].Data = data
	}
	return errors.Join(refused...)
}

// The limits on the cost of rules are those of an API server.
const (
	oneRuleCost  = 1_000_000
	allRulesCost = 10_000_000
)

// kindRules has the schema and rules of one kind, from its CRD.
type kindRules struct {
	structural *structuralschema.Structural
	limits     validation.SchemaValidator
	rules      *cel.Validator
}

// admit returns the object with its defaults set.
func (k *kindRules) admit(one Object) ([]byte, error) {
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(one.Data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", one, err)
	}
	defaulting.Default(content, k.structural)
	refused := validation.ValidateCustomResource(nil, content, k.limits)
	if len(refused) == 0 {
		// As in the API server, rules run only on an object within the limits.
		refused, _ = k.rules.Validate(context.Background(), nil, k.structural, content, nil, allRulesCost)
	}
	if len(refused) == 0 {
		return json.Marshal(content)
	}
	slices.SortStableFunc(refused, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	var lines []error
	for _, why := range refused {
		lines = append(lines, fmt.Errorf("%s: %w", one, why))
	}
	return nil, errors.Join(lines...)
}

// definitions returns the CRDs of our kinds, by group and kind.
var definitions = sync.OnceValues(func() (map[schema.GroupKind]apiextensionsv1.CustomResourceDefinition, error) {
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		return nil, err
	}
	all := map[schema.GroupKind]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		data, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			return nil, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &definition); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		all[schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}] = definition
	}
	return all, nil
})

// rulesOf returns the rules of one of our kinds, or nil for any other kind.
func rulesOf(kind schema.GroupVersionKind) (*kindRules, error) {
	all, err := definitions()
	if err != nil {
		return nil, err
	}
	definition, ours := all[kind.GroupKind()]
	if !ours {
		return nil, nil
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == kind.Version {
			return newRules(version.Schema.OpenAPIV3Schema)
		}
	}
	return nil, nil // decode tells the user which version is needed
}

func newRules(external *apiextensionsv1.JSONSchemaProps) (*kindRules, error) {
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, &props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	limits, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, err
	}
	return &kindRules{structural, limits, cel.NewValidator(structural, true, oneRuleCost)}, nil
}
