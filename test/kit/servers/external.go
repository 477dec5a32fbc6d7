package servers

import (
	"context"
	_ "embed"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ExternalControlPlane is the kind by which a Cluster refers to a control plane that Cluster API does not make. It fulfils
// the control plane contract by what we write into its status; no controller stands behind it.
var ExternalControlPlane = schema.GroupVersionKind{
	Group: "controlplane.cluster.x-k8s.io", Version: "v1alpha1", Kind: "ExternalControlPlane",
}

// ExternalCluster is the same for the infrastructure of a Cluster.
var ExternalCluster = schema.GroupVersionKind{
	Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Kind: "ExternalCluster",
}

//go:embed externalcontrolplane.yaml
var externalControlPlaneCRD []byte

//go:embed externalcluster.yaml
var externalClusterCRD []byte

func externalDefinitions() ([]unstructured.Unstructured, error) {
	crds := make([]unstructured.Unstructured, 2)
	for i, text := range [][]byte{externalControlPlaneCRD, externalClusterCRD} {
		if err := yaml.Unmarshal(text, &crds[i].Object); err != nil {
			return nil, fmt.Errorf("read definition of external kinds: %w", err)
		}
	}
	return crds, nil
}

// createExternalCluster makes one that is provisioned.
func createExternalCluster(ctx context.Context, api client.Client, key types.NamespacedName) error {
	cluster := external(ExternalCluster, key)
	if err := api.Create(ctx, cluster); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create external cluster %s: %w", key, err)
	}
	return writeStatus(ctx, api, cluster, map[string]any{
		"initialization": map[string]any{"provisioned": true},
		"conditions":     []any{isTrue("Ready")},
	})
}

// createExternalControlPlane makes one that is not initialized yet.
func createExternalControlPlane(ctx context.Context, api client.Client, key types.NamespacedName, version string) error {
	plane := external(ExternalControlPlane, key)
	plane.Object["spec"] = map[string]any{"version": version}
	if err := api.Create(ctx, plane); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create external control plane %s: %w", key, err)
	}
	return writeStatus(ctx, api, plane, map[string]any{"externalManagedControlPlane": true})
}

// MarkInitialized reports the control plane of a joined cluster as initialized and available. From then on Cluster API
// connects to the cluster and lets its workers come.
func MarkInitialized(ctx context.Context, m *Management, key types.NamespacedName) error {
	api, err := m.client()
	if err != nil {
		return err
	}
	plane := external(ExternalControlPlane, key)
	if err := api.Get(ctx, key, plane); err != nil {
		return fmt.Errorf("get external control plane %s: %w", key, err)
	}
	version, _, err := unstructured.NestedString(plane.Object, "spec", "version")
	if err != nil {
		return fmt.Errorf("read version of external control plane %s: %w", key, err)
	}
	return writeStatus(ctx, api, plane, initializedStatus(version))
}

func initializedStatus(version string) map[string]any {
	return map[string]any{
		"externalManagedControlPlane": true,
		"initialization":              map[string]any{"controlPlaneInitialized": true},
		"version":                     version,
		"versions":                    []any{map[string]any{"version": version}},
		"conditions":                  []any{isTrue("Available")},
	}
}

func isTrue(kind string) map[string]any {
	return map[string]any{
		"type": kind, "status": "True", "reason": kind, "message": "",
		"lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
	}
}

func external(kind schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object
}

func writeStatus(ctx context.Context, api client.Client, object *unstructured.Unstructured, status map[string]any) error {
	before := object.DeepCopy()
	object.Object["status"] = status
	if err := api.Status().Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write status of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
