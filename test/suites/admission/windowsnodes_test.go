package admission

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/pages"
)

const windowsNodesPage = "../../../docs/windows-nodes.md"

// The API server accepts every example for people who schedule on Windows nodes, and knows all of its fields.
func TestExamplesOfWindowsNodes(t *testing.T) {
	kinds := map[string]int{}
	for _, example := range pages.YAML(t, windowsNodesPage) {
		made := &unstructured.Unstructured{Object: parse(example)}
		kinds[made.GetKind()]++
		if made.GetKind() != "RuntimeClass" {
			made.SetNamespace(metav1.NamespaceDefault)
		}
		strict := client.WithFieldValidation(api, metav1.FieldValidationStrict)
		if err := strict.Create(t.Context(), made, client.DryRunAll); err != nil {
			t.Errorf("%v of:\n%s", err, example)
		}
	}
	expect.Same(t, "kinds of the examples", map[string]int{
		"Pod": 2, "RuntimeClass": 1,
	}, kinds)
}

// linuxFields are values of the fields that a Pod for Windows cannot have. Those of containers are in the container's context.
var linuxFields = map[string]string{
	"privileged": "true", "allowPrivilegeEscalation": "false", "capabilities": "{drop: [ALL]}", "procMount": "Default",
	"readOnlyRootFilesystem": "true", "runAsUser": "1000", "runAsGroup": "1000", "fsGroup": "1000",
	"fsGroupChangePolicy": "OnRootMismatch", "supplementalGroups": "[1000]", "seLinuxOptions": "{level: s0}",
	"seccompProfile": "{type: RuntimeDefault}", "appArmorProfile": "{type: RuntimeDefault}",
	"sysctls": "[{name: kernel.shm_rmid_forced, value: '0'}]",
	"hostPID": "true", "hostIPC": "true", "hostUsers": "false", "shareProcessNamespace": "true",
}

// Each field in the first table of what a Pod cannot have is refused, and the table has all that we know to be refused.
func TestFieldsThatWindowsPodsCannotHave(t *testing.T) {
	_, section, _ := strings.Cut(windowsNodes(t), "\n## What a Pod cannot have\n")
	refused, _, _ := strings.Cut(section, "\nIt accepts these")
	listed := map[string]string{}
	for line := range strings.Lines(refused) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, found := range regexp.MustCompile("`([a-zA-Z.]+)`").FindAllStringSubmatch(cells[1], -1) {
			field := strings.TrimPrefix(found[1], "securityContext.")
			listed[field] = linuxFields[field]
			if err := createLinux(t, field); err == nil || !strings.Contains(err.Error(), "windows") {
				t.Errorf("%s: %v, want it refused for Windows", field, err)
			}
		}
	}
	expect.Same(t, "fields of the table", linuxFields, listed)
	if err := createLinux(t, ""); err != nil {
		t.Errorf("a Pod without such a field: %v", err)
	}
}

// createLinux tries a Pod for Windows that has the field.
func createLinux(t *testing.T, field string) error {
	t.Helper()
	pod := parse("{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: linux}, " +
		"spec: {os: {name: windows}, securityContext: {}, containers: [{name: app, image: app, securityContext: {}}]}}")
	if field != "" {
		set(pod, placeOf(field)+field, parse("value: " + linuxFields[field])["value"])
	}
	return create(t, &unstructured.Unstructured{Object: pod})
}

// placeOf is where a Pod has the field: for itself, its containers, or all of them.
func placeOf(field string) string {
	switch {
	case strings.HasPrefix(field, "host"), strings.HasPrefix(field, "share"):
		return "spec."
	case hasField[corev1.PodSecurityContext](field):
		return "spec.securityContext."
	}
	return "spec.containers[].securityContext."
}

func hasField[T any](field string) bool {
	return yaml.UnmarshalStrict([]byte(field+": null"), new(T)) == nil
}

func windowsNodes(t *testing.T) string {
	t.Helper()
	return string(expect.Got(os.ReadFile(windowsNodesPage))(t))
}
