package gitops

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/fluxcd/pkg/ssa"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

var programs = flag.String("servers", "", "the folder of kube-apiserver and etcd; make test-policies gives it")

// fleet is what somebody has in Git: it selects nothing, or what only some Linux Nodes have.
const fleet = `
- {kind: DaemonSet, namespace: kube-system, name: node-local-dns, pod: {tolerations: [{operator: Exists}]}}
- {kind: DaemonSet, namespace: kube-system, name: vsphere-cpi, pod: {nodeSelector: {node-role.kubernetes.io/control-plane: ""}}}
- {kind: Deployment, namespace: kube-system, name: cluster-autoscaler, pod: {}}
- {kind: DaemonSet, namespace: default, name: agent, pod: {tolerations: [{operator: Exists}]}}
- {kind: StatefulSet, namespace: default, name: database, pod: {tolerations: [{operator: Exists}]}}
`

type workload struct {
	Kind, Namespace, Name string
	Pod                   map[string]any
}

// TestFlux: Flux applies by its own code what is in Git. Once our policies are there, it finds no drift and rolls nothing, until
// somebody changes an image: then each workload has one generation for that and for the selector.
func TestFlux(t *testing.T) {
	if *programs == "" {
		t.Skip("make test-policies says with which programs")
	}
	f := start(t)
	f.applies(t, "3.10", ssa.CreatedAction)
	generations := f.generations(t)
	mutates := f.keep(t)
	caused := 0
	for range 2 {
		f.applies(t, "3.10", ssa.UnchangedAction)
		for name, generation := range f.generations(t) {
			if generation != generations[name] {
				caused++
				t.Errorf("%s has generation %d, had %d", name, generation, generations[name])
			}
		}
	}
	t.Logf("rollouts caused: %d, by 2 rounds of Flux over %d workloads that nobody changed; the policies change templates: %t",
		caused, len(generations), mutates)
	f.applies(t, "3.11", ssa.ConfiguredAction)
	for name, generation := range f.generations(t) {
		if generation != generations[name]+1 {
			t.Errorf("%s has generation %d after a change, had %d", name, generation, generations[name])
		}
	}
	f.applies(t, "3.11", ssa.UnchangedAction)
	for _, one := range f.fleet {
		selector, _, _ := unstructured.NestedStringMap(f.get(t, one).Object, "spec", "template", "spec", "nodeSelector")
		if want := mutates && one.Pod["nodeSelector"] == nil; (selector["kubernetes.io/os"] == "linux") != want {
			t.Errorf("%s selects %v", one.Name, selector)
		}
	}
}

// flux is Flux beside an API server.
type flux struct {
	api     client.Client
	manager *ssa.ResourceManager
	fleet   []workload
}

func start(t *testing.T) *flux {
	t.Helper()
	environment := &envtest.Environment{BinaryAssetsDirectory: *programs, ControlPlaneStartTimeout: 4 * time.Minute}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &flux{}
	if f.api, err = client.New(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	f.manager = ssa.NewResourceManager(f.api, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	if err := yaml.Unmarshal([]byte(fleet), &f.fleet); err != nil {
		t.Fatal(err)
	}
	return f
}

// object is a workload as Git has it, where not all is as an API server writes it.
func (w workload) object(version string) *unstructured.Unstructured {
	pod := map[string]any{"initContainers": []any{}, "containers": []any{map[string]any{
		"name": "main", "image": "registry.k8s.io/pause:" + version,
		"resources": map[string]any{"requests": map[string]any{"cpu": "1000m", "memory": "1024Mi"}},
	}}}
	for key, value := range w.Pod {
		pod[key] = value
	}
	labels := map[string]any{"app": w.Name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": w.Kind, "metadata": map[string]any{"namespace": w.Namespace, "name": w.Name},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod},
		},
	}}
}

// applies is a round of Flux, after which each workload must have had this action.
func (f *flux) applies(t *testing.T, version string, want ssa.Action) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, one := range f.fleet {
		objects = append(objects, one.object(version))
	}
	changes, err := f.manager.ApplyAll(t.Context(), objects, ssa.DefaultApplyOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range changes.Entries {
		if one.Action != want {
			t.Errorf("Flux says of %s %s, want %s", one.Subject, one.Action, want)
		}
	}
}

func (f *flux) get(t *testing.T, w workload) *unstructured.Unstructured {
	t.Helper()
	there := w.object("")
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(there), there); err != nil {
		t.Fatal(err)
	}
	return there
}

func (f *flux) generations(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, one := range f.fleet {
		all[one.Name] = f.get(t, one).GetGeneration()
	}
	return all
}

// keep writes our policies, as far as the API server has their kinds, and waits until they act.
func (f *flux) keep(t *testing.T) (mutates bool) {
	t.Helper()
	text, err := os.ReadFile("../../../internal/policies/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		object := &unstructured.Unstructured{Object: item}
		err := f.api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("capwin"))
		served := err == nil || object.GetKind()[0] != 'M'
		if served && err != nil {
			t.Fatal(err)
		}
		mutates = mutates || served && object.GetKind() == "MutatingAdmissionPolicy"
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for f.acts(ctx, mutates) != nil {
		select {
		case <-ctx.Done():
			t.Fatal(f.acts(t.Context(), mutates))
		case <-time.After(100 * time.Millisecond):
		}
	}
	return mutates
}

// acts tries by a dry run what the policies make of a new agent.
func (f *flux) acts(ctx context.Context, mutates bool) error {
	agent := workload{Kind: "DaemonSet", Namespace: metav1.NamespaceSystem, Name: "new", Pod: map[string]any{}}.object("3.10")
	if err := f.api.Create(ctx, agent, client.DryRunAll); err != nil {
		return err
	}
	selector, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "template", "spec", "nodeSelector")
	if want := map[string]string{"kubernetes.io/os": "linux"}; reflect.DeepEqual(selector, want) != mutates {
		return fmt.Errorf("a new agent selects %v", selector)
	}
	probe := &unstructured.Unstructured{}
	probe.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	probe.SetNamespace(metav1.NamespaceSystem)
	probe.SetName("capwin-probe-refused")
	if f.api.Create(ctx, probe, client.DryRunAll) == nil {
		return errors.New("no policy refuses the probe")
	}
	return nil
}
