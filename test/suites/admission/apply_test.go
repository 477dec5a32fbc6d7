package admission

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	platform = client.FieldOwner("platform-team")
	security = client.FieldOwner("security-team")
)

// shared is a field with entries of two managers. The clash is an entry of the first manager with another value.
type shared struct {
	kind, field   string
	first, second any
	clash         any
}

// sharedFields are lists by key, and maps, into which a platform team and, for example, a security team write.
var sharedFields = []shared{{
	kind: "WindowsBootstrapConfig", field: "spec.node.labels",
	first: tree{"example.com/pool": "build"}, second: tree{"example.com/zone": "dmz"}, clash: tree{"example.com/pool": "other"},
}, {
	kind: "WindowsBootstrapConfig", field: "spec.node.taints", // one key may have two effects
	first:  []any{tree{"key": "os", "value": "windows", "effect": "NoSchedule"}},
	second: []any{tree{"key": "os", "value": "windows", "effect": "NoExecute"}},
	clash:  []any{tree{"key": "os", "value": "other", "effect": "NoSchedule"}},
}, {
	kind: "WindowsBootstrapConfig", field: "spec.containerd.registries",
	first:  []any{tree{"host": "docker.io", "credentialsRef": tree{"name": "hub"}}},
	second: []any{tree{"host": "registry.example.com", "credentialsRef": tree{"name": "own"}}},
	clash:  []any{tree{"host": "docker.io", "credentialsRef": tree{"name": "other"}}},
}, {
	kind: "WindowsBootstrapConfig", field: "spec.custom.files",
	first:  []any{tree{"path": `C:\etc\app.conf`, "content": "a"}},
	second: []any{tree{"path": `C:\etc\scanner.conf`, "content": "b"}},
	clash:  []any{tree{"path": `C:\etc\app.conf`, "content": "c"}},
}, {
	kind: "WindowsMachineTemplate", field: "spec.vsphere.networkInterfaces",
	first:  []any{tree{"name": "node", "network": "VM Network"}},
	second: []any{tree{"name": "storage", "network": "VM Network"}}, // two adapters in one network
	clash:  []any{tree{"name": "node", "network": "DMZ"}},
}}

// Two managers apply to one object. Each owns its own entries: none is lost, and only the same entry with two values is a
// conflict.
func TestTwoManagersShareAField(t *testing.T) {
	for _, c := range sharedFields {
		t.Run(c.field, func(t *testing.T) {
			made := newObject(c.kind)
			made.SetGenerateName("")
			made.SetName("shared-" + strings.ToLower(c.field[strings.LastIndex(c.field, ".")+1:]))
			delete(made.Object, "status")
			set(made.Object, in(c.kind, c.field), c.first)
			expect.OK(t, applyAs(t, platform, made.DeepCopy()))

			_, err := c.applyOnly(t, security, made, c.clash)
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), string(platform)) {
				t.Errorf("want a conflict with %s, got: %v", platform, err)
			}
			both := expect.Got(c.applyOnly(t, security, made, c.second))(t)
			expect.Same(t, "entries of both", joined(c.first, c.second), c.entries(t, both))
			if c.kind == "WindowsMachineTemplate" {
				return // A template cannot change, so this was a dry-run of ClusterClass.
			}

			again := made.DeepCopy()
			expect.OK(t, applyAs(t, platform, again))
			expect.Same(t, "entries after the first applied again", joined(c.first, c.second), c.entries(t, again))
			left := expect.Got(c.applyOnly(t, security, made, nil))(t)
			expect.Same(t, "entries after the second took its own away", c.first, c.entries(t, left))
		})
	}
}

// applyOnly applies an object that has nothing but the entries.
func (c shared) applyOnly(t *testing.T, by client.FieldOwner, to *unstructured.Unstructured, entries any) (
	*unstructured.Unstructured, error,
) {
	t.Helper()
	only := &unstructured.Unstructured{Object: tree{}}
	only.SetGroupVersionKind(to.GroupVersionKind())
	only.SetNamespace(to.GetNamespace())
	only.SetName(to.GetName())
	if entries != nil {
		set(only.Object, in(c.kind, c.field), entries)
	}
	if c.kind != "WindowsMachineTemplate" {
		return only, applyAs(t, by, only)
	}
	only.SetAnnotations(map[string]string{clusterv1.TopologyDryRunAnnotation: ""})
	return only, applyAs(t, by, only, client.DryRunAll)
}

func (c shared) entries(t *testing.T, of *unstructured.Unstructured) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(of.Object, strings.Split(in(c.kind, c.field), ".")...)
	expect.OK(t, err)
	return value
}

func joined(first, second any) any {
	if list, ok := first.([]any); ok {
		return append(append([]any{}, list...), second.([]any)...)
	}
	all := tree{}
	for _, entries := range []any{first, second} {
		maps.Copy(all, entries.(tree))
	}
	return all
}

// applyAs applies the object, which is then what the API server answered.
func applyAs(t *testing.T, by client.FieldOwner, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	t.Helper()
	return api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), append(options, by)...)
}

// GitOps tools apply the same text again and again. That writes nothing, also after our manager wrote its field of the spec.
func TestApplyTwiceChangesNothing(t *testing.T) {
	for kind := range kinds {
		full, sparse := newObject(kind), newObject(kind)
		for field, value := range nothingSaid[kind] {
			set(sparse.Object, in(kind, field), value)
		}
		for name, made := range map[string]*unstructured.Unstructured{"full": full, "sparse": sparse} {
			for way, flags := range map[string][]string{"client": nil, "server": {"--server-side"}} {
				t.Run(kind+" "+name+" "+way, func(t *testing.T) {
					applied := made.DeepCopy()
					applied.SetGenerateName("")
					applied.SetName("twice-" + name + "-" + way)
					applyTwice(t, applied, flags)
				})
			}
		}
	}
}

// nothingSaid are specs in which groups are there and empty.
var nothingSaid = map[string]tree{
	"WindowsBootstrapConfig":         {"spec": sparseConfig},
	"WindowsBootstrapConfigTemplate": {"spec": sparseConfig},
}

var sparseConfig = tree{
	"node": tree{"labels": tree{}, "taints": []any{}}, "windows": tree{"users": []any{}}, "custom": tree{"files": []any{}},
	"kubelet": tree{}, "containerd": tree{"registries": []any{}}, "reservations": tree{"system": tree{}},
}

func applyTwice(t *testing.T, made *unstructured.Unstructured, flags []string) {
	t.Helper()
	delete(made.Object, "status")
	set(made.Object, in(made.GetKind(), "spec")+".providerID", absent)
	file := filepath.Join(t.TempDir(), "object.json")
	expect.OK(t, os.WriteFile(file, expect.Got(json.Marshal(made))(t), 0o600))
	arguments := append([]string{"apply", "-f", file}, flags...)
	runKubectl(t, arguments...)
	managerWrites(t, made)
	before, after := made.DeepCopy(), made.DeepCopy()
	expect.OK(t, api.Get(t.Context(), client.ObjectKeyFromObject(made), before))
	runKubectl(t, arguments...)
	expect.OK(t, api.Get(t.Context(), client.ObjectKeyFromObject(made), after))
	expect.Same(t, "the object", before, after)
}

// managerWrites is what the object's manager writes between two applies. Until there is a status, the API server shows its
// default but stores it only with the next write, so that a second server-side apply of an object without a manager does write.
func managerWrites(t *testing.T, made *unstructured.Unstructured) {
	t.Helper()
	if made.GetKind() == "WindowsMachine" {
		written := []byte(`{"spec":{"providerID":"vsphere://11111111-2222-3333-4444-555555555555"}}`)
		expect.OK(t, api.Patch(t.Context(), made.DeepCopy(), client.RawPatch(types.MergePatchType, written)))
	}
	if !strings.HasSuffix(made.GetKind(), "Template") {
		written := []byte(`{"status":{"observedGeneration":1}}`)
		expect.OK(t, api.Status().Patch(t.Context(), made.DeepCopy(), client.RawPatch(types.MergePatchType, written)))
	}
}

// Two patches that do not know each other each add a field below a parent that is there and empty.
func TestJSONPatchesBelowAnEmptyParent(t *testing.T) {
	made := newObject("WindowsBootstrapConfig")
	set(made.Object, "spec", tree{"windows": tree{}, "node": tree{"labels": tree{}, "taints": []any{}}})
	expect.OK(t, api.Create(t.Context(), made))
	for _, operation := range []string{
		`{"op": "add", "path": "/spec/windows/timeZone", "value": "UTC"}`,
		`{"op": "add", "path": "/spec/windows/proxy", "value": {"http": "http://proxy:3128"}}`,
		`{"op": "add", "path": "/spec/node/labels/example.com~1pool", "value": "build"}`,
		`{"op": "add", "path": "/spec/node/taints/-", "value": {"key": "os", "effect": "NoSchedule"}}`,
	} {
		expect.OK(t, api.Patch(t.Context(), made, client.RawPatch(types.JSONPatchType, []byte("["+operation+"]"))))
	}
	expect.Same(t, "spec", tree{
		"windows": tree{"timeZone": "UTC", "proxy": tree{"http": "http://proxy:3128"}},
		"node": tree{
			"labels": tree{"example.com/pool": "build"}, "taints": []any{tree{"key": "os", "effect": "NoSchedule"}},
		},
	}, made.Object["spec"].(tree))
}

// tree is an object in JSON, or a part of one.
type tree = map[string]any
