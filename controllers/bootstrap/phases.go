package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/refusals"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const kind = "WindowsBootstrapConfig"

func owned(_ context.Context, f *facts) error {
	if refused := refusals.OwnerOfConfig(f.config.OwnerReferences); refused != "" {
		return phase.Stall(bootstrapv1.OwnerNotSupportedReason, "%s", refused)
	}
	switch {
	case f.refused != "":
		return phase.Stall(bootstrapv1.OwnerNotSupportedReason, "%s", f.refused)
	case f.machine == nil:
		return phase.Wait(phase.Self, bootstrapv1.WaitingForOwnerReason,
			"no Machine owns this WindowsBootstrapConfig yet; Cluster API sets the owner")
	case f.cluster == nil:
		return phase.Wait(phase.Cluster, bootstrapv1.WaitingForOwnerReason, "Cluster %s does not exist", f.machine.Spec.ClusterName)
	}
	if refused := refusals.MachineOfConfig(f.machine); refused != "" {
		return phase.Stall(bootstrapv1.OwnerNotSupportedReason, "%s", refused)
	}
	return nil
}

// used reports whether Cluster API has copied the Secret's name to the Machine.
func used(f *facts) bool { return f.machine.Spec.Bootstrap.DataSecretName != nil }

// settled reports whether nothing more needs to be made.
func settled(f *facts) bool { return f.secret != nil || used(f) || joined(f) }

func ready(_ context.Context, f *facts) error {
	switch {
	case !f.machine.DeletionTimestamp.IsZero():
		return phase.Wait(phase.Self, bootstrapv1.DeletingReason,
			"Machine %s is being deleted and gets no user data", f.machine.Name)
	case !ptr.Deref(f.cluster.Status.Initialization.InfrastructureProvisioned, false):
		return phase.Wait(phase.Cluster, bootstrapv1.WaitingForClusterInfrastructureReason,
			"the infrastructure of Cluster %s is not provisioned yet", f.cluster.Name)
	case !f.cluster.Spec.ControlPlaneEndpoint.IsValid():
		return phase.Wait(phase.Cluster, bootstrapv1.WaitingForControlPlaneReason,
			"Cluster %s has no control plane endpoint yet", f.cluster.Name)
	case f.windows == nil || f.windows.Spec.ProviderID == "" || f.windows.Status.ComputerName == "":
		return phase.Wait(phase.WindowsMachine, bootstrapv1.WaitingForMachineIdentityReason,
			"WindowsMachine %s has no providerID or no computerName yet", f.machine.Spec.InfrastructureRef.Name)
	case !bootstrap.Addressed(f.windows):
		return phase.Wait(phase.WindowsMachine, bootstrapv1.WaitingForMachineAddressesReason,
			"WindowsMachine %s does not have the MACs and addresses of its adapters yet", f.windows.Name)
	}
	return nil
}

// inPlace waits for the VM's place, which a file of the node contains. The machine connects to the cloud for it, and so waits for
// Linux first.
func (r *Reconciler) inPlace(_ context.Context, f *facts) error {
	if lacks := r.Clouds.Part(f.windows).Lacks; f.config.Spec.Node.CloudConfigFile != "" && lacks != "" {
		return phase.Wait(phase.WindowsMachine, bootstrapv1.WaitingForMachinePlacementReason,
			"WindowsMachine %s has no %s yet, without which spec.node.cloudConfigFile cannot be written; it comes from the machine's "+
				"identity, if that names its tenant by ID and not by domain", f.windows.Name, lacks)
	}
	return nil
}

// linuxFirst waits until Linux can carry the Cluster, and for a control plane that is new enough.
func (r *Reconciler) linuxFirst(ctx context.Context, f *facts) error {
	passage, err := linux.Gate{Workload: r.Linux, Cache: r.Client, Clouds: r.Clouds, Now: r.Now}.Pass(ctx, linux.Candidate{
		Cluster: f.cluster, Windows: f.windows, Config: f.config,
	})
	f.warnings = passage.Warnings
	oldest := linux.OldestVersion(passage.ControlPlane)
	if err != nil || oldest == "" {
		return err
	}
	return skew(f.machine, oldest)
}

// skew stops for a Machine whose version does not go with that of its control plane.
func skew(machine *clusterv1.Machine, controlPlane string) error {
	wait, refused := refusals.Skew(machine, controlPlane)
	switch {
	case wait != "":
		return phase.Poll(bootstrapv1.WaitingForControlPlaneVersionReason, "%s", wait)
	case refused != "":
		return phase.Stall(bootstrapv1.ConfigInvalidReason, "%s", refused)
	}
	return nil
}

// readClusterCA reads the only CA that the node will trust. A kubeconfig of the user brings its own CA.
func (r *Reconciler) readClusterCA(ctx context.Context, f *facts) error {
	if f.config.Spec.Discovery.KubeconfigFrom.Secret.Name != "" {
		return nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: f.cluster.Namespace, Name: f.cluster.Name + "-ca"}
	err := r.Live.Get(ctx, key, &secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get cluster CA: %w", err)
	}
	f.ca = secret.Data[corev1.TLSCertKey]
	if len(f.ca) == 0 {
		return phase.Lack(bootstrapv1.WaitingForClusterCAReason,
			"Secret %s with the cluster's CA under the key tls.crt does not exist, so nodes could not verify the cluster; "+
				"create it or set spec.discovery", key.Name)
	}
	return nil
}

// validate renders with a dummy token: a config that cannot make a node gets neither token nor finalizer. That the guest may
// report makes the user data larger.
func (r *Reconciler) validate(ctx context.Context, f *facts) error {
	f.reports = r.reportsInCluster(f)
	_, err := render(ctx, f, "000000.0000000000000000", time.Time{})
	return err
}

// renderings are those under way. The largest takes 11 MB, and there are a hundred workers.
var renderings = make(chan struct{}, 4)

func render(ctx context.Context, f *facts, token string, now time.Time) (bootstrap.UserData, error) {
	select {
	case renderings <- struct{}{}:
		defer func() { <-renderings }()
	case <-ctx.Done():
		return bootstrap.UserData{}, fmt.Errorf("wait to render user data: %w", ctx.Err())
	}
	userData, err := bootstrap.Render(bootstrap.Input{
		Cluster: f.cluster, Machine: f.machine, WindowsMachine: f.windows, Config: f.config, ClusterCA: f.ca, Token: token,
		Reports: f.reports, Sources: f.sources, Now: now, Block: f.block,
	})
	if invalid, ok := errors.AsType[*bootstrap.InvalidError](err); ok {
		return userData, phase.Stall(bootstrapv1.ConfigInvalidReason, "%s", invalid.Error())
	}
	if err != nil {
		return userData, fmt.Errorf("render user data: %w", err)
	}
	return userData, nil
}

// reach connects to the workload cluster if something must be done there.
func (r *Reconciler) reach(ctx context.Context, f *facts) error {
	if settled(f) && !hasFinalizer(f, bootstrapv1.ConfigFinalizer) && !needsToken(f) {
		return nil
	}
	var err error
	f.workload, err = r.Workload.GetClient(ctx, client.ObjectKeyFromObject(f.cluster))
	return err
}

// reachStop turns the error of any call to the workload cluster into a Stop, if the cluster cannot be reached or must not be.
func reachStop(ctx context.Context, f *facts, err error) error {
	if refused, ok := errors.AsType[*workload.RefusedError](err); ok {
		return phase.Lack(bootstrapv1.KubeconfigRefusedReason, "%s", refused)
	}
	unreachable, ok := errors.AsType[*workload.UnreachableError](err)
	if !ok {
		return err
	}
	ctrl.LoggerFrom(ctx).V(4).Info("Workload cluster cannot be reached", "error", err.Error())
	waits := "the node's bootstrap token cannot be created or extended until then"
	if deleting(f) {
		waits = "the config is deleted once its node's objects there are removed or its token has expired"
	}
	return phase.Poll(bootstrapv1.WorkloadUnreachableReason, "the API server of Cluster %s %s; %s",
		f.cluster.Name, unreachable.Why, waits)
}

// hold takes the finalizers before there is a token and an object for reports, and for as long as there may be one.
func (r *Reconciler) hold(ctx context.Context, f *facts) error {
	original := f.config.DeepCopy()
	added := controllerutil.AddFinalizer(f.config, bootstrapv1.ConfigFinalizer)
	if f.reports && controllerutil.AddFinalizer(f.config, bootstrapv1.GuestReportFinalizer) {
		added = true
	}
	if !added {
		return nil
	}
	return r.patchFinalizers(ctx, f, original)
}

// patchFinalizers fails if the object is gone, unless we have just released it: nothing would ever remove a token made for an
// object that is gone.
func (r *Reconciler) patchFinalizers(ctx context.Context, f *facts, original *bootstrapv1.WindowsBootstrapConfig) error {
	err := r.Client.Patch(ctx, f.config, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}))
	if f.released {
		err = client.IgnoreNotFound(err)
	}
	if err != nil {
		return fmt.Errorf("patch finalizers: %w", err)
	}
	f.original = f.config.DeepCopy()
	return nil
}

// release lets the object go.
func (r *Reconciler) release(ctx context.Context, f *facts) error {
	original := f.config.DeepCopy()
	controllerutil.RemoveFinalizer(f.config, bootstrapv1.ConfigFinalizer)
	controllerutil.RemoveFinalizer(f.config, bootstrapv1.GuestReportFinalizer)
	f.released = true
	return r.patchFinalizers(ctx, f, original)
}
