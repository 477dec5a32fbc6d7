package linuxvm

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// VSphere makes the VMs of a vCenter.
type VSphere interface {
	// Login says whether a vCenter accepts an account; server and thumbprint (SHA-1) are as users write them.
	Login(ctx context.Context, server, thumbprint, username, password string) error
	// Ensure clones a Linux VM by this name and switches it on, unless it is there. It returns the UUID of its BIOS, the one that
	// Linux sees, and its address.
	Ensure(ctx context.Context, name, template string) (bios, system, address string, err error)
	// Destroy removes a VM. One that is not there is fine.
	Destroy(ctx context.Context, name string) error
}

func capvKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
}

// secretFinalizer is what the provider holds the Secret of an account with (v1.16.1, api/govmomi/v1beta2).
const secretFinalizer = "vspherecluster/infrastructure.cluster.x-k8s.io"

// capv is Cluster API Provider vSphere v1.16.1: controllers/vspherecluster_reconciler.go and vspheremachine_controller.go.
func (m *Manager) capv() []provider {
	if m.VSphere == nil {
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
	}
}

// ensureVSphereCluster takes the Secret over, logs in, and says that the cluster is provisioned: its endpoint is the user's.
func (m *Manager) ensureVSphereCluster(ctx context.Context, o *object) error {
	secret, err := m.accountOf(ctx, o)
	if err != nil {
		return err
	}
	before := secret.DeepCopy()
	err = controllerutil.SetOwnerReference(o, secret, m.Client.Scheme())
	if err != nil {
		return err
	}
	controllerutil.AddFinalizer(secret, secretFinalizer)
	if err := m.Client.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
		return err
	}
	if o.is("status", "initialization", "provisioned") {
		return nil
	}
	if o.text("spec", "controlPlaneEndpoint", "host") == "" {
		return errors.New("spec.controlPlaneEndpoint.host is empty: nobody gives it an address")
	}
	err = m.VSphere.Login(ctx, o.text("spec", "server"), o.text("spec", "thumbprint"),
		string(secret.Data["username"]), string(secret.Data["password"]))
	if err != nil {
		return err
	}
	return m.set(ctx, o, field{[]string{"status", "initialization", "provisioned"}, true},
		field{[]string{"status", "conditions"}, []any{condition("Ready", "Ready"), condition("VCenterAvailable", "Available")}})
}

func (m *Manager) accountOf(ctx context.Context, o *object) (*corev1.Secret, error) {
	if kind := o.text("spec", "identityRef", "kind"); kind != "Secret" {
		return nil, fmt.Errorf("spec.identityRef is a %q; only Secrets are played", kind)
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.text("spec", "identityRef", "name")}
	return secret, m.Client.Get(ctx, key, secret)
}

func (m *Manager) removeVSphereCluster(ctx context.Context, o *object) (gone bool, err error) {
	left, err := m.inCluster(ctx, o, capvKind("VSphereMachine"))
	if err != nil || left > 0 {
		return false, err
	}
	secret, err := m.accountOf(ctx, o)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if err == nil && controllerutil.RemoveFinalizer(secret, secretFinalizer) {
		err = m.Client.Update(ctx, secret)
	}
	return true, client.IgnoreNotFound(err)
}

func (m *Manager) ensureVSphereMachine(ctx context.Context, o *object) error {
	data, err := m.bootstrapData(ctx, o)
	if err != nil || data == nil {
		return err
	}
	for _, name := range []string{"datacenter", "template"} {
		if o.text("spec", name) == "" {
			return fmt.Errorf("spec.%s is empty: there is nothing to clone", name)
		}
	}
	bios, system, address, err := m.VSphere.Ensure(ctx, o.GetName(), o.text("spec", "template"))
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: o.cluster.Namespace, Name: o.cluster.Name}
	m.VMs.Ensure(Spec{Name: o.GetName(), Cluster: key, UserData: data, Address: address, SystemUUID: system})
	if o.is("status", "initialization", "provisioned") {
		return nil
	}
	return m.set(ctx, o, field{[]string{"spec", "providerID"}, "vsphere://" + bios},
		field{[]string{"status", "addresses"}, []any{
			map[string]any{"type": string(clusterv1.MachineInternalIP), "address": address},
			map[string]any{"type": string(clusterv1.MachineHostName), "address": o.GetName()},
		}},
		field{[]string{"status", "initialization", "provisioned"}, true},
		field{[]string{"status", "conditions"}, []any{
			condition("Ready", "Ready"), condition("VirtualMachineProvisioned", "Provisioned"),
		}})
}

func (m *Manager) removeVSphereMachine(ctx context.Context, o *object) (gone bool, err error) {
	if err := m.VMs.Remove(o.GetName()); err != nil {
		return false, err
	}
	return true, m.VSphere.Destroy(ctx, o.GetName())
}
