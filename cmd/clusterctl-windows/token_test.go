package main

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/config/crd"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// The token of another machine is not shown for this one, wherever its Secret stands.
// sampleToken stands in for a token.
const sampleToken = "sample.placeholdertoken"

func TestTokenOfAnotherMachine(t *testing.T) {
	const theirs = "fedcba.fedcba9876543210"
	other := canarySecret(t, "blue-windows-x7k2p-other", map[string]string{"token": theirs, "value": "#cloud-config\n"})
	for name, objects := range map[string]string{
		"before": other + "---\n" + readText(t, machineFile), "behind": readText(t, machineFile) + "---\n" + other,
	} {
		node := rendered(t, t.TempDir(), objects, "--machine", machineName, "--show-secrets")["node.json"]
		if strings.Contains(node, theirs) || !strings.Contains(node, testToken) {
			t.Errorf("%s: the plan does not have the token of its machine", name)
		}
	}
	got := call(t, without(t, machineFile, "  token: ")+"---\n"+other, "plan", "-f", "-", "--machine", machineName)
	if got.Code != exitDone || !strings.Contains(got.Err, "the bootstrap token") {
		t.Errorf("without an own Secret: %d %s", got.Code, got.Err)
	}
}

// An API server shows a text that a rule refuses, unless the rule has the reason Forbidden. People paste secrets into these.
func TestSecretTextsAreNotShownByTheAPIServer(t *testing.T) {
	pasted := []string{"http", "https", "noProxy", "sshAuthorizedKeys", "content", "url"}
	rules := 0
	var walk func(path string, at apiextensionsv1.JSONSchemaProps, secret bool)
	walk = func(path string, at apiextensionsv1.JSONSchemaProps, secret bool) {
		if secret && at.Type == "string" {
			if at.Pattern != "" || at.Format != "" || len(at.Enum) > 0 {
				t.Errorf("%s has a pattern, format or enum, with which the API server shows the text", path)
			}
			for _, rule := range at.XValidations {
				rules++
				if rule.Reason == nil || *rule.Reason != apiextensionsv1.FieldValueForbidden {
					t.Errorf("%s: add reason=FieldValueForbidden to the rule %q", path, rule.Message)
				}
			}
		}
		for name, next := range at.Properties {
			walk(path+"."+name, next, slices.Contains(pasted, name))
		}
		if at.Items != nil && at.Items.Schema != nil {
			walk(path+"[]", *at.Items.Schema, secret)
		}
	}
	data := expect.Got(crd.Bases.ReadFile("bases/bootstrap.cluster.x-k8s.io_windowsbootstrapconfigs.yaml"))(t)
	var definition apiextensionsv1.CustomResourceDefinition
	expect.OK(t, yaml.Unmarshal(data, &definition))
	for _, version := range definition.Spec.Versions {
		walk("spec", version.Schema.OpenAPIV3Schema.Properties["spec"], false)
	}
	if rules < 12 {
		t.Errorf("only %d rules are looked at", rules)
	}
}
