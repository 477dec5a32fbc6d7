package machine

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func (r *Reconciler) owned(_ context.Context, f *facts) phase.Outcome {
	if f.owner == nil {
		return phase.Wait(infrav1.WaitingForOwnerReason, "no Machine owns this WindowsMachine yet; Cluster API sets the owner")
	}
	if f.cluster == nil {
		return phase.Wait(infrav1.WaitingForOwnerReason, "Cluster %s is not there", f.owner.Spec.ClusterName)
	}
	return phase.Outcome{}
}

// claim writes down who the VM will be, and holds the finalizer, before anything is asked of the cloud. Everything after
// a crash, a restore or a move starts from these two.
func (r *Reconciler) claim(ctx context.Context, f *facts) phase.Outcome {
	if outcome := r.identify(ctx, f); outcome.Ends() {
		return outcome
	}
	before := f.machine.DeepCopy()
	controllerutil.AddFinalizer(f.machine, infrav1.MachineFinalizer)
	f.machine.Spec.ProviderID = f.identity.ProviderID
	if before.Spec.ProviderID == f.machine.Spec.ProviderID && len(before.Finalizers) == len(f.machine.Finalizers) {
		return phase.Outcome{}
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, f.machine, patch); err != nil {
		return phase.Fail(fmt.Errorf("claim provider ID and finalizer: %w", err))
	}
	f.before = f.machine.DeepCopy()
	return phase.Outcome{}
}

func (r *Reconciler) identify(_ context.Context, f *facts) phase.Outcome {
	provider := r.provider(f.machine)
	if provider == nil {
		return phase.Stall(infrav1.CloudNotSupportedReason,
			"this manager runs no machines in the cloud that the spec names; write spec.vsphere, or run a release that supports it")
	}
	identity, err := provider.Identify(f.machine)
	if err != nil {
		return phase.Cloud(err)
	}
	f.identity = identity
	return phase.Outcome{}
}

func (r *Reconciler) provider(m *infrav1.WindowsMachine) cloud.Provider {
	if m.Spec.VSphere != nil {
		return r.VSphere
	}
	return r.Azure
}

// ready waits for all that a new VM needs. A machine that had its VM needs none of it.
func (r *Reconciler) ready(ctx context.Context, f *facts) phase.Outcome {
	switch {
	case hadVM(f):
		return phase.Outcome{}
	case !ptr.Deref(f.cluster.Status.Initialization.InfrastructureProvisioned, false):
		return phase.Wait(infrav1.WaitingForClusterInfrastructureReason, "the infrastructure of Cluster %s is not provisioned yet", f.cluster.Name)
	case f.owner.Spec.Bootstrap.DataSecretName == nil:
		return phase.Wait(infrav1.WaitingForBootstrapDataReason, "Machine %s has no bootstrap data yet; see its bootstrap config", f.owner.Name)
	}
	return linux.ControlPlaneReady(ctx, r.Workload, f.cluster)
}

// hadVM says whether the machine's VM was there once: then no second one is made. The Machine knows it too, since
// status is lost in a move.
func hadVM(f *facts) bool {
	return ptr.Deref(f.machine.Status.Initialization.Provisioned, false) || f.owner != nil && f.owner.Spec.ProviderID != ""
}

func (r *Reconciler) connect(ctx context.Context, f *facts) phase.Outcome {
	provider := r.provider(f.machine)
	key := client.ObjectKey{Namespace: f.machine.Namespace, Name: provider.CredentialsOf(f.machine)}
	var secret corev1.Secret
	err := r.Secrets.Get(ctx, key, &secret)
	if apierrors.IsNotFound(err) {
		outcome := phase.Poll(infrav1.CredentialsMissingReason,
			"there is no Secret %s with the cloud's credentials; create it in namespace %s", key.Name, key.Namespace)
		return outcome
	}
	if err != nil {
		return phase.Fail(fmt.Errorf("get credentials: %w", err))
	}
	f.cloud, err = r.Accounts.Get(provider, key, secret.Data)
	if err != nil {
		return phase.Cloud(err)
	}
	return phase.Outcome{}
}

// provision asks for the VM, or for how it is.
func (r *Reconciler) provision(ctx context.Context, f *facts) phase.Outcome {
	vm, err := r.vm(ctx, f)
	if errors.Is(err, cloud.ErrNotFound) {
		return phase.Stall(infrav1.VMVanishedReason,
			"VM %s was there and is gone; a machine gets no second VM, delete the Machine or let a MachineHealthCheck do it", f.identity.Name)
	}
	if err != nil {
		return phase.Cloud(err)
	}
	f.vm = &vm
	switch vm.State {
	case cloud.Running:
		return phase.Outcome{}
	case cloud.Stopped:
		return phase.Wait(infrav1.VMNotRunningReason, "VM %s does not run; start it, or delete the Machine", f.identity.Name)
	default:
		outcome := phase.Wait(infrav1.ProvisioningReason, "VM %s: %s", f.identity.Name, vm.Detail)
		outcome.After = reread
		return outcome
	}
}

func (r *Reconciler) vm(ctx context.Context, f *facts) (cloud.VM, error) {
	m := f.cloudMachine()
	if hadVM(f) {
		return f.cloud.Observe(ctx, m)
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.machine.Namespace, Name: *f.owner.Spec.Bootstrap.DataSecretName}
	if err := r.Secrets.Get(ctx, key, &secret); err != nil {
		return cloud.VM{}, fmt.Errorf("get bootstrap data: %w", err)
	}
	m.UserData = secret.Data["value"]
	if len(m.UserData) == 0 {
		return cloud.VM{}, fmt.Errorf("bootstrap Secret %s has no data under the key \"value\"", key.Name)
	}
	return f.cloud.Ensure(ctx, m)
}

func (f *facts) cloudMachine() cloud.Machine {
	m := cloud.Machine{
		Identity: f.identity, Key: client.ObjectKeyFromObject(f.machine), Spec: f.machine.Spec, Existed: hadVM(f),
	}
	if f.owner != nil {
		m.FailureDomain = f.owner.Spec.FailureDomain
	}
	return m
}

// remove asks for the VM's removal until nothing is left of it.
func (r *Reconciler) remove(ctx context.Context, f *facts) phase.Outcome {
	err := f.cloud.Delete(ctx, f.cloudMachine())
	if errors.Is(err, cloud.ErrNotFound) {
		return phase.Outcome{}
	}
	if err != nil {
		return phase.Cloud(err)
	}
	return phase.Poll(infrav1.DeletingReason, "VM %s is being removed", f.identity.Name)
}

// release lets the object go.
func (r *Reconciler) release(ctx context.Context, f *facts) phase.Outcome {
	before := f.machine.DeepCopy()
	if controllerutil.RemoveFinalizer(f.machine, infrav1.MachineFinalizer) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, f.machine, patch); client.IgnoreNotFound(err) != nil {
			return phase.Fail(fmt.Errorf("release finalizer: %w", err))
		}
		ctrl.LoggerFrom(ctx).Info("Nothing is left of the VM, the machine is released", "vm", f.identity.Name)
	}
	f.released = true
	return phase.Outcome{}
}
