package keep_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestHostileMetadata: an API server that answers with anything at all proves no object to be ours.
func TestHostileMetadata(t *testing.T) {
	for name, metadata := range map[string]any{
		"none": nil, "a text": "capwin", "fields that are a text": map[string]any{"managedFields": "capwin"},
		"entries that are texts": map[string]any{"managedFields": []any{"capwin", nil}},
		"a manager in a list":    map[string]any{"managedFields": []any{map[string]any{"manager": []any{"capwin"}}}},
		"labels that are a list": map[string]any{"labels": []any{keep.Label, keep.Mark}},
	} {
		expect.Same(t, name, false, keep.IsOurs(&unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}))
	}
}

// TestRight: what an API server sets by default changes nothing, and anything more makes another object.
func TestRight(t *testing.T) {
	const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - {expression: "true"}
`
	for name, c := range map[string]struct {
		text string
		edit func(o map[string]any)
		want bool
	}{
		"the same": {policy, func(map[string]any) {}, true},
		"defaults": {policy, func(o map[string]any) {
			constraints := o["spec"].(map[string]any)["matchConstraints"].(map[string]any)
			constraints["matchPolicy"], constraints["namespaceSelector"] = "Equivalent", map[string]any{}
			constraints["objectSelector"], constraints["excludeResourceRules"] = map[string]any{}, []any{}
			constraints["resourceRules"].([]any)[0].(map[string]any)["scope"] = "*"
			o["status"] = map[string]any{"observedGeneration": int64(1)}
		}, true},
		"another scope": {policy, func(o map[string]any) {
			constraints := o["spec"].(map[string]any)["matchConstraints"].(map[string]any)
			constraints["resourceRules"].([]any)[0].(map[string]any)["scope"] = "Cluster"
		}, false},
		"one more match condition": {policy, func(o map[string]any) {
			o["spec"].(map[string]any)["matchConditions"] = []any{map[string]any{"name": "never", "expression": "false"}}
		}, false},
		"one more validation": {policy, func(o map[string]any) {
			spec := o["spec"].(map[string]any)
			spec["validations"] = append(spec["validations"].([]any), map[string]any{"expression": "false"})
		}, false},
		"an empty validation": {policy, func(o map[string]any) {
			spec := o["spec"].(map[string]any)
			spec["validations"] = append(spec["validations"].([]any), map[string]any{})
		}, false},
		"a selector": {policy, func(o map[string]any) {
			constraints := o["spec"].(map[string]any)["matchConstraints"].(map[string]any)
			constraints["objectSelector"] = map[string]any{"matchLabels": map[string]any{"a": "b"}}
		}, false},
		"an aggregationRule": {role, func(o map[string]any) {
			o["aggregationRule"] = map[string]any{"clusterRoleSelectors": []any{map[string]any{}}}
		}, false},
		"one more rule": {role, func(o map[string]any) { o["rules"] = append(o["rules"].([]any), map[string]any{}) }, false},
		"no rule":       {role, func(o map[string]any) { delete(o, "rules") }, false},
		"one more subject": {binding, func(o map[string]any) {
			o["subjects"] = append(o["subjects"].([]any), map[string]any{"kind": "User", "name": "mallory"})
		}, false},
		"another role": {binding, func(o map[string]any) { o["roleRef"].(map[string]any)["name"] = "cluster-admin" }, false},
		"a Namespace": {"apiVersion: v1\nkind: Namespace\nmetadata: {name: n}", func(o map[string]any) {
			o["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
		}, true},
	} {
		want := keep.Must(c.text)[0]
		there := want.DeepCopy()
		c.edit(there.Object)
		expect.Same(t, name, c.want, keep.IsRight(there, want))
	}
}

// TestMust: a mistake in a manifest ends the program before it does anything.
func TestMust(t *testing.T) {
	for name, text := range map[string]string{"no YAML": "{", "a key twice": "kind: A\nkind: B", "no kind": "a: b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is read", name)
				}
			}()
			keep.Must(text)
		}()
	}
	all := keep.Must(role + "\n---\n" + binding)
	expect.Same(t, "objects", 2, len(all))
	expect.Same(t, "name", "ClusterRole capwin-test", keep.NameOf(all[0]))
	all[0].SetNamespace("n")
	expect.Same(t, "name in a namespace", "ClusterRole n/capwin-test", keep.NameOf(all[0]))
}
