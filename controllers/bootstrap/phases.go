package bootstrap

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// The keys of the bootstrap Secret. "value" is the contract; the token is kept beside it, because the same one has to be
// put back when it expired under a VM that takes its time.
const (
	keyValue = "value"
	keyToken = "token"
)

func owned(_ context.Context, f *facts) phase.Outcome {
	for _, ref := range f.config.OwnerReferences {
		if ref.Kind == "MachinePool" {
			return phase.Stall(bootstrapv1.OwnerNotSupportedReason, "MachinePool %s cannot use a WindowsBootstrapConfig; use a MachineDeployment", ref.Name)
		}
	}
	switch {
	case f.owner == nil:
		return phase.Wait(bootstrapv1.WaitingForOwnerReason, "no Machine owns this WindowsBootstrapConfig yet; Cluster API sets the owner")
	case f.cluster == nil:
		return phase.Wait(bootstrapv1.WaitingForOwnerReason, "Cluster %s is not there", f.owner.Spec.ClusterName)
	case util.IsControlPlaneMachine(f.owner):
		return phase.Stall(bootstrapv1.OwnerNotSupportedReason, "Machine %s is a control-plane machine; control planes run on Linux", f.owner.Name)
	case f.owner.Spec.InfrastructureRef.Kind != "WindowsMachine":
		return phase.Stall(bootstrapv1.OwnerNotSupportedReason,
			"Machine %s has a %s as infrastructure; a WindowsBootstrapConfig needs a WindowsMachine", f.owner.Name, f.owner.Spec.InfrastructureRef.Kind)
	}
	return phase.Outcome{}
}

// find looks for the Secret of an earlier time. It is never made anew under a VM that may boot with it.
func (r *Reconciler) find(ctx context.Context, f *facts) phase.Outcome {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.config.Namespace, Name: ptr.Deref(f.owner.Spec.Bootstrap.DataSecretName, f.config.Name)}
	err := r.Secrets.Get(ctx, key, &secret)
	switch {
	case err == nil && !metav1.IsControlledBy(&secret, f.config):
		return phase.Stall(bootstrapv1.ConfigInvalidReason,
			"Secret %s has the name that the user data must have, and is not of this config; remove it, or rename the config", key.Name)
	case err == nil:
		f.secret = &secret
	case !apierrors.IsNotFound(err):
		return phase.Fail(fmt.Errorf("get bootstrap secret: %w", err))
	case f.owner.Spec.Bootstrap.DataSecretName != nil && !joined(f):
		return phase.Stall(bootstrapv1.DataSecretLostReason,
			"Secret %s is gone before the node has joined, and its VM may already boot with it; delete the Machine to get another one", key.Name)
	}
	return phase.Outcome{}
}

// settled says that there is nothing to be made any more.
func settled(f *facts) bool { return f.secret != nil || joined(f) }

func ready(_ context.Context, f *facts) phase.Outcome {
	switch {
	case settled(f):
		return phase.Outcome{}
	case !ptr.Deref(f.cluster.Status.Initialization.InfrastructureProvisioned, false):
		return phase.Wait(bootstrapv1.WaitingForClusterInfrastructureReason, "the infrastructure of Cluster %s is not provisioned yet", f.cluster.Name)
	case !f.cluster.Spec.ControlPlaneEndpoint.IsValid():
		return phase.Wait(bootstrapv1.WaitingForControlPlaneReason, "Cluster %s has no control plane endpoint yet", f.cluster.Name)
	case f.machine == nil || f.machine.Spec.ProviderID == "" || f.machine.Status.ComputerName == "":
		return phase.Wait(bootstrapv1.WaitingForMachineIdentityReason,
			"WindowsMachine %s has no providerID and computerName yet", f.owner.Spec.InfrastructureRef.Name)
	}
	return phase.Outcome{}
}

// reach waits until Linux is there, and connects to the workload cluster where something has to be done in it.
func (r *Reconciler) reach(ctx context.Context, f *facts) phase.Outcome {
	if settled(f) && !controllerutil.ContainsFinalizer(f.config, bootstrapv1.ConfigFinalizer) {
		return phase.Outcome{}
	}
	if !settled(f) {
		if outcome := linux.ControlPlaneReady(ctx, r.Workload, f.cluster); outcome.Ends() {
			return outcome
		}
	}
	var err error
	if f.workload, err = r.Workload.GetClient(ctx, client.ObjectKeyFromObject(f.cluster)); err != nil {
		ctrl.LoggerFrom(ctx).V(4).Info("Workload cluster is not reached", "error", err.Error())
		return phase.Poll(bootstrapv1.WorkloadUnreachableReason, "the API server of Cluster %s is not reached; the node's token is looked after once it is", f.cluster.Name)
	}
	return phase.Outcome{}
}

// claim holds the finalizer before there is a token, and for as long as there may be one.
func (r *Reconciler) claim(ctx context.Context, f *facts) phase.Outcome {
	if settled(f) {
		return phase.Outcome{}
	}
	before := f.config.DeepCopy()
	if !controllerutil.AddFinalizer(f.config, bootstrapv1.ConfigFinalizer) {
		return phase.Outcome{}
	}
	return r.patchFinalizers(ctx, f, before)
}

func (r *Reconciler) patchFinalizers(ctx context.Context, f *facts, before *bootstrapv1.WindowsBootstrapConfig) phase.Outcome {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, f.config, patch); client.IgnoreNotFound(err) != nil {
		return phase.Fail(fmt.Errorf("patch finalizers: %w", err))
	}
	f.before = f.config.DeepCopy()
	return phase.Outcome{}
}

// store renders the user data and writes it down, once.
func (r *Reconciler) store(ctx context.Context, f *facts) phase.Outcome {
	if settled(f) {
		return phase.Outcome{}
	}
	ca, outcome := r.clusterCA(ctx, f)
	if outcome.Ends() {
		return outcome
	}
	userData, err := bootstrap.Render(bootstrap.Input{
		Cluster: f.cluster, Machine: f.owner, WindowsMachine: f.machine, Config: f.config, ClusterCA: ca, Token: f.token,
		Sources: f.sources,
	})
	if invalid, ok := errors.AsType[*bootstrap.InvalidError](err); ok {
		return phase.Stall(bootstrapv1.ConfigInvalidReason, "%s", invalid.Error())
	}
	if err != nil {
		return phase.Fail(fmt.Errorf("render user data: %w", err))
	}
	secret := dataSecret(f, userData.Bytes())
	if err := r.Client.Create(ctx, secret); err != nil {
		return phase.Fail(fmt.Errorf("create bootstrap secret: %w", err))
	}
	ctrl.LoggerFrom(ctx).Info("Bootstrap data stored", "secret", secret.Name, "bytes", len(secret.Data[keyValue]))
	f.secret = secret
	return phase.Outcome{}
}

// clusterCA is what the node will trust, and nothing else.
func (r *Reconciler) clusterCA(ctx context.Context, f *facts) ([]byte, phase.Outcome) {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.cluster.Namespace, Name: f.cluster.Name + "-ca"}
	err := r.Secrets.Get(ctx, key, &secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, phase.Fail(fmt.Errorf("get cluster CA: %w", err))
	}
	ca := secret.Data[corev1.TLSCertKey]
	if len(ca) == 0 {
		return nil, phase.Poll(bootstrapv1.WaitingForClusterCAReason,
			"Secret %s with the CA of the cluster under the key tls.crt is not there; a node joins no cluster that it cannot verify", key.Name)
	}
	return ca, phase.Outcome{}
}

func dataSecret(f *facts, userData []byte) *corev1.Secret {
	owner := metav1.NewControllerRef(f.config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig"))
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       f.config.Namespace,
			Name:            f.config.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: f.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Type:      clusterv1.ClusterSecretType,
		Immutable: new(true),
		Data:      map[string][]byte{keyValue: userData, keyToken: []byte(f.token)},
	}
}

// release lets the object go.
func (r *Reconciler) release(ctx context.Context, f *facts) phase.Outcome {
	before := f.config.DeepCopy()
	controllerutil.RemoveFinalizer(f.config, bootstrapv1.ConfigFinalizer)
	f.released = true
	return r.patchFinalizers(ctx, f, before)
}
