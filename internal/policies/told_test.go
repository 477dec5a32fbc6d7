package policies_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestTold: policies that are told what they need ask for no param, and have all of it.
func TestTold(t *testing.T) {
	p := policies.Params{
		WindowsLabels: map[string][]string{"pool": {"win"}, "gpu": {policies.Any}}, RuntimeClasses: []string{"legacy"},
		Spared: []policies.Ref{{Kind: "DaemonSet", Namespace: "a", Name: "agent"}},
	}
	var needing []string
	for _, object := range slices.Concat(policies.Mutating(), policies.Validating()) {
		if policies.NeedsParams(object) {
			needing = append(needing, object.GetKind())
		}
		name := object.GetKind() + " " + object.GetName()
		whole := textOf(t, policies.Told([]*unstructured.Unstructured{object}, p)[0])
		if strings.Contains(whole, "params.") || policies.NeedsParams(object) {
			t.Errorf("%s needs a param", name)
		}
		if object.GetName() != "capwin-linux-first" || strings.HasSuffix(object.GetKind(), "Binding") {
			continue
		}
		for _, part := range []string{`\"gpu=*\\npool=win\".split('\\n')`, `\"legacy\".split`, `\"DaemonSet/a/agent\".split`} {
			if !strings.Contains(whole, part) {
				t.Errorf("%s is not told %s", name, part)
			}
		}
	}
	expect.Same(t, "those that need params", []string{
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	}, needing)
}

// TestTooMuchToTell: labels that are too long become any, and what is too much to be spared is known.
func TestTooMuchToTell(t *testing.T) {
	p := policies.Params{WindowsLabels: map[string][]string{}}
	for i := range 900 {
		p.WindowsLabels[fmt.Sprintf("%s/%d", strings.Repeat("x", 100), i)] = []string{"a"}
	}
	if whole := textOf(t, policies.Told(policies.Mutating(), p)[0]); !strings.Contains(whole, `\"*=*\".split`) || len(whole) > 1e5 {
		t.Errorf("%d bytes are told", len(whole))
	}
	expect.Same(t, "too many", false, p.TooMany())
	for i := range 1000 {
		p.Spared = append(p.Spared, policies.Ref{Kind: "DaemonSet", Namespace: strings.Repeat("x", 60), Name: fmt.Sprint(i)})
	}
	expect.Same(t, "too many", true, p.TooMany())
}

// TestToldSpared: what a policy was told to spare can be read from it. One that nobody has told anything, or that somebody has
// edited, says nothing.
func TestToldSpared(t *testing.T) {
	p := policies.Params{WindowsLabels: map[string][]string{"pool": {"win"}}}
	told := func() *unstructured.Unstructured { return policies.Told(policies.Mutating(), p)[0] }
	spared, found := policies.ToldSpared(told())
	expect.Same(t, "found of none", true, found)
	expect.Same(t, "none", 0, len(spared))
	p.Spared = []policies.Ref{
		{Kind: "DaemonSet", Namespace: "a", Name: "agent"}, {Kind: "StatefulSet", Namespace: "b", Name: "db"},
	}
	spared, found = policies.ToldSpared(told())
	expect.Same(t, "found", true, found)
	expect.Same(t, "spared", p.Spared, spared)
	_, found = policies.ToldSpared(policies.Mutating()[0])
	expect.Same(t, "found where nothing was told", false, found)
	edited := told()
	unstructured.RemoveNestedField(edited.Object, "spec", "variables")
	_, found = policies.ToldSpared(edited)
	expect.Same(t, "found where it was edited", false, found)
}

func textOf(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	return string(expect.Got(json.Marshal(object))(t))
}
