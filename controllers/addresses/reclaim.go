package addresses

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
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

// FreeLeft frees the addresses of a machine that is gone because a person removed its finalizer. Without us claims, addresses and
// their namespace would stay for ever. Garbage collection deletes the claims, which wakes us.
func (p *Pools) FreeLeft(ctx context.Context, machine client.ObjectKey) error {
	var claims ipamv1.IPAddressClaimList
	if err := p.Client.List(ctx, &claims, client.InNamespace(machine.Namespace)); err != nil {
		return fmt.Errorf("list ipaddressclaims: %w", err)
	}
	var left []*ipamv1.IPAddressClaim
	for i := range claims.Items {
		if p.isLeft(&claims.Items[i], machine.Name) {
			left = append(left, &claims.Items[i])
		}
	}
	if len(left) == 0 {
		return nil
	}
	if gone, err := p.gone(ctx, machine); !gone {
		return err
	}
	return p.freeAll(ctx, left)
}

// isLeft reports whether a claim of the machine is held and being deleted. If it is not being deleted, its machine is about to be
// there, after a restore or a move.
func (p *Pools) isLeft(claim *ipamv1.IPAddressClaim, machine string) bool {
	owner := metav1.GetControllerOf(claim)
	return owner != nil && owner.Kind == "WindowsMachine" && owner.Name == machine && heldAndDeleted(claim) &&
		(p.WatchFilter == "" || labels.HasWatchLabel(claim, p.WatchFilter))
}

func heldAndDeleted(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() && held(o) }

// gone asks the API server itself because the cache may be behind. A machine of the same name and another UID comes from a
// backup and has the VM. gone lists because our role may list machines but not get them.
func (p *Pools) gone(ctx context.Context, machine client.ObjectKey) (bool, error) {
	var found infrav1.WindowsMachineList
	err := p.Live.List(ctx, &found, client.InNamespace(machine.Namespace),
		client.MatchingFields{metav1.ObjectNameField: machine.Name})
	if err != nil {
		return false, fmt.Errorf("list windowsmachines: %w", err)
	}
	return len(found.Items) == 0, nil
}

// strayAfter is how long an address must be in deletion before it can be a stray, and how often we look at it. A restore from
// backup creates one object after the other.
const strayAfter = time.Minute

// FreeStrays starts a controller that frees addresses which got our finalizer back after we had freed them. The in-cluster
// provider can do that: it writes the whole list of finalizers as its cache has it, without a lock. The claim of such an address
// no longer leads to it.
func (p *Pools) FreeStrays(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("ipaddress").
		For(&ipamv1.IPAddress{}, builder.WithPredicates(predicate.NewPredicateFuncs(heldAndDeleted))).
		WithOptions(options).
		Complete(reconcile.Func(p.freeStray))
}

// freeStray asks the API server itself only about what looks like a stray. An address in deletion is not held anew, and the lock
// of the patch notices if it changed since it was read.
func (p *Pools) freeStray(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	address := &ipamv1.IPAddress{}
	if err := p.Client.Get(ctx, request.NamespacedName, address); !heldAndDeleted(address) { // nor is one that was not read
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := strayAfter - p.Now().Sub(address.DeletionTimestamp.Time); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	inUse, err := p.inUse(ctx, address)
	if err != nil {
		return ctrl.Result{}, err
	}
	if inUse {
		return ctrl.Result{RequeueAfter: strayAfter}, nil
	}
	if err = p.setFinalizer(ctx, address, controllerutil.RemoveFinalizer); err == nil {
		ctrl.LoggerFrom(ctx).Info("Address freed again", "claim", address.Spec.ClaimRef.Name)
	}
	return phase.Result(ctx, client.IgnoreNotFound(err))
}

// inUse reports whether a claim in the cache, a machine, or a claim in the API server has the address.
func (p *Pools) inUse(ctx context.Context, address *ipamv1.IPAddress) (bool, error) {
	if inUse, err := heldByClaim(ctx, p.Client, address); inUse || err != nil {
		return inUse, err
	}
	if inUse, err := p.usedByMachine(ctx, address); inUse || err != nil {
		return inUse, err
	}
	return heldByClaim(ctx, p.Live, address)
}

// heldByClaim reports whether a claim that we hold leads to the address or may lead to it.
func heldByClaim(ctx context.Context, reader client.Reader, address *ipamv1.IPAddress) (bool, error) {
	claim := &ipamv1.IPAddressClaim{}
	key := client.ObjectKey{Namespace: address.Namespace, Name: address.Spec.ClaimRef.Name}
	if err := reader.Get(ctx, key, claim); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get ipaddressclaim %s: %w", key.Name, err)
	}
	target := claim.Status.AddressRef.Name
	return held(claim) && (target == "" || target == address.Name), nil
}

// usedByMachine reports whether a machine has the address, whatever happened to its claim. One in deletion without our finalizer
// has no VM any more: deleted in the foreground, it waits for its claim, and the claim for this address.
func (p *Pools) usedByMachine(ctx context.Context, address *ipamv1.IPAddress) (bool, error) {
	var machines infrav1.WindowsMachineList
	if err := p.Client.List(ctx, &machines, client.InNamespace(address.Namespace)); err != nil {
		return false, fmt.Errorf("list windowsmachines: %w", err)
	}
	wanted, _ := netip.ParseAddr(address.Spec.Address) // no machine has what does not parse
	matches := func(a infrav1.NetworkAddress) bool {
		prefix, err := netip.ParsePrefix(a.Address)
		return err == nil && prefix.Addr() == wanted
	}
	return slices.ContainsFunc(machines.Items, func(windows infrav1.WindowsMachine) bool {
		released := !windows.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(&windows, infrav1.MachineFinalizer)
		return !released && slices.ContainsFunc(windows.Status.NetworkInterfaces, func(n infrav1.MachineNetworkInterface) bool {
			return slices.ContainsFunc(n.Addresses, matches)
		})
	}), nil
}
