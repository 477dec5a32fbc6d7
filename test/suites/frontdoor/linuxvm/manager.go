package linuxvm

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// every is how often a manager looks.
const every = time.Second / 2

// provider does for the objects of one kind what its controller does.
type provider struct {
	kind      schema.GroupVersionKind
	finalizer string
	// ensure brings an object whose Cluster is there in line; remove says whether nothing is left of a deleted one.
	ensure func(ctx context.Context, o *object) error
	remove func(ctx context.Context, o *object) (gone bool, err error)
}

// object is one of a provider's kinds with what it belongs to.
type object struct {
	*unstructured.Unstructured
	cluster *clusterv1.Cluster
}

// Manager stands in for the managers of both providers in one management cluster.
type Manager struct {
	// Client is an admin's of the management cluster.
	Client client.Client
	VMs    *VMs
	// VSphere says that the provider of vSphere is played; that of Azure is where it has its cloud.
	VSphere bool
	Azure   Azure
}

// Run reconciles until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	for tick := time.NewTicker(every); ; {
		for _, p := range append(m.capv(), m.capz()...) {
			if err := m.reconcileAll(ctx, p); err != nil && ctx.Err() == nil {
				m.VMs.tell("%s: %v", p.kind.Kind, err)
			}
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func (m *Manager) reconcileAll(ctx context.Context, p provider) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(p.kind)
	if err := m.Client.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		err := m.reconcile(ctx, p, &list.Items[i])
		if err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("%s: %w", list.Items[i].GetName(), err)
		}
	}
	return nil
}

// reconcile leaves alone what is paused, or not adopted by a Cluster yet, as both providers do.
func (m *Manager) reconcile(ctx context.Context, p provider, of *unstructured.Unstructured) error {
	cluster, err := m.clusterOf(ctx, of)
	if err != nil || cluster == nil {
		return err
	}
	if _, paused := of.GetAnnotations()[clusterv1.PausedAnnotation]; paused || ptr.Deref(cluster.Spec.Paused, false) {
		return nil
	}
	o := &object{of, cluster}
	if of.GetDeletionTimestamp() == nil {
		if p.finalizer != "" && controllerutil.AddFinalizer(of, p.finalizer) {
			return m.Client.Update(ctx, of)
		}
		return p.ensure(ctx, o)
	}
	if !controllerutil.ContainsFinalizer(of, p.finalizer) {
		return nil
	}
	gone, err := p.remove(ctx, o)
	if err != nil || !gone {
		return err
	}
	controllerutil.RemoveFinalizer(of, p.finalizer)
	return m.Client.Update(ctx, of)
}

// clusterOf is the Cluster that owns an object, or that its label names once core has written it.
func (m *Manager) clusterOf(ctx context.Context, of *unstructured.Unstructured) (*clusterv1.Cluster, error) {
	name := of.GetLabels()[clusterv1.ClusterNameLabel]
	for _, owner := range of.GetOwnerReferences() {
		if owner.Kind == clusterv1.ClusterKind {
			name = owner.Name
		}
	}
	if name == "" || len(of.GetOwnerReferences()) == 0 {
		return nil, nil
	}
	cluster := &clusterv1.Cluster{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: of.GetNamespace(), Name: name}, cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return cluster, nil
}

// bootstrapData are those of the Machine that owns an object; nil while there are none.
func (m *Manager) bootstrapData(ctx context.Context, o *object) ([]byte, error) {
	secret, err := m.bootstrapSecret(ctx, o)
	if err != nil || secret == nil {
		return nil, err
	}
	return secret.Data["value"], nil
}

// bootstrapSecret is that of the Machine that owns an object; nil while there is none, or the cluster is not ready for VMs.
func (m *Manager) bootstrapSecret(ctx context.Context, o *object) (*corev1.Secret, error) {
	if !ptr.Deref(o.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		return nil, nil
	}
	owner := metav1.GetControllerOf(o)
	if owner == nil || owner.Kind != "Machine" {
		return nil, nil
	}
	machine := &clusterv1.Machine{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: owner.Name}, machine); err != nil {
		return nil, err
	}
	if machine.Spec.Bootstrap.DataSecretName == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: *machine.Spec.Bootstrap.DataSecretName}
	return secret, m.Client.Get(ctx, key, secret)
}

// inCluster are the objects of a kind that belong to the Cluster of another object.
func (m *Manager) inCluster(ctx context.Context, o *object, kind schema.GroupVersionKind) (int, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err := m.Client.List(ctx, list, client.InNamespace(o.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: o.cluster.Name})
	return len(list.Items), err
}

// set writes fields of an object, each by its path and a value; those of the status go there by their own way.
func (m *Manager) set(ctx context.Context, o *object, fields ...field) error {
	spec, status := o.DeepCopy(), o.DeepCopy()
	for _, f := range fields {
		to := spec
		if f.path[0] == "status" {
			to = status
		}
		if err := unstructured.SetNestedField(to.Object, f.value, f.path...); err != nil {
			return err
		}
	}
	if err := m.Client.Patch(ctx, spec, client.MergeFrom(o.DeepCopy())); err != nil {
		return err
	}
	return m.Client.Status().Patch(ctx, status, client.MergeFrom(o.DeepCopy()))
}

type field struct {
	path  []string
	value any
}

func (o *object) text(path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

func (o *object) number(path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(o.Object, path...)
	return value
}

func (o *object) is(path ...string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, path...)
	return value
}

// fail says in a condition why an object is not ready, and returns the error.
func (m *Manager) fail(ctx context.Context, o *object, kind, reason string, why error) error {
	failed := condition(kind, reason)
	failed["status"] = "False"
	if why != nil {
		failed["message"] = why.Error()
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range all {
		if is, _ := entry.(map[string]any); is["type"] == kind && is["status"] == "False" && is["message"] == failed["message"] {
			return why
		}
	}
	return errors.Join(m.set(ctx, o, field{[]string{"status", "conditions"}, []any{failed}}), why)
}

// condition of a kind that is true.
func condition(kind, reason string) map[string]any {
	return map[string]any{
		"type": kind, "status": "True", "reason": reason, "message": "",
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
}
