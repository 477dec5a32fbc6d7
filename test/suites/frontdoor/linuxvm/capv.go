package linuxvm

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func capvKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
}

// secretFinalizer is what the provider holds the Secret of an account with (v1.16.1, api/govmomi/v1beta2).
const secretFinalizer = "vspherecluster/infrastructure.cluster.x-k8s.io"

// provisioned is the condition of a VSphereMachine and of its VSphereVM.
const provisioned = "VirtualMachineProvisioned"

// capv is Cluster API Provider vSphere v1.16.1: controllers/vspherecluster_reconciler.go, vspheremachine_controller.go with
// pkg/services/vimmachine.go, and vspherevm_controller.go with pkg/services/govmomi.
func (m *Manager) capv() []provider {
	if !m.VSphere {
		return nil
	}
	return []provider{
		{
			kind: capvKind("VSphereCluster"), finalizer: "vspherecluster.infrastructure.cluster.x-k8s.io",
			ensure: m.ensureVSphereCluster, remove: m.removeVSphereCluster,
		},
		{
			kind: capvKind("VSphereMachine"), finalizer: "vspheremachine.infrastructure.cluster.x-k8s.io",
			ensure: m.ensureVSphereMachine, remove: m.removeVSphereMachine,
		},
		{
			kind: capvKind("VSphereVM"), finalizer: "vspherevm.infrastructure.cluster.x-k8s.io",
			ensure: m.ensureVSphereVM, remove: m.removeVSphereVM,
		},
	}
}

// ensureVSphereCluster takes the Secret over, logs in, and says that the cluster is provisioned: its endpoint is the user's.
func (m *Manager) ensureVSphereCluster(ctx context.Context, o *object) error {
	account, err := m.takeAccount(ctx, o)
	if err == nil && !o.is("status", "initialization", "provisioned") {
		err = account.try(ctx)
	}
	if err != nil {
		return m.fail(ctx, o, "VCenterAvailable", "VCenterUnreachable", err)
	}
	if o.is("status", "initialization", "provisioned") {
		return nil
	}
	return m.set(ctx, o, field{[]string{"status", "initialization", "provisioned"}, true},
		field{[]string{"status", "conditions"}, []any{condition("Ready", "Ready"), condition("VCenterAvailable", "Available")}})
}

// takeAccount makes the Secret the VSphereCluster's own, as reconcileIdentitySecret does: one that another cluster has is
// refused.
func (m *Manager) takeAccount(ctx context.Context, o *object) (account, error) {
	secret, err := m.loginOf(ctx, o)
	if err != nil {
		return account{}, err
	}
	for _, owner := range secret.OwnerReferences {
		if owner.UID != o.GetUID() && (owner.Kind == "VSphereCluster" || owner.Kind == "VSphereClusterIdentity") {
			return account{}, fmt.Errorf("another cluster has set the OwnerRef for Secret %s/%s", secret.Namespace, secret.Name)
		}
	}
	before := secret.DeepCopy()
	if err := controllerutil.SetOwnerReference(o, secret, m.Client.Scheme()); err != nil {
		return account{}, err
	}
	controllerutil.AddFinalizer(secret, secretFinalizer)
	if err := m.Client.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
		return account{}, err
	}
	return accountOf(o, secret), nil
}

// loginOf a VSphereCluster is the Secret that it names.
func (m *Manager) loginOf(ctx context.Context, o *object) (*corev1.Secret, error) {
	if kind := o.text("spec", "identityRef", "kind"); kind != "Secret" {
		return nil, fmt.Errorf("spec.identityRef is a %q; only Secrets are played", kind)
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.text("spec", "identityRef", "name")}
	return secret, m.Client.Get(ctx, key, secret)
}

// removeVSphereCluster deletes the Secret that it names, whoever owns it (reconcileDelete, lines 225 to 251).
func (m *Manager) removeVSphereCluster(ctx context.Context, o *object) (gone bool, err error) {
	left, err := m.inCluster(ctx, o, capvKind("VSphereMachine"))
	if err != nil || left > 0 {
		return false, err
	}
	secret, err := m.loginOf(ctx, o)
	if err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if controllerutil.RemoveFinalizer(secret, secretFinalizer) {
		if err := m.Client.Update(ctx, secret); err != nil {
			return false, err
		}
	}
	if secret.DeletionTimestamp.IsZero() {
		err = m.Client.Delete(ctx, secret)
	}
	return true, client.IgnoreNotFound(err)
}

// ensureVSphereMachine makes a VSphereVM of the machine, and repeats what becomes of it.
func (m *Manager) ensureVSphereMachine(ctx context.Context, o *object) error {
	data, err := m.bootstrapSecret(ctx, o)
	if err != nil || data == nil {
		return err
	}
	vm := &object{&unstructured.Unstructured{}, o.cluster}
	vm.SetGroupVersionKind(capvKind("VSphereVM"))
	err = m.Client.Get(ctx, client.ObjectKeyFromObject(o), vm.Unstructured)
	if apierrors.IsNotFound(err) {
		return m.makeVSphereVM(ctx, o, data.Name)
	}
	if err != nil || !vm.is("status", "ready") || o.is("status", "initialization", "provisioned") {
		return err
	}
	network, _, _ := unstructured.NestedSlice(vm.Object, "status", "network")
	ips, _, _ := unstructured.NestedStringSlice(vm.Object, "status", "addresses")
	addresses := []any{}
	for _, ip := range ips {
		addresses = append(addresses, map[string]any{"type": string(clusterv1.MachineExternalIP), "address": ip})
	}
	addresses = append(addresses, map[string]any{"type": string(clusterv1.MachineInternalDNS), "address": vm.GetName()})
	return m.set(ctx, o, field{[]string{"spec", "providerID"}, "vsphere://" + vm.text("spec", "biosUUID")},
		field{[]string{"status", "addresses"}, addresses}, field{[]string{"status", "network"}, network},
		field{[]string{"status", "initialization", "provisioned"}, true},
		field{[]string{"status", "conditions"}, []any{condition("Ready", "Ready"), condition(provisioned, "Provisioned")}})
}

// makeVSphereVM of a machine: it has all that says how to clone, and belongs to the machine.
func (m *Manager) makeVSphereVM(ctx context.Context, o *object, data string) error {
	cluster, err := m.infrastructureOf(ctx, o)
	if err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	for _, own := range []string{"providerID", "failureDomain", "naming"} {
		delete(spec, own)
	}
	from, _, _ := unstructured.NestedMap(cluster.Object, "spec")
	maps.DeleteFunc(from, func(name string, _ any) bool { return name != "server" && name != "thumbprint" || spec[name] != nil })
	maps.Copy(spec, from)
	spec["bootstrapRef"] = map[string]any{"name": data}
	vm := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	vm.SetGroupVersionKind(capvKind("VSphereVM"))
	vm.SetNamespace(o.GetNamespace())
	vm.SetName(o.GetName())
	vm.SetLabels(map[string]string{clusterv1.ClusterNameLabel: o.cluster.Name})
	vm.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
	}})
	return m.Client.Create(ctx, vm)
}

// infrastructureOf an object is the VSphereCluster of its Cluster.
func (m *Manager) infrastructureOf(ctx context.Context, o *object) (*object, error) {
	cluster := &object{&unstructured.Unstructured{}, o.cluster}
	cluster.SetGroupVersionKind(capvKind("VSphereCluster"))
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.cluster.Spec.InfrastructureRef.Name}
	return cluster, m.Client.Get(ctx, key, cluster.Unstructured)
}

func (m *Manager) removeVSphereMachine(ctx context.Context, o *object) (gone bool, err error) {
	vm := &unstructured.Unstructured{}
	vm.SetGroupVersionKind(capvKind("VSphereVM"))
	err = m.Client.Get(ctx, client.ObjectKeyFromObject(o), vm)
	if err == nil && vm.GetDeletionTimestamp().IsZero() {
		err = m.Client.Delete(ctx, vm)
	}
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// ensureVSphereVM takes a VM as far as the vCenter lets it at once. It is ready when VMware Tools have shown an address.
func (m *Manager) ensureVSphereVM(ctx context.Context, o *object) error {
	if o.is("status", "ready") {
		return nil
	}
	session, err := m.loggedIn(ctx, o)
	if err != nil {
		return m.fail(ctx, o, "VCenterAvailable", "VCenterUnreachable", err)
	}
	defer session.leave(ctx)
	vm, err := session.findVM(ctx, o)
	if errors.Is(err, errNoVM) {
		data := &corev1.Secret{}
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.text("spec", "bootstrapRef", "name")}
		if err := m.Client.Get(ctx, key, data); err != nil {
			return err
		}
		vm, err = session.clone(ctx, o, data.Data["value"])
		if err != nil {
			return m.fail(ctx, o, provisioned, "NotProvisioned", err)
		}
	}
	if err != nil { // which stands in the log alone
		return errors.Join(m.fail(ctx, o, provisioned, "NotProvisioned", nil), err)
	}
	bios, network, addresses, err := session.start(ctx, o, vm)
	if err != nil || len(addresses) == 0 {
		return err
	}
	return m.set(ctx, o, field{[]string{"spec", "biosUUID"}, bios}, field{[]string{"status", "ready"}, true},
		field{[]string{"status", "network"}, network}, field{[]string{"status", "addresses"}, addresses},
		field{[]string{"status", "vmRef"}, vm.Reference().String()},
		field{[]string{"status", "conditions"}, []any{
			condition("Ready", "Ready"), condition("VCenterAvailable", "Available"), condition(provisioned, "Provisioned"),
		}})
}

func (m *Manager) removeVSphereVM(ctx context.Context, o *object) (gone bool, err error) {
	session, err := m.loggedIn(ctx, o)
	if err != nil {
		return false, err
	}
	defer session.leave(ctx)
	err = session.destroy(ctx, o)
	return errors.Is(err, errNoVM), ignore(err, errNoVM)
}

// loggedIn is the vCenter of a VSphereVM, with the account of its cluster (retrieveVcenterSession).
func (m *Manager) loggedIn(ctx context.Context, o *object) (*session, error) {
	cluster, err := m.infrastructureOf(ctx, o)
	if err != nil {
		return nil, err
	}
	secret, err := m.loginOf(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("failed to get credentials from IdentityRef: %w", err)
	}
	return accountOf(o, secret).logIn(ctx, o.text("spec", "datacenter"))
}
