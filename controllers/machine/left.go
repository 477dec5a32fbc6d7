package machine

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// freeLeft frees the addresses of a machine that went without us: somebody took its finalizer away. Nobody else would free
// them, and claims, addresses and their namespace would never go. Garbage collection deletes the claims, which wakes us.
func (r *Reconciler) freeLeft(ctx context.Context, machine client.ObjectKey) error {
	var claims ipamv1.IPAddressClaimList
	if err := r.Client.List(ctx, &claims, client.InNamespace(machine.Namespace)); err != nil {
		return fmt.Errorf("list ipaddressclaims: %w", err)
	}
	var left []*ipamv1.IPAddressClaim
	for i := range claims.Items {
		if r.isLeft(&claims.Items[i], machine.Name) {
			left = append(left, &claims.Items[i])
		}
	}
	if len(left) == 0 {
		return nil
	}
	if gone, err := r.gone(ctx, machine); err != nil || !gone {
		return err
	}
	return r.freeAll(ctx, left)
}

func (r *Reconciler) freeAll(ctx context.Context, claims []*ipamv1.IPAddressClaim) error {
	for _, claim := range claims {
		if err := r.freeOne(ctx, claim); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// isLeft: a claim that nobody deletes belongs to a machine that is about to be there, after a restore or a move.
func (r *Reconciler) isLeft(claim *ipamv1.IPAddressClaim, machine string) bool {
	owner := metav1.GetControllerOf(claim)
	return owner != nil && owner.Kind == "WindowsMachine" && owner.Name == machine && !claim.DeletionTimestamp.IsZero() &&
		controllerutil.ContainsFinalizer(claim, infrav1.AddressFinalizer) &&
		(r.WatchFilter == "" || labels.HasWatchLabel(claim, r.WatchFilter))
}

// gone asks the API server itself, since a cache may be behind. One of the same name and another UID is there: it has the
// VM when it comes from a backup. To get machines by their names we have no right, and need none.
func (r *Reconciler) gone(ctx context.Context, machine client.ObjectKey) (bool, error) {
	var there infrav1.WindowsMachineList
	err := r.Secrets.List(ctx, &there, client.InNamespace(machine.Namespace), client.MatchingFields{metav1.ObjectNameField: machine.Name})
	if err != nil {
		return false, fmt.Errorf("list windowsmachines: %w", err)
	}
	return len(there.Items) == 0, nil
}
