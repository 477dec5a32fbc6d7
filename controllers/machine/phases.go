package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/inherit"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/refusals"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

func (r *Reconciler) owned(_ context.Context, f *facts) error {
	if f.refused != "" {
		return phase.Stall(infrav1.OwnerNotSupportedReason, "%s", f.refused)
	}
	if f.machine == nil {
		return phase.Wait(phase.Self, infrav1.WaitingForOwnerReason, "no Machine owns this WindowsMachine; Cluster API sets the owner")
	}
	if f.cluster == nil {
		return phase.Wait(phase.Cluster, infrav1.WaitingForOwnerReason, "Cluster %s does not exist", f.machine.Spec.ClusterName)
	}
	if leaving(f) && !hadVM(f) && !controllerutil.ContainsFinalizer(f.windows, infrav1.MachineFinalizer) {
		return noVM(f)
	}
	return nil
}

// leaving reports whether the Machine is being deleted. Its hooks may keep this object for a long time after that, but no VM is
// made for it any more.
func leaving(f *facts) bool { return !f.machine.DeletionTimestamp.IsZero() }

func noVM(f *facts) error {
	return phase.Wait(phase.Self, infrav1.DeletingReason, "Machine %s is being deleted; it had no VM and gets none", f.machine.Name)
}

// recordIdentity writes down who the VM will be before we ask the cloud for anything. After a crash, a restore or a move
// everything starts from it, and the node's kubelet configuration contains it.
func (r *Reconciler) recordIdentity(ctx context.Context, f *facts) error {
	f.windows.Spec.ProviderID = f.identity.ProviderID
	return r.patch(ctx, f, f.original)
}

// hold keeps the object for as long as there may be a VM, and writes down on which server. Before that it may go freely: a
// machine whose account never answered has nothing to clean up and must not need the account for it.
func (r *Reconciler) hold(ctx context.Context, f *facts) error {
	added := controllerutil.AddFinalizer(f.windows, infrav1.MachineFinalizer)
	if err := r.patch(ctx, f, f.original); err != nil {
		return err
	}
	r.firsts.held(f.windows, f.cloud, added)
	return nil
}

// patch writes spec and metadata if they changed. It fails if the object is gone, unless we have just released it: nothing
// would ever remove a VM made for an object that is gone.
func (r *Reconciler) patch(ctx context.Context, f *facts, original *infrav1.WindowsMachine) error {
	if original.Spec.ProviderID == f.windows.Spec.ProviderID && len(original.Finalizers) == len(f.windows.Finalizers) &&
		maps.Equal(original.Annotations, f.windows.Annotations) {
		return nil
	}
	lock := client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, f.windows, lock)
	if f.released {
		err = client.IgnoreNotFound(err)
	}
	if err != nil {
		return fmt.Errorf("patch windowsmachine: %w", err)
	}
	r.firsts.wrote(original)
	f.original = f.windows.DeepCopy()
	return nil
}

// place writes down where the VM goes, once and before the identity that follows from it. A move loses the status: then the place
// follows from the identity, and the rest from the Cluster's infrastructure object as it is by then.
func (r *Reconciler) place(ctx context.Context, f *facts) error {
	placer, places := r.Clouds.Find(f.windows).Provider.(cloud.Placer)
	if !places || r.Clouds.Part(f.windows).Place != nil {
		return nil
	}
	if err := inherit.Place(ctx, r.Live, placer, f.windows, f.cluster); err != nil {
		return err
	}
	if err := r.write(ctx, f); err != nil {
		return err
	}
	f.original = f.windows.DeepCopy()
	return nil
}

func (r *Reconciler) identify(_ context.Context, f *facts) (err error) {
	provider := r.Clouds.Find(f.windows).Provider
	if provider == nil {
		return phase.Stall(infrav1.CloudNotSupportedReason,
			"this release of the manager does not support the cloud in the spec; upgrade the manager, or delete the Machine and "+
				"use a WindowsMachineTemplate of another cloud")
	}
	if f.identity, err = provider.Identify(f.windows); err != nil {
		return phase.Cloud(err)
	}
	f.derived = f.windows.Spec.ProviderID == "" || r.isOwn(f.windows)
	return nil
}

// complete stops if the spec lacks a field that the API allows to be left out, such as in a template that a ClusterClass patches,
// or if the Machine needs what this cloud has not.
func (r *Reconciler) complete(_ context.Context, f *facts) error {
	if refused := refusals.FailureDomain(f.machine, r.Clouds.Part(f.windows).Place != nil); refused != "" {
		return phase.Stall(infrav1.SpecInvalidReason, "%s", refused)
	}
	if err := r.Clouds.Find(f.windows).Provider.Check(f.windows); err != nil {
		return phase.Cloud(err)
	}
	return nil
}

// claimAddresses waits for the pools' addresses and chooses the MACs. A machine that had its VM only reads them back.
func (r *Reconciler) claimAddresses(ctx context.Context, f *facts) (err error) {
	if !hadVM(f) {
		f.interfaces, err = r.Pools.Claim(ctx, f.windows, f.cluster)
		return err
	}
	if f.interfaces, err = r.Pools.ReadBack(ctx, f.windows); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Addresses cannot be read back")
	}
	return nil
}

// ready waits for everything that a new VM needs. What a person must mend is reported before what comes by itself.
func (r *Reconciler) ready(ctx context.Context, f *facts) error {
	switch provisioned := ptr.Deref(f.cluster.Status.Initialization.InfrastructureProvisioned, false); {
	case f.machine.Spec.Bootstrap.DataSecretName == nil && (provisioned || conditions.IsTrue(f.config, infrav1.StalledCondition)):
		return noData(f)
	case !provisioned:
		return phase.Wait(phase.Cluster, infrav1.WaitingForClusterInfrastructureReason,
			"the infrastructure of Cluster %s is not provisioned yet", f.cluster.Name)
	}
	return r.linuxFirst(ctx, f)
}

// linuxFirst waits until Linux can carry the Cluster. Where other providers make the user data, only the machine can warn of what
// the cluster did not show; and only the machine ever warns that the policies cannot be there.
func (r *Reconciler) linuxFirst(ctx context.Context, f *facts) error {
	config := f.config
	if config == nil && namesConfig(f) {
		config = &bootstrapv1.WindowsBootstrapConfig{} // one of ours that is not there yet may be any
	}
	gate := linux.Gate{Workload: r.Workload, Cache: r.Client, Policies: r.Policies, Clouds: r.Clouds, Now: r.Now}
	passage, err := gate.Pass(ctx, linux.Candidate{Cluster: f.cluster, Windows: f.windows, Config: config})
	if err != nil || controllerutil.ContainsFinalizer(f.windows, infrav1.MachineFinalizer) {
		return err
	}
	if config != nil {
		passage.Warnings = nil
	}
	for _, warning := range append(passage.Warnings, passage.Unkept...) {
		r.Events.Eventf(f.windows, nil, corev1.EventTypeWarning, infrav1.LinuxNotCheckedReason, "Provision", "%s",
			cloud.Clean(warning, maxNote))
	}
	return nil
}

// noData stops with the reason and the words of the config that waits, as far as it does not wait for this machine.
func noData(f *facts) error {
	stop := &phase.Stop{Reason: infrav1.WaitingForBootstrapDataReason, After: reread}
	stop.Message = fmt.Sprintf("Machine %s has no bootstrap data yet; see its bootstrap config", f.machine.Name)
	data := conditions.Get(f.config, bootstrapv1.DataSecretAvailableCondition)
	if data != nil && data.Status == metav1.ConditionFalse && !waitsForUs[data.Reason] {
		stop.Reason = data.Reason
		stop.Message = fmt.Sprintf("WindowsBootstrapConfig %s is not ready: %s", f.config.Name, data.Message)
		stop.Stalled = conditions.IsTrue(f.config, bootstrapv1.StalledCondition)
	}
	return stop
}

// waitsForUs are the reasons of a config that end without a change that people would see here.
var waitsForUs = map[string]bool{
	bootstrapv1.WaitingForMachineIdentityReason: true, bootstrapv1.WaitingForMachineAddressesReason: true,
	bootstrapv1.WaitingForMachinePlacementReason: true, bootstrapv1.WaitingForOwnerReason: true,
	bootstrapv1.DeletingReason: true,
}

// hadVM reports whether the machine's VM was there once: it gets no second one. The Machine knows it too, because a move loses
// our status.
func hadVM(f *facts) bool {
	return ptr.Deref(f.windows.Status.Initialization.Provisioned, false) || f.machine != nil && f.machine.Spec.ProviderID != ""
}

// needsNoHold reports whether no adapter of a new VM has a MAC or an address that others could have, too.
func needsNoHold(f *facts) bool { return hadVM(f) || len(f.interfaces) == 0 }

// distinct stops if another machine has a MAC that this one's VM would get.
func (r *Reconciler) distinct(ctx context.Context, f *facts) error {
	return r.Pools.Distinct(ctx, f.windows, f.interfaces)
}

// holdAddresses makes sure that the pools do not take the addresses back while there may be a VM with them.
func (r *Reconciler) holdAddresses(ctx context.Context, f *facts) error {
	return r.Pools.Hold(ctx, f.windows, f.interfaces)
}

// provision asks the cloud for the VM and stops until it runs.
func (r *Reconciler) provision(ctx context.Context, f *facts) error {
	vm, err := r.ask(ctx, f)
	if vm.Record != nil { // also if the rest failed
		f.windows.Status.SetRecord(*vm.Record)
	}
	if err != nil {
		return vmError(f, err)
	}
	f.vm = &vm
	if inCluster := f.config != nil && f.config.Status.GuestReport != ""; inCluster || vm.Report != "" {
		r.readGuest(f, inCluster)
	}
	switch vm.State {
	case cloud.Running:
		return nil
	case cloud.Stopped:
		return notRunning(f.identity.Name, vm.Why)
	default:
		return phase.WaitFor(reread, infrav1.ProvisioningReason, "VM %s: %s", f.identity.Name, vm.Detail)
	}
}

func vmError(f *facts, err error) error {
	switch notFound := errors.Is(err, cloud.ErrNotFound); {
	case !notFound:
		return f.ofCloud(err)
	case !hadVM(f):
		return noVM(f)
	}
	return phase.Stall(infrav1.VMVanishedReason,
		"VM %s no longer exists, and a machine gets no second VM; delete the Machine or let a MachineHealthCheck do so",
		f.identity.Name)
}

// ask has the cloud make the VM. It only looks if the VM was there once, or if none may be made any more.
func (r *Reconciler) ask(ctx context.Context, f *facts) (cloud.VM, error) {
	m, ctx := r.cloudMachine(f), f.logged(ctx)
	if hadVM(f) || leaving(f) {
		return r.afterwards(ctx, f, m)
	}
	m.UserData = func(ctx context.Context) (cloud.UserData, error) { return r.userData(ctx, f) }
	return f.cloud.Ensure(ctx, m)
}

// remove asks the cloud to remove the VM until nothing is left of it.
func (r *Reconciler) remove(ctx context.Context, f *facts) error {
	left, err := f.cloud.Delete(f.logged(ctx), r.cloudMachine(f))
	if left.Record != nil {
		f.windows.Status.SetRecord(*left.Record)
	}
	if errors.Is(err, cloud.ErrNotFound) {
		r.leave(f, left)
		return nil
	}
	if err != nil {
		return f.ofCloud(err)
	}
	if left.Detail != "" {
		return phase.Poll(infrav1.DeletingReason, "VM %s is being deleted: %s", f.identity.Name, left.Detail)
	}
	return phase.Poll(infrav1.DeletingReason, "VM %s is being deleted", f.identity.Name)
}

// freeAddresses lets the addresses go, now that no VM has them.
func (r *Reconciler) freeAddresses(ctx context.Context, f *facts) error {
	return r.Pools.Free(ctx, f.windows)
}

// noteRemoved writes down that the VM is gone if the Secret is being deleted, too: it waits for that, because a process that is
// killed after both are gone could not ask the cloud again.
func (r *Reconciler) noteRemoved(ctx context.Context, f *facts) error {
	if !f.going {
		return nil
	}
	original := f.windows.DeepCopy()
	metav1.SetMetaDataAnnotation(&f.windows.ObjectMeta, infrav1.RemovedAnnotation, deletionOf(f))
	return r.patch(ctx, f, original)
}

// removed reports whether nothing is left of the VM. What another deletion left, such as in a backup, does not count.
func removed(f *facts) bool { return f.windows.Annotations[infrav1.RemovedAnnotation] == deletionOf(f) }

func deletionOf(f *facts) string { return f.windows.DeletionTimestamp.UTC().Format(time.RFC3339) }

// release lets the object go.
func (r *Reconciler) release(ctx context.Context, f *facts) error {
	original := f.windows.DeepCopy()
	controllerutil.RemoveFinalizer(f.windows, infrav1.MachineFinalizer)
	f.released = true
	r.consoles.dueAt.Delete(f.windows.UID)
	if err := r.patch(ctx, f, original); err != nil {
		return err
	}
	switch log := ctrl.LoggerFrom(ctx).WithValues("vm", f.identity.Name); {
	case f.copied:
		log.Info("Finalizer removed from a machine with the identity of another one")
	case f.mayRemain != "":
		log.Info("Finalizer removed, no VM was deleted", "look", f.mayRemain)
	default:
		log.Info("VM deleted, finalizer removed")
	}
	return nil
}
