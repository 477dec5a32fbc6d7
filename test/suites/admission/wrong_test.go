package admission

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// mistake is something that people write wrongly: a field of a valid object with a wrong value, and a right one beside it,
// both as in a file.
type mistake struct {
	field, wrong, right string
	// says is what the refusal says, in words that only this refusal has.
	says string
}

// fewestMistakes were tried by the first user; their number only grows.
const fewestMistakes = 91

// Every refusal tells people what to write: the field, and one sentence without a regular expression or a failed rule.
func TestWrongSpecs(t *testing.T) {
	tried := map[string]bool{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for _, m := range mistakes[strings.TrimSuffix(kind, "Template")] {
			t.Run(kind+" "+m.field+" "+m.wrong, func(t *testing.T) { m.try(t, kind) })
			tried[m.field+" "+m.wrong] = true
		}
	}
	for _, m := range misspellings {
		tried[m.field] = true
	}
	t.Logf("%d wrong specs, each refused with one sentence, and each with a right one beside it", len(tried))
	if len(tried) < fewestMistakes {
		t.Errorf("want %d wrong specs, there are %d", fewestMistakes, len(tried))
	}
}

func (m mistake) try(t *testing.T, kind string) {
	t.Helper()
	if err := create(t, m.object(t, kind, m.right)); err != nil {
		t.Errorf("want %s accepted, got: %v", m.right, err)
	}
	causes := causesOf(create(t, m.object(t, kind, m.wrong)))
	if len(causes) != 1 {
		t.Fatalf("want one sentence, got %d: %v", len(causes), causes)
	}
	// A rule may name the part of the field that it is about.
	path := strings.ReplaceAll(in(kind, m.field), "[]", "[0]")
	if got := causes[0]; !strings.HasPrefix(got.Field, path) || !strings.Contains(got.Message, m.says) {
		t.Errorf("want %q of %s, got %q of %s", m.says, path, got.Message, got.Field)
	}
	for _, internal := range []string{"should match", "evaluating rule", "rule failed", "failed rule", "[^", "(?"} {
		if strings.Contains(causes[0].Message, internal) {
			t.Errorf("the sentence shows %q: %s", internal, causes[0].Message)
		}
	}
}

func (m mistake) object(t *testing.T, kind, value string) *unstructured.Unstructured {
	t.Helper()
	made := newObjectFor(kind, m.field)
	var content any
	if err := yaml.Unmarshal([]byte(value), &content); err != nil {
		t.Fatal(err)
	}
	set(made.Object, in(kind, m.field), wholeNumbers(content))
	return made
}

// wholeNumbers makes whole numbers of those that are whole: YAML's are floating-point numbers here.
func wholeNumbers(content any) any {
	switch content := content.(type) {
	case float64:
		if content == float64(int64(content)) {
			return int64(content)
		}
	case []any:
		for i := range content {
			content[i] = wholeNumbers(content[i])
		}
	case map[string]any:
		for name := range content {
			content[name] = wholeNumbers(content[name])
		}
	}
	return content
}

// causesOf are the sentences of a refusal, without the one by which the API server says that it read no further. Of a value of
// another type it says the same twice, in its own words.
func causesOf(err error) []metav1.StatusCause {
	status, _ := errors.AsType[*apierrors.StatusError](err)
	if status == nil || status.Status().Details == nil {
		return nil
	}
	causes := status.Status().Details.Causes
	if len(causes) > 0 && causes[0].Type == metav1.CauseTypeTypeInvalid {
		return causes[:1]
	}
	return slices.DeleteFunc(causes, func(cause metav1.StatusCause) bool {
		return strings.Contains(cause.Message, "some validation rules were not checked")
	})
}

// misspellings are names of fields that do not exist, and what people may have meant.
var misspellings = []struct{ kind, field, meant string }{
	{"WindowsMachine", "spec.vsphere.cpu", "cpus"},
	{"WindowsMachine", "spec.vsphere.numCPUs", "cpus"},
	{"WindowsMachine", "spec.vsphere.memoryMB", "memoryMiB"},
	{"WindowsMachine", "spec.vSphere", "vsphere"},
	{"WindowsBootstrapConfig", "spec.windows.timezone", "timeZone"},
	{"WindowsBootstrapConfig", "spec.windows.ntpServer", "ntpServers"},
	{"WindowsBootstrapConfig", "spec.windows.proxy.httpProxy", "http"},
	{"WindowsBootstrapConfig", "spec.windows.proxy.no_proxy", "noProxy"},
	{"WindowsBootstrapConfig", "spec.kubelet.extraArgs[].key", "name"},
	{"WindowsBootstrapConfig", "spec.kubelet.kubeletExtraArgs", "extraArgs"},
	{"WindowsBootstrapConfig", "spec.preKubeadmCommands", "custom.preJoin"},
	{"WindowsBootstrapConfig", "spec.custom.files[].permissions", "access"},
	{"WindowsBootstrapConfig", "spec.custom.preJoin[].timeout", "timeoutSeconds"},
	{"WindowsBootstrapConfig", "spec.containerd.registries[].mirrors[].URL", "url"},
	{"WindowsBootstrapConfig", "spec.network.vnid", "vni"},
}

// kubectl asks for strict reading, which tells a field that does not exist.
func TestMisspeltFields(t *testing.T) {
	strict := client.WithFieldValidation(api, metav1.FieldValidationStrict)
	for _, m := range misspellings {
		for _, kind := range []string{m.kind, m.kind + "Template"} {
			made := newObject(kind)
			if err := strict.Create(t.Context(), made.DeepCopy(), client.DryRunAll); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			set(made.Object, in(kind, m.field), "a")
			want := `unknown field "` + strings.ReplaceAll(in(kind, m.field), "[]", "[0]") + `"`
			if err := strict.Create(t.Context(), made, client.DryRunAll); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s, which should be %s: want %s, got %v", kind, m.field, m.meant, want, err)
			}
		}
	}
}
