package machine

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// whileHeld is how often an address that is deleted and held is looked at.
const whileHeld = 10 * time.Second

// freeStrays frees addresses that got our finalizer back after we had freed them, which the in-cluster provider can do: it
// writes the list of finalizers as a whole, without a lock, as its cache has it. Their claims no longer lead there.
func (r *Reconciler) freeStrays(mgr ctrl.Manager, options controller.Options) error {
	held := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return !o.GetDeletionTimestamp().IsZero() && controllerutil.ContainsFinalizer(o, infrav1.AddressFinalizer)
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("ipaddress").
		For(&ipamv1.IPAddress{}, builder.OnlyMetadata, builder.WithPredicates(held)).
		WithOptions(options).
		Complete(reconcile.Func(r.freeStray))
}

// freeStray reads the address before the claim: one that was held rightly when it was read has a claim with our finalizer,
// or was freed since, which the lock tells.
func (r *Reconciler) freeStray(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	address := &ipamv1.IPAddress{}
	if err := r.Secrets.Get(ctx, request.NamespacedName, address); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if address.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(address, infrav1.AddressFinalizer) {
		return ctrl.Result{}, nil
	}
	claim := &ipamv1.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: address.Namespace, Name: address.Spec.ClaimRef.Name}}
	if err := r.Secrets.Get(ctx, client.ObjectKeyFromObject(claim), claim); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get ipaddressclaim %s: %w", claim.Name, err)
	}
	if controllerutil.ContainsFinalizer(claim, infrav1.AddressFinalizer) {
		return ctrl.Result{RequeueAfter: whileHeld}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Address freed again", "claim", claim.Name)
	return phase.Fail(client.IgnoreNotFound(r.setFinalizer(ctx, address, controllerutil.RemoveFinalizer))).Result()
}
