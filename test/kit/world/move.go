package world

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// KeyOf is the name of an object.
func KeyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// Move makes the machine's objects anew, as `clusterctl move` does in another management cluster: with what was in their
// metadata and spec, without their status, and with other UIDs. The Cluster must be paused.
func (m *Machine) Move(t *testing.T) State {
	t.Helper()
	old := m.MoveWithoutData(t)
	renew(old.Data, *metav1.NewControllerRef(old.Config, bootstrapv1.GroupVersion.WithKind("WindowsBootstrapConfig")))
	m.create(t, old.Data)
	return old
}

// MoveWithoutData makes the machine's objects anew, but not its bootstrap Secret, as a restore of a backup without Secrets does.
func (m *Machine) MoveWithoutData(t *testing.T) State {
	t.Helper()
	old := m.Load(t)
	for _, object := range []client.Object{
		old.Data, old.Config, old.Windows, old.Core,
	} { // an owner last: garbage collection is quick
		m.remove(t, object)
	}
	renew(old.Core)
	m.create(t, old.Core)
	owner := *metav1.NewControllerRef(old.Core, clusterv1.GroupVersion.WithKind("Machine"))
	for _, object := range []client.Object{old.Windows, old.Config} {
		renew(object, owner)
		m.create(t, object)
	}
	m.Core = old.Core
	return old
}

// remove takes an object away so that no controller acts on it.
func (m *Machine) remove(t *testing.T, object client.Object) {
	t.Helper()
	api := m.namespace.Client
	gone, _ := object.DeepCopyObject().(client.Object)
	Change(t, api, gone, func(o client.Object) { o.SetFinalizers(nil) })
	expect.OK(t, client.IgnoreNotFound(api.Delete(t.Context(), gone, client.PropagationPolicy(metav1.DeletePropagationOrphan))))
	wait.Eventually(t, "removal", func(ctx context.Context) error {
		err := api.Get(ctx, KeyOf(object), gone)
		if err == nil {
			// Without its own finalizer the garbage collector would delete what the object owns, and not orphan it.
			gone.SetFinalizers(slices.DeleteFunc(gone.GetFinalizers(), func(finalizer string) bool {
				return finalizer != metav1.FinalizerOrphanDependents
			}))
			err = errors.Join(errors.New("it is there"), client.IgnoreNotFound(api.Update(ctx, gone)))
		}
		return client.IgnoreNotFound(err)
	})
}

// renew lets the API server give an object another identity.
func renew(object client.Object, owners ...metav1.OwnerReference) {
	object.SetResourceVersion("")
	object.SetUID("")
	object.SetOwnerReferences(owners)
	object.SetManagedFields(nil)
}
