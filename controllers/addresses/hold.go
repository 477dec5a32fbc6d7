package addresses

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// Hold holds the addresses for as long as there may be a VM with them. An IPAM provider takes an address back as soon as its
// claim is deleted, and that may happen before the VM is deleted: with the namespace, in the foreground, or by hand. An address
// with our finalizer is in use for every provider; the finalizer on the claim lets us find the address again.
func (p *Pools) Hold(ctx context.Context, windows *infrav1.WindowsMachine, interfaces []infrav1.MachineNetworkInterface) error {
	var recorded []infrav1.NetworkAddress
	for _, adapter := range interfaces {
		recorded = append(recorded, adapter.Addresses...)
	}
	for i, claim := range claimsOf(windows, nil) {
		lost, err := p.holdOne(ctx, windows, claim, recorded[i])
		if apierrors.IsNotFound(err) {
			lost, err = takenAway, nil
		}
		if err != nil {
			return err
		}
		if lost != "" {
			return phase.Stall(infrav1.AddressLostReason,
				"address %s of IPAddressClaim %s was %s before the VM was created, but the user data contains it; "+
					"delete the Machine to get a new one",
				recorded[i].Address, claim.Name, lost)
		}
	}
	return nil
}

// How an address, its prefix length or its gateway may be lost before it is held.
const (
	takenAway = "taken away"
	changed   = "changed"
)

// holdOne holds the claim and its address, or returns how the address was lost.
func (p *Pools) holdOne(
	ctx context.Context, windows *infrav1.WindowsMachine, claim *ipamv1.IPAddressClaim, recorded infrav1.NetworkAddress,
) (lost string, err error) {
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return "", fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
	}
	if !metav1.IsControlledBy(claim, windows) || claim.Status.AddressRef.Name == "" {
		return takenAway, nil
	}
	address, err := p.read(ctx, claim)
	if err != nil {
		return "", err
	}
	found, problem := parse(address)
	switch {
	case problem != "":
		return takenAway, nil
	case held(claim) && held(address):
		return "", nil
	case !claim.DeletionTimestamp.IsZero() || !address.DeletionTimestamp.IsZero():
		return takenAway, nil
	case found != recorded:
		return changed, nil
	}
	// In this order the claim exists for as long as its address is held, and leads to it.
	if err := p.setFinalizer(ctx, claim, controllerutil.AddFinalizer); err != nil {
		return "", err
	}
	return "", p.setFinalizer(ctx, address, controllerutil.AddFinalizer)
}

func held(o client.Object) bool { return controllerutil.ContainsFinalizer(o, infrav1.AddressFinalizer) }

// setFinalizer adds or removes our finalizer. The patch needs the lock because it writes the whole list, with the finalizers of
// others in it.
func (p *Pools) setFinalizer(ctx context.Context, o client.Object, set func(client.Object, string) bool) error {
	original, _ := o.DeepCopyObject().(client.Object)
	if !set(o, infrav1.AddressFinalizer) {
		return nil
	}
	if err := p.Client.Patch(ctx, o, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch finalizers of %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// Free frees the addresses once no VM has them. Their provider takes them back when the claims are deleted, together with their
// owner.
func (p *Pools) Free(ctx context.Context, windows *infrav1.WindowsMachine) error {
	return p.freeAll(ctx, claimsOf(windows, nil))
}

func (p *Pools) freeAll(ctx context.Context, claims []*ipamv1.IPAddressClaim) error {
	for _, claim := range claims {
		if err := p.freeOne(ctx, claim); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// freeOne does not check who owns the claim: a restore from backup may have given the machine another UID, and only a machine of
// this name puts our finalizer on a claim of this name.
func (p *Pools) freeOne(ctx context.Context, claim *ipamv1.IPAddressClaim) error {
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
	}
	if !held(claim) {
		return nil // its address is not held either, or is a stray
	}
	address := &ipamv1.IPAddress{}
	name := cmp.Or(claim.Status.AddressRef.Name, claim.Name) // a restore or a move loses the status; providers use the claim's name
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: name}, address)
	if err == nil && (claim.Status.AddressRef.Name != "" || address.Spec.ClaimRef.Name == claim.Name) {
		err = p.setFinalizer(ctx, address, controllerutil.RemoveFinalizer)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("free ipaddress of %s: %w", claim.Name, err)
	}
	return p.setFinalizer(ctx, claim, controllerutil.RemoveFinalizer)
}

// ReadBack returns the adapters of a machine that has its VM and lost its status in a move, because other machines compare their
// MACs with those in it. It claims nothing: only a claim that we hold is sure to have the address that the VM has.
func (p *Pools) ReadBack(ctx context.Context, windows *infrav1.WindowsMachine) ([]infrav1.MachineNetworkInterface, error) {
	if bootstrap.Addressed(windows) {
		return nil, nil
	}
	claims := claimsOf(windows, nil)
	for _, claim := range claims {
		err := p.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
		}
		if assigned := waitsForAddress(windows, claim) == nil; !assigned || !held(claim) {
			return nil, nil // its watch wakes us
		}
	}
	interfaces, err := p.interfaces(ctx, windows, claims)
	return interfaces, phase.Of(err).Err
}
