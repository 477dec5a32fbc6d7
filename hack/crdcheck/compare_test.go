package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// thing is a CRD; FIELD is the schema of its field spec.a.
const thing = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList, shortNames: [th, t]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.a}]
    additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}]
    schema: {openAPIV3Schema: {type: object, description: A thing., properties: {spec: {type: object, properties: {
      a: FIELD,
      message: {type: string, description: A field.}}}}}}
`

// transition is a change of a CRD, with what crdcheck says of it and of its opposite.
type transition struct {
	name       string
	old, now   string
	want, back []string
}

func TestFields(t *testing.T) {
	for _, c := range ofFields {
		t.Run(c.name, func(t *testing.T) {
			old, now := strings.Replace(thing, "FIELD", c.old, 1), strings.Replace(thing, "FIELD", c.now, 1)
			wantBothWays(t, old, now, c)
		})
	}
}

// These replace a text of the CRD by another one.
var ofDefinitions = []transition{{
	name: "a kind",
	old:  thing, now: "{}",
	want: []string{"Thing: the kind was removed"},
}, {
	name: "another group",
	old:  "group: example.com", now: "group: example.org",
	want: []string{"Thing: group was example.com and is example.org"},
	back: []string{"Thing: group was example.org and is example.com"},
}, {
	name: "another scope",
	old:  "scope: Namespaced", now: "scope: Cluster",
	want: []string{"Thing: scope was Namespaced and is Cluster"},
	back: []string{"Thing: scope was Cluster and is Namespaced"},
}, {
	name: "another name of the kind",
	old:  "kind: Thing,", now: "kind: Item,",
	want: []string{"Thing: kind was Thing and is Item"},
	back: []string{"Item: kind was Item and is Thing"},
}, {
	name: "other names",
	old:  "plural: things, singular: thing, listKind: ThingList", now: "plural: items, singular: item, listKind: ItemList",
	want: []string{
		"Thing: listKind was ThingList and is ItemList", "Thing: plural was things and is items",
		"Thing: singular was thing and is item",
	},
	back: []string{
		"Thing: listKind was ItemList and is ThingList", "Thing: plural was items and is things",
		"Thing: singular was item and is thing",
	},
}, {
	name: "names for the command line",
	old:  "shortNames: [th, t]", now: "shortNames: [th], categories: [all]",
	want: []string{"Thing: shortNames has lost t"},
	back: []string{"Thing: categories has lost all"},
}, {
	name: "a version",
	old:  "versions:", now: "versions:\n  - {name: v2, served: true, storage: false}",
	back: []string{"Thing v2: the version was removed"},
}, {
	name: "a version that is not served",
	old:  "served: true", now: "served: false",
	want: []string{"Thing v1: the version is not served any more"},
}, {
	name: "another version in which objects are stored",
	old:  "storage: true", now: "storage: false",
	want: []string{"Thing v1: storage was true and is false"},
	back: []string{"Thing v1: storage was false and is true"},
}, {
	name: "subresources",
	old:  "subresources: {status: {}}", now: "subresources: {}",
	want: []string{`Thing v1: subresources was {"status":{}} and is {}`},
	back: []string{`Thing v1: subresources was {} and is {"status":{}}`},
}, {
	name: "fields to select by",
	old:  "[{jsonPath: .spec.a}]", now: "[]",
	want: []string{`Thing v1: selectableFields has lost {"jsonPath":".spec.a"}`},
}, {
	name: "columns and a deprecation are for people",
	old:  "additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}]", now: "deprecated: true",
}, {
	name: "a conversion",
	old:  "versions:", now: "conversion: {strategy: Webhook}\n  versions:",
	want: []string{`Thing: conversion {"strategy":"Webhook"} is new`},
	back: []string{`Thing: conversion {"strategy":"Webhook"} was removed`},
}, {
	name: "fields that no schema knows",
	old:  "versions:", now: "preserveUnknownFields: true\n  versions:",
	want: []string{"Thing: preserveUnknownFields was false and is true"},
	back: []string{"Thing: preserveUnknownFields was true and is false"},
}, {
	name: "all fields",
	old:  "spec: {type: object, properties: {\n      a: FIELD,", now: "spec: {type: object, properties: {",
	want: []string{"Thing v1 spec.a: the field was removed"},
}, {
	name: "a rule of the whole object",
	old:  "description: A thing.", now: "x-kubernetes-validations: [{rule: has(self.spec)}], required: [spec]",
	want: []string{
		"Thing v1 spec: the field is required now, and objects may lack it",
		"Thing v1: the rule is new or was changed: has(self.spec)",
	},
}}

func TestDefinitions(t *testing.T) {
	for _, c := range ofDefinitions {
		t.Run(c.name, func(t *testing.T) {
			now := strings.Replace(thing, c.old, c.now, 1)
			if now == thing {
				t.Fatalf("the CRD has no %q", c.old)
			}
			wantBothWays(t, strings.Replace(thing, "FIELD", "{type: string}", 1), strings.Replace(now, "FIELD", "{type: string}", 1), c)
		})
	}
}

func wantBothWays(t *testing.T, old, now string, c transition) {
	t.Helper()
	expect.Same(t, "forth", c.want, compared(t, old, now))
	expect.Same(t, "back", c.back, compared(t, now, old))
}

func compared(t *testing.T, old, now string) []string {
	t.Helper()
	before, after := expect.Got(readDefinitions([]byte(old)))(t), expect.Got(readDefinitions([]byte(now)))(t)
	var lines []string
	for _, one := range compare(before, after) {
		lines = append(lines, one.String())
	}
	return lines
}

// Every keyword that Kubernetes knows is in the tables, and has a case if something of it must stay.
func TestEveryKeywordIsInTheTables(t *testing.T) {
	tried := thing
	for _, c := range slices.Concat(ofFields, ofDefinitions) {
		tried += c.old + c.now
	}
	for kind, level := range map[reflect.Type]table{
		reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]():        ofDefinition,
		reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec]():    ofSpec,
		reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionNames]():   ofNames,
		reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionVersion](): ofVersion,
		reflect.TypeFor[apiextensionsv1.JSONSchemaProps]():                 ofSchema,
	} {
		want := names(kind)
		slices.Sort(want)
		expect.Same(t, kind.Name(), want, slices.Sorted(maps.Keys(level)))
		for name, keyword := range level {
			if keyword.check != nil && !strings.Contains(tried, name+":") {
				t.Errorf("%s of %s has no case", name, kind.Name())
			}
		}
	}
}

func names(of reflect.Type) []string {
	var all []string
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && options == "inline" {
			all = append(all, names(field.Type)...)
			continue
		}
		all = append(all, name)
	}
	return all
}
