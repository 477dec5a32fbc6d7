package bootstrap

import (
	"context"
	"errors"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// TestRenderingsAreFew: however many configs there are, only as many are rendered at a time as have a place, and a place is free
// again after each.
func TestRenderingsAreFew(t *testing.T) {
	f := &facts{
		cluster: &clusterv1.Cluster{}, machine: &clusterv1.Machine{}, windows: &infrav1.WindowsMachine{},
		config: &bootstrapv1.WindowsBootstrapConfig{},
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range cap(renderings) {
		renderings <- struct{}{}
	}
	if _, err := render(over, f, "t", time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("render without a place = %v, want the end of the wait", err)
	}
	for range cap(renderings) {
		<-renderings
	}
	for range 2 * cap(renderings) {
		if _, err := render(t.Context(), f, "t", time.Time{}); err == nil || errors.Is(err, context.Canceled) {
			t.Fatalf("render of a config that has nothing = %v, want what it lacks", err)
		}
	}
	if len(renderings) != 0 {
		t.Errorf("%d places are taken after all renderings", len(renderings))
	}
}

// A process that ends before the user data are rendered writes none.
func TestEndWhileRendering(t *testing.T) {
	r := newRoom(t)
	ctx, end := context.WithCancel(t.Context())
	r.fail = func(call string) error {
		if call == "workload create Secret" {
			for range cap(renderings) {
				renderings <- struct{}{}
			}
			end()
		}
		return nil
	}
	_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: roomKey})
	for range cap(renderings) {
		<-renderings
	}
	expect.Says(t, "the queue", err, "wait to render user data: context canceled")
	expect.Same(t, "user data", true, r.data(t) == nil)
}
