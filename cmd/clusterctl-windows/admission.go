package main

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

// admit refuses what an API server would, all of it at once: limits, patterns and rules of our kinds, by its own code.
func admit(o *objects) error {
	var refused []error                              // after one, nobody reads the objects
	read := map[schema.GroupVersionKind]*kindRules{} // rules are compiled once, however many objects of a kind there are
	for i, one := range o.all {
		kind := one.version.WithKind(one.kind)
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
		o.all[i].data = data
	}
	return errors.Join(refused...)
}

// What rules may cost, as in an API server.
const (
	oneRuleCost  = 1_000_000
	allRulesCost = 10_000_000
)

// kindRules are what a CRD says of one kind.
type kindRules struct {
	structural *structuralschema.Structural
	limits     validation.SchemaValidator
	rules      *cel.Validator
}

// admit returns the object with its defaults.
func (k *kindRules) admit(one object) ([]byte, error) {
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(one.data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", one, err)
	}
	defaulting.Default(content, k.structural)
	refused := validation.ValidateCustomResource(nil, content, k.limits)
	if len(refused) == 0 {
		// As the API server does: rules are asked of what keeps the limits.
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

// definitions of our kinds, by group and kind.
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

// rulesOf a kind of ours; nil for the kinds of others.
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
	return nil, nil // decoding says which version it must be
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
