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

//go:embed externalcontrolplane.yaml
var externalControlPlaneCRD []byte

func externalControlPlaneDefinition() (unstructured.Unstructured, error) {
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal(externalControlPlaneCRD, &crd.Object); err != nil {
		return crd, fmt.Errorf("read definition of ExternalControlPlane: %w", err)
	}
	return crd, nil
}

// createExternalControlPlane makes one that is not initialized yet.
func createExternalControlPlane(ctx context.Context, api client.Client, key types.NamespacedName, version string) error {
	plane := externalControlPlane(key)
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
	plane := externalControlPlane(key)
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
		"conditions": []any{map[string]any{
			"type": "Available", "status": "True", "reason": "Available", "message": "",
			"lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
		}},
	}
}

func externalControlPlane(key types.NamespacedName) *unstructured.Unstructured {
	plane := &unstructured.Unstructured{}
	plane.SetGroupVersionKind(ExternalControlPlane)
	plane.SetNamespace(key.Namespace)
	plane.SetName(key.Name)
	return plane
}

func writeStatus(ctx context.Context, api client.Client, plane *unstructured.Unstructured, status map[string]any) error {
	before := plane.DeepCopy()
	plane.Object["status"] = status
	if err := api.Status().Patch(ctx, plane, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write status of external control plane %s: %w", plane.GetName(), err)
	}
	return nil
}
