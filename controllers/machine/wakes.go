package machine

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
)

// endsWithAddresses passes all events of a WindowsMachine but the end of one that leaves no addresses behind.
func endsWithAddresses() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		windows, ok := e.Object.(*infrav1.WindowsMachine)
		return !ok || addresses.Pooled(windows)
	}}
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

// configs wakes a machine when a condition of its config changes that the machine repeats. The CRD of configs may come later than
// this manager, or never.
func (r *Reconciler) configs(mgr ctrl.Manager) source.Source {
	gvk := bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")
	configs := source.Kind(mgr.GetCache(), &bootstrapv1.WindowsBootstrapConfig{},
		handler.TypedEnqueueRequestsFromMapFunc(r.ofConfig), newWords())
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		go func() {
			isServed := func(context.Context) (bool, error) {
				_, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
				return err == nil, nil
			}
			if wait.PollUntilContextCancel(ctx, reread, true, isServed) != nil {
				return // the manager ends
			}
			if err := configs.Start(ctx, queue); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Configs cannot be watched")
			}
		}()
		return nil
	})
}

// ofConfig finds the WindowsMachine of a config's Machine.
func (r *Reconciler) ofConfig(ctx context.Context, config *bootstrapv1.WindowsBootstrapConfig) []ctrl.Request {
	found, err := owner.Of(ctx, r.Client, config)
	if err != nil || found.Machine == nil {
		return nil
	}
	return util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("WindowsMachine"))(ctx, found.Machine)
}

// newWords passes a config whose reason for having no user data has changed.
func newWords() predicate.TypedPredicate[*bootstrapv1.WindowsBootstrapConfig] {
	type config = *bootstrapv1.WindowsBootstrapConfig
	return predicate.TypedFuncs[config]{
		CreateFunc: func(e event.TypedCreateEvent[config]) bool { return wordsOf(e.Object) != "" },
		UpdateFunc: func(e event.TypedUpdateEvent[config]) bool { return wordsOf(e.ObjectOld) != wordsOf(e.ObjectNew) },
		DeleteFunc: func(event.TypedDeleteEvent[config]) bool { return false },
	}
}

// wordsOf are what a machine repeats of its config's condition, or nothing.
func wordsOf(config *bootstrapv1.WindowsBootstrapConfig) string {
	data := conditions.Get(config, bootstrapv1.DataSecretAvailableCondition)
	if data == nil || data.Status != metav1.ConditionFalse || waitsForUs[data.Reason] {
		return ""
	}
	return fmt.Sprintf("%s: %s, %t", data.Reason, data.Message, conditions.IsTrue(config, bootstrapv1.StalledCondition))
}
