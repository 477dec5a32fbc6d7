package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// lineEnds may end a line where a program reads a part of a text as YAML. U+0085 does, and JSON does not escape it.
var lineEnds = map[string]string{
	"a line": "\n", "a return": "\r", "U+0085": "\u0085", "U+2028": "\u2028", "a quote": `"`, "a quote and a line": "\"\n",
	"an action": `{{ "\n" }}`,
}

// breakouts are the lines of a file of the attacker's, where a template of a cloud writes a list of files or one, and what takes
// the rest of the text in.
var breakouts = map[string][]string{
	"azure":   {"a", "- path: /etc/kubernetes/manifests/evil.yaml", "  content: |", "    evil", "    "},
	"vsphere": {"a", "path: /etc/kubernetes/manifests/evil.yaml", "more: |", "  "},
}

// classOf is the ClusterClass of a cloud.
func classOf(t *testing.T, cloud string) *clusterv1.ClusterClass {
	t.Helper()
	text := expect.Got(os.ReadFile(filepath.Join("..", "..", "..", "templates", "clusterclass-windows-"+cloud+".yaml")))(t)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		class := &clusterv1.ClusterClass{}
		if expect.OK(t, yaml.Unmarshal([]byte(document), class)); class.Kind == "ClusterClass" {
			return class
		}
	}
	t.Fatal("there is no class")
	return nil
}

// texts are the templates of a class that write whole files into another text.
func texts(class *clusterv1.ClusterClass) (texts []string) {
	for _, patch := range class.Spec.Patches {
		for _, definition := range patch.Definitions {
			for _, one := range definition.JSONPatches {
				if one.ValueFrom != nil && strings.Contains(one.ValueFrom.Template, "content: |") {
					texts = append(texts, one.ValueFrom.Template)
				}
			}
		}
	}
	return texts
}

// valuesOf are values for all variables of a class: the one that is tried where the schema takes it, and another one elsewhere.
func valuesOf(schema clusterv1.JSONSchemaProps, tried string) (value any, taken int) {
	switch {
	case schema.Type == "object":
		values := map[string]any{}
		for name, property := range schema.Properties {
			one, n := valuesOf(property, tried)
			values[name], taken = one, taken+n
		}
		return values, taken
	case schema.Type != "string":
		return 6443, 0
	case schema.Format != "" || schema.Pattern != "" && !regexp.MustCompile(schema.Pattern).MatchString(tried):
		return "plain", 0
	}
	return tried, 1
}

// rendered is the structure of what templates make of the variables, as the topology controller reads it.
func rendered(t *testing.T, class *clusterv1.ClusterClass, tried string) (structure []string, taken int) {
	t.Helper()
	values := map[string]any{"builtin": map[string]any{"cluster": map[string]any{"name": "blue"}}}
	for _, variable := range class.Spec.Variables {
		value, n := valuesOf(variable.Schema.OpenAPIV3Schema, tried)
		values[variable.Name], taken = value, taken+n
	}
	for _, text := range texts(class) {
		var out strings.Builder
		made := expect.Got(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
			"toJson":   func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
			"default":  func(other string, v any) any { return map[bool]any{true: other, false: v}[v == ""] },
			"toString": func(v any) string { return fmt.Sprint(v) },
		}).Parse(text))(t)
		expect.OK(t, made.Execute(&out, values))
		var value any
		expect.OK(t, yaml.Unmarshal([]byte(out.String()), &value))
		structure = append(structure, structureOf("", value)...)
	}
	return structure, taken
}

// structureOf names all fields of a value, and those of a file in it.
func structureOf(at string, value any) (names []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			names = append(names, structureOf(at+"."+name, value[name])...)
		}
	case []any:
		for n, one := range value {
			names = append(names, structureOf(fmt.Sprintf("%s[%d]", at, n), one)...)
		}
	case string:
		var file any
		if strings.HasSuffix(at, ".content") && yaml.Unmarshal([]byte(value), &file) == nil {
			return append(names, structureOf(at, file)...)
		}
		return append(names, at)
	default:
		return append(names, at)
	}
	return names
}

// TestVariablesOfClasses: a user who may write the variables of a Cluster's topology alone wants files of the control plane.
func TestVariablesOfClasses(t *testing.T) {
	t.Parallel()
	for cloud, lines := range breakouts {
		class := classOf(t, cloud)
		plain, _ := rendered(t, class, "plain")
		if len(plain) < 10 {
			t.Errorf("only %q is tried", plain)
		}
		for how, end := range lineEnds {
			attempt(t, attack{
				by: "tenant", tries: "writes a file of the control plane by a variable of the class of " + cloud + " with " + how,
				try: func(t *testing.T) string {
					got, taken := rendered(t, class, strings.Join(lines, end))
					expect.Same(t, "what is written", plain, got)
					return fmt.Sprintf("%d variables take it, as a text", taken)
				},
			})
		}
	}
}
