package machine

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// endsWithAddresses passes all events of a WindowsMachine but the end of one that leaves no addresses behind.
func endsWithAddresses() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		windows, ok := e.Object.(*infrav1.WindowsMachine)
		return !ok || usesPools(windows)
	}}
}

func usesPools(windows *infrav1.WindowsMachine) bool {
	vm := windows.Spec.VSphere
	return vm != nil && slices.ContainsFunc(vm.NetworkInterfaces, func(adapter infrav1.VSphereNetworkInterface) bool {
		return len(adapter.AddressesFromPools) > 0
	})
}

// wakeOfMachine wakes the WindowsMachine of a Machine if it is there: one that is not is gone, or will be woken when it comes.
func wakeOfMachine(c client.Reader) handler.EventHandler {
	find := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("WindowsMachine"))
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return slices.DeleteFunc(find(ctx, o), func(r reconcile.Request) bool {
			return apierrors.IsNotFound(c.Get(ctx, r.NamespacedName, &infrav1.WindowsMachine{}))
		})
	})
}

// needsLook passes all events of a Machine but those of one that is being deleted and has its VM: the WindowsMachine goes on as
// it was until it is deleted itself. One without a VM must know that it gets none.
func needsLook() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		machine, ok := e.ObjectNew.(*clusterv1.Machine)
		return !ok || machine.DeletionTimestamp.IsZero() || !ptr.Deref(machine.Status.Initialization.InfrastructureProvisioned, false)
	}}
}
