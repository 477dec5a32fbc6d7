package objects

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the schemas of Cluster API
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/config/crd"
)

// schemas are those of a CRD, by version.
type schemas map[string]*apiextensionsv1.JSONSchemaProps

// ourSchemas returns the schemas of our kinds.
var ourSchemas = sync.OnceValues(func() (map[schema.GroupKind]schemas, error) {
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		return nil, err
	}
	kinds := map[schema.GroupKind]schemas{}
	for _, file := range files {
		data, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			return nil, err
		}
		if err := addSchemas(kinds, data); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return kinds, nil
})

// addSchemas adds those of a CRD.
func addSchemas(kinds map[schema.GroupKind]schemas, data []byte) error {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &definition); err != nil {
		return err
	}
	versions := schemas{}
	for _, version := range definition.Spec.Versions {
		versions[version.Name] = version.Schema.OpenAPIV3Schema
	}
	kinds[schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}] = versions
	return nil
}

// clusterAPI has the schemas of Cluster API's CRDs, of the release in go.mod; a test compares them and writes them anew.
// Descriptions are left out, except of what has a pattern.
//
//go:embed clusterapi.json.gz
var clusterAPI []byte

// capiSchemas returns the schemas of Cluster API's kinds, by the text KIND.GROUP.
var capiSchemas = sync.OnceValues(func() (map[string]schemas, error) {
	reader, err := gzip.NewReader(bytes.NewReader(clusterAPI))
	if err != nil {
		return nil, err
	}
	var kinds map[string]schemas
	return kinds, json.NewDecoder(reader).Decode(&kinds)
})

// compiled has the rules by kind: compiling them takes time.
var compiled sync.Map

// rulesOf returns the rules of a kind, or nil if it is another provider's.
func rulesOf(kind schema.GroupVersionKind) (*kindRules, error) {
	if rules, ok := compiled.Load(kind); ok {
		return rules.(*kindRules), nil
	}
	rules, err := readRules(kind)
	if err == nil {
		compiled.Store(kind, rules)
	}
	return rules, err
}

func readRules(kind schema.GroupVersionKind) (*kindRules, error) {
	provider, err := ourSchemas()
	if err != nil {
		return nil, err
	}
	if versions, ok := provider[kind.GroupKind()]; ok {
		return newRules(versions[kind.Version], false)
	}
	capi, err := capiSchemas()
	if err != nil {
		return nil, err
	}
	if versions, ok := capi[kind.GroupKind().String()]; ok {
		return newRules(versions[kind.Version], true)
	}
	if kind.Group == clusterv1.GroupVersion.Group {
		return nil, noKind(kind, kindsOf(capi, kind.Group))
	}
	return nil, nil
}

// noKind suggests which kind of a group was meant, or names the group of the kind.
func noKind(kind schema.GroupVersionKind, kinds []string) error {
	if right, ok := versions[kind.Kind]; ok {
		return fmt.Errorf("a %s is not of %s; write apiVersion: %s", kind.Kind, kind.Group, right)
	}
	if meant := Nearest(kind.Kind, kinds); meant != "" {
		return fmt.Errorf("there is no such kind in %s; did you mean %s?", kind.Group, meant)
	}
	return fmt.Errorf("there is no such kind in %s, which has %s", kind.Group, strings.Join(kinds, ", "))
}

func kindsOf(table map[string]schemas, group string) []string {
	var kinds []string
	for name := range table {
		if kind, rest, _ := strings.Cut(name, "."); rest == group {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// newRules returns no rules for a version that has no schema; Decode names the version that is needed.
func newRules(external *apiextensionsv1.JSONSchemaProps, foreign bool) (*kindRules, error) {
	if external == nil {
		return nil, nil
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, &props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	limits, _, broken := validation.NewSchemaValidator(&props)
	return &kindRules{structural, limits, cel.NewValidator(structural, true, oneRuleCost), foreign, false}, broken
}
