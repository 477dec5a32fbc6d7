package admission

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const immutable = "templates are immutable; copy this one to a new name and use the copy in the MachineDeployment, " +
	"which then replaces its machines"

var templateKinds = []string{"WindowsMachineTemplate", "WindowsBootstrapConfigTemplate"}

// A field of each template's spec, for which changedValue is valid.
var changedField = map[string]string{
	"WindowsMachineTemplate":         "spec.template.spec.vsphere.cpus",
	"WindowsBootstrapConfigTemplate": "spec.template.spec.bootstrapDeadlineSeconds",
}

const changedValue = 600

// A template's spec cannot change, but Cluster API and users can change its metadata and send dry-runs.
func TestTemplatesAreImmutable(t *testing.T) {
	everywhere := map[string]any{"a": "b"}
	ofTopology := map[string]any{clusterv1.TopologyDryRunAnnotation: ""}
	changed := map[string]any{"changed": nil}
	cases := []struct {
		name, reason string
		edits        []map[string]any
		dryRun       bool
		refused      bool
	}{
		{name: "spec", reason: "machines would differ from their template", edits: []map[string]any{changed}, refused: true},
		{
			name: "spec, dry-run", reason: "kubectl diff must fail where kubectl apply would",
			edits: []map[string]any{changed}, dryRun: true, refused: true,
		},
		{
			name: "spec, dry-run of ClusterClass", reason: "it compares templates in this way, and would never finish a rollout",
			edits: []map[string]any{changed, {"metadata.annotations": ofTopology}}, dryRun: true,
		},
		{
			name: "spec, annotation alone", reason: "the annotation must not circumvent the rule",
			edits: []map[string]any{changed, {"metadata.annotations": ofTopology}}, refused: true,
		},
		{name: "labels", reason: "Cluster API and people label templates", edits: []map[string]any{{"metadata.labels": everywhere}}},
		{name: "annotations", reason: "same", edits: []map[string]any{{"metadata.annotations": everywhere}}},
		{
			name: "owner", reason: "Cluster API makes the Cluster its owner",
			edits: []map[string]any{{"metadata.ownerReferences": []any{map[string]any{
				"apiVersion": clusterv1.GroupVersion.String(), "kind": "Cluster", "name": "c", "uid": "1",
			}}}},
		},
		{
			name: "finalizers", reason: "clusterctl move and people set them",
			edits: []map[string]any{{"metadata.finalizers": []any{"example.com/keep"}}},
		},
		{name: "nothing", reason: "GitOps tools apply the same object repeatedly", edits: []map[string]any{{}}},
	}
	for _, kind := range templateKinds {
		for _, c := range cases {
			t.Run(kind+" "+c.name, func(t *testing.T) {
				template := newObject(kind)
				expect.OK(t, api.Create(t.Context(), template))
				for _, edits := range c.edits {
					for field, value := range edits {
						if field == "changed" {
							field, value = changedField[kind], int64(changedValue)
						}
						set(template.Object, field, value)
					}
				}
				check(t, sendBothWays(t, template, c.dryRun), c.refused, c.reason)
			})
		}
	}
}

// sendBothWays sends an update and a server-side apply, because clients use either.
func sendBothWays(t *testing.T, template *unstructured.Unstructured, dryRun bool) []error {
	t.Helper()
	applied := &unstructured.Unstructured{Object: map[string]any{"spec": template.DeepCopy().Object["spec"]}}
	applied.SetGroupVersionKind(template.GroupVersionKind())
	applied.SetNamespace(template.GetNamespace())
	applied.SetName(template.GetName())
	applied.SetAnnotations(template.GetAnnotations())
	applied.SetLabels(template.GetLabels())
	applied.SetOwnerReferences(template.GetOwnerReferences())
	applied.SetFinalizers(template.GetFinalizers())
	applyOptions := []client.ApplyOption{owner, client.ForceOwnership}
	var updateOptions []client.UpdateOption
	if dryRun {
		applyOptions, updateOptions = append(applyOptions, client.DryRunAll), append(updateOptions, client.DryRunAll)
	}
	return []error{
		api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), applyOptions...),
		api.Update(t.Context(), template.DeepCopy(), updateOptions...),
	}
}

func check(t *testing.T, errs []error, refused bool, reason string) {
	t.Helper()
	for i, err := range errs {
		stale := i == 1 && apierrors.IsConflict(err) // with the apply before it
		switch {
		case refused:
			mustRefuse(t, err, "denied request", immutable)
		case err != nil && !stale:
			t.Errorf("want it accepted because %s, got: %v", reason, err)
		}
	}
}

// A template can always be deleted.
func TestTemplatesCanBeDeleted(t *testing.T) {
	for _, kind := range templateKinds {
		template := newObject(kind)
		expect.OK(t, api.Create(t.Context(), template))
		if err := api.Delete(t.Context(), template); err != nil {
			t.Errorf("delete %s: %v", kind, err)
		}
	}
}
