package machine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// strayAfter is how long an address must have been deleted before it can be a stray, and how often it is looked at. What is
// restored from a backup comes one object after the other.
const strayAfter = time.Minute

// freeStrays frees addresses that got our finalizer back after we had freed them, which the in-cluster provider can do: it
// writes the list of finalizers as a whole, without a lock, as its cache has it. Their claims no longer lead there.
func (r *Reconciler) freeStrays(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("ipaddress").
		For(&ipamv1.IPAddress{}, builder.WithPredicates(predicate.NewPredicateFuncs(heldAndDeleted))).
		WithOptions(options).
		Complete(reconcile.Func(r.freeStray))
}

func heldAndDeleted(address client.Object) bool {
	return !address.GetDeletionTimestamp().IsZero() && controllerutil.ContainsFinalizer(address, infrav1.AddressFinalizer)
}

// freeStray asks the API server itself only of what looks like a stray. Nobody begins to hold an address that is deleted, and
// the lock tells of one that changed since it was read.
func (r *Reconciler) freeStray(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	address := &ipamv1.IPAddress{}
	if err := r.Client.Get(ctx, request.NamespacedName, address); err != nil || !heldAndDeleted(address) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left := strayAfter - r.Now().Sub(address.DeletionTimestamp.Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	rightly, err := heldByClaim(ctx, r.Client, address)
	if err == nil && !rightly {
		rightly, err = r.usedByMachine(ctx, address)
	}
	if err == nil && !rightly {
		rightly, err = heldByClaim(ctx, r.Secrets, address)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if rightly {
		return ctrl.Result{RequeueAfter: strayAfter}, nil
	}
	if err = r.setFinalizer(ctx, address, controllerutil.RemoveFinalizer); err == nil {
		ctrl.LoggerFrom(ctx).Info("Address freed again", "claim", address.Spec.ClaimRef.Name)
	}
	return phase.Result(client.IgnoreNotFound(err))
}

// heldByClaim says whether the way from a claim that we hold leads to the address, or may.
func heldByClaim(ctx context.Context, reader client.Reader, address *ipamv1.IPAddress) (bool, error) {
	claim := &ipamv1.IPAddressClaim{}
	key := client.ObjectKey{Namespace: address.Namespace, Name: address.Spec.ClaimRef.Name}
	if err := reader.Get(ctx, key, claim); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get ipaddressclaim %s: %w", key.Name, err)
	}
	to := claim.Status.AddressRef.Name
	return controllerutil.ContainsFinalizer(claim, infrav1.AddressFinalizer) && (to == "" || to == address.Name), nil
}

// usedByMachine says whether a machine has the address, whatever became of its claim.
func (r *Reconciler) usedByMachine(ctx context.Context, address *ipamv1.IPAddress) (bool, error) {
	var machines infrav1.WindowsMachineList
	if err := r.Client.List(ctx, &machines, client.InNamespace(address.Namespace)); err != nil {
		return false, fmt.Errorf("list windowsmachines: %w", err)
	}
	wanted, _ := netip.ParseAddr(address.Spec.Address) // nobody has what is none
	has := func(a infrav1.NetworkAddress) bool {
		prefix, err := netip.ParsePrefix(a.Address)
		return err == nil && prefix.Addr() == wanted
	}
	return slices.ContainsFunc(machines.Items, func(m infrav1.WindowsMachine) bool {
		return slices.ContainsFunc(m.Status.Networks, func(n infrav1.MachineNetwork) bool { return slices.ContainsFunc(n.Addresses, has) })
	}), nil
}
