package objects

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// inFiles are objects of several namespaces, versions and groups.
const inFiles = `apiVersion: v1
kind: Secret
metadata: {name: login}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: b}
---
apiVersion: other.test/v1
kind: Secret
metadata: {name: odd}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
---
apiVersion: cluster.x-k8s.io/v1alpha3
kind: Cluster
metadata: {name: old}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WindowsMachine
metadata: {name: vm}
spec: {azre: {vmSize: x}}
`

// TestLoad: what is not in the files is refused with what is, and the way to get it; what is there is decoded strictly.
func TestLoad(t *testing.T) {
	found := expect.Got(readText(t, "x.yaml", inFiles))(t)
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "default", Name: name} }
	const not = " is not in x.yaml"
	for name, want := range map[string]string{
		"login": "<nil>",
		"other": "Secret default/other" + not + ", which has one of this name in the namespace b; set metadata.namespace of both to " +
			"the same, or give that of objects without one with -n",
		"odd":   "Secret default/odd" + not + ", which has one with apiVersion other.test/v1; write apiVersion: v1",
		"logn":  "Secret default/logn" + not + "; did you mean login, which is there?",
		"proof": "Secret default/proof" + not + "; add the output of: kubectl get secret proof -n default -o yaml",
		"old":   "Secret default/old" + not + "; add the output of: kubectl get secret old -n default -o yaml", // it is a Cluster
	} {
		_, err := Load[corev1.Secret](found, "Secret", key(name))
		expect.Same(t, name, want, fmt.Sprint(err))
	}
	_, err := Load[clusterv1.Cluster](found, "Cluster", key("old"))
	expect.Same(t, "an old version", "Cluster default/old has apiVersion cluster.x-k8s.io/v1alpha3, which is not supported; write "+
		"cluster.x-k8s.io/v1beta2, or use the output of: kubectl get cluster.v1beta2.cluster.x-k8s.io old -n default -o yaml",
		fmt.Sprint(err))
	_, err = Load[infrav1.WindowsMachine](found, "WindowsMachine", key("vm"))
	expect.Same(t, "an unknown field", `WindowsMachine default/vm: unknown field "spec.azre"`, fmt.Sprint(err))
	expect.Same(t, "Secrets of Kubernetes", 2, len(found.OfKind("Secret")))
	secret := expect.Got(Load[corev1.Secret](found, "Secret", types.NamespacedName{Namespace: "b", Name: "other"}))(t)
	expect.Same(t, "the namespace", "b", secret.Namespace)
	twice := expect.Got(readText(t, "x.yaml", inFiles+"---\n"+secretNamed("login")))(t)
	_, err = Load[corev1.Secret](twice, "Secret", key("login"))
	expect.Same(t, "twice", "Secret default/login exists 2 times; keep only one: x.yaml: document 1, line 1; x.yaml: document 7, "+
		"line 26", fmt.Sprint(err))
}

// TestField: a field of another provider's object is decoded alone; what is around it does not matter.
func TestField(t *testing.T) {
	const text = "apiVersion: a.test/v1\nkind: A\nmetadata: {name: a}\nspec: {size: 5, of: {name: b}, texts: [a]}\n"
	found := expect.Got(readText(t, "x.yaml", text))(t)
	one := found.Items[0]
	for path, want := range map[string]string{
		"spec/size":    "5",
		"spec/other":   "0",
		"other/size":   "0",
		"spec/size/a":  "A default/a: spec.size.a: must be an object with fields, not a number",
		"spec/of":      "A default/a: spec.of: must be a whole number that is not too large, not an object with fields",
		"spec/texts":   "A default/a: spec.texts: must be a whole number that is not too large, not a list",
		"spec/of/name": "A default/a: spec.of.name: must be a whole number that is not too large, not a text",
	} {
		value, err := Field[int](one, strings.Split(path, "/")...)
		got := fmt.Sprint(value)
		if err != nil {
			got = err.Error()
		}
		expect.Same(t, path, want, got)
	}
	_, err := Field[bool](one, "spec", "size")
	expect.Same(t, "another type", "A default/a: spec.size: must be true or false, not a number", fmt.Sprint(err))
	_, err = Field[string](one, "spec", "size")
	expect.Same(t, "a text", "A default/a: spec.size: must be a text, not a number; write it in quotes", fmt.Sprint(err))
	_, err = Field[float64](one, "spec", "of")
	expect.Same(t, "a number", "A default/a: spec.of: must be a number, not an object with fields", fmt.Sprint(err))
	_, err = Field[[]string](one, "spec", "size")
	expect.Same(t, "a list", "A default/a: spec.size: must be a list, not a number", fmt.Sprint(err))
	_, err = Field[[]byte](one, "spec", "size")
	expect.Same(t, "bytes", "A default/a: spec.size: must be a text in base64, not a number", fmt.Sprint(err))
}

// TestOldVersionsAreFilledToo: what a webhook sets is set in the version in which the object is written.
func TestOldVersionsAreFilledToo(t *testing.T) {
	t.Parallel()
	serveOldReferences()
	data := []byte(`{"spec":{"clusterName":"a","version":"1.36.3","bootstrap":{"dataSecretName":"a"}},"status":{"phase":"x"}}`)
	filled := expect.Got(webhooksByKind["Machine"].fill("v1beta1", data))(t)
	spec, _ := filled["spec"].(map[string]any)
	expect.Same(t, "the spec", map[string]any{
		"clusterName": "a", "version": "v1.36.3", "nodeDeletionTimeout": "10s", "infrastructureRef": map[string]any{},
		"bootstrap": map[string]any{"dataSecretName": "a"},
	}, spec)
	expect.Same(t, "a status", nil, filled["status"])
	for version, text := range map[string]string{
		"v1beta1": `{"spec":{"clusterName":5}}`, "v1beta2": `{"spec":{"clusterName":5}}`,
	} {
		_, err := webhooksByKind["Machine"].fill(version, []byte(text))
		expect.Says(t, "unreadable in "+version, err, "cannot unmarshal number")
		_, _, err = webhooksByKind["Machine"].admit(version, []byte(text))
		expect.Says(t, "unreadable in "+version, err, "cannot unmarshal number")
	}
	sized := `{"metadata":{"annotations":{"` + autoscaler + `min-size":"x","` + autoscaler + `max-size":"5"}}}`
	_, err := webhooksByKind["MachineSet"].fill("v1beta2", []byte(sized))
	expect.Same(t, "no number", "the annotation "+autoscaler+"min-size must be a whole number", fmt.Sprint(err))
}
