package servers

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestSubstitute(t *testing.T) {
	values := map[string]string{"SET": "mine", "EMPTY": ""}
	for _, c := range []struct{ reason, text, want string }{
		{"a value wins over the default", "a=${SET:=theirs}", "a=mine"},
		{"a default stands in", "a=${UNSET:=theirs},b=${UNSET:-x}", "a=theirs,b=x"},
		{"a default may hold colons", "--address=${UNSET:=:8443}", "--address=:8443"},
		{"a default may be empty", "a=${UNSET:=}", "a="},
		{"an empty value is a value", "a=${EMPTY:=theirs}", "a="},
		{"Kubernetes' own variables stay", "$(POD_NAME) $$(X) $HOME", "$(POD_NAME) $$(X) $HOME"},
	} {
		if got, err := substitute(c.text, values); got != c.want || err != nil {
			t.Errorf("%s: %q gives %q, %v; want %q", c.reason, c.text, got, err, c.want)
		}
	}
	if _, err := substitute("a=${UNSET}", values); err == nil {
		t.Error("a variable without value and default is accepted")
	}
}

func object(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	expect.OK(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

func TestPatch(t *testing.T) {
	for _, c := range []struct{ reason, before, after string }{
		{
			"conversion keeps its versions and its path", `
kind: CustomResourceDefinition
metadata: {name: a, annotations: {cert-manager.io/inject-ca-from: x/y, other: stays}}
spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: s,
path: /convert}}}}}`, `
kind: CustomResourceDefinition
metadata: {name: a, annotations: {other: stays}}
spec: {conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1],
clientConfig: {url: "https://127.0.0.1:1/convert", caBundle: Y2E=}}}}`,
		}, {
			"conversion without a path has the customary one", `
kind: CustomResourceDefinition
spec: {conversion: {webhook: {clientConfig: {}}}}`, `
kind: CustomResourceDefinition
spec: {conversion: {webhook: {clientConfig: {url: "https://127.0.0.1:1/convert", caBundle: Y2E=}}}}`,
		}, {
			"a definition without conversion has no webhook", `
kind: CustomResourceDefinition
spec: {group: a}`, `
kind: CustomResourceDefinition
spec: {group: a}`,
		}, {
			"every webhook of a configuration is redirected", `
kind: ValidatingWebhookConfiguration
webhooks:
- {name: a, failurePolicy: Fail, clientConfig: {service: {path: /validate-a}}}
- {name: b, clientConfig: {service: {path: /validate-b}}}`, `
kind: ValidatingWebhookConfiguration
webhooks:
- {name: a, failurePolicy: Fail, clientConfig: {url: "https://127.0.0.1:1/validate-a", caBundle: Y2E=}}
- {name: b, clientConfig: {url: "https://127.0.0.1:1/validate-b", caBundle: Y2E=}}`,
		},
	} {
		got := []unstructured.Unstructured{object(t, c.before)}
		if err := (webhookEndpoint{url: "https://127.0.0.1:1", ca: []byte("ca")}).patch(got); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		expect.Same(t, c.reason, object(t, c.after), got[0])
	}
}

func TestRender(t *testing.T) {
	source := t.TempDir()
	for name, content := range map[string]string{
		"kustomization.yaml": "namePrefix: capi-\nresources: [all.yaml]\n",
		"all.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec: {template: {spec: {containers: [{name: manager, args: ["--leader-elect",
"--gates=A=${CLUSTER_TOPOLOGY:=false},B=${B:=1}"]}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: webhook}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hooks}
`,
	} {
		expect.OK(t, os.WriteFile(filepath.Join(source, name), []byte(content), 0o600))
	}
	s := store{Binaries: Binaries{Dir: t.TempDir()}}
	p := provider{name: "p", config: "."}
	expect.OK(t, s.render(p, source))
	got := expect.Got(s.manifest(p))(t)
	want := manifest{
		Arguments: []string{"--leader-elect", "--gates=A=true,B=1"},
		Objects: []unstructured.Unstructured{object(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: capi-hooks}`)},
	}
	expect.Same(t, "rendered manifest", want, got)
}
