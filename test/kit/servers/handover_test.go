package servers

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// testHandOver: a manager that is told to end gives its lease up, and the one that stands by leads at its next try, although the
// lease has not run out. Both have the times that users get.
func testHandOver(t *testing.T, m *Management) {
	t.Helper()
	times := []string{"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s"}
	timed(t, "our components", func(ctx context.Context) error { return InstallComponents(ctx, m) })
	timed(t, "our managers", func(ctx context.Context) error {
		_, err := StartManagers(ctx, m, times...)
		return err
	})
	api := expect.Got(m.client())(t)
	c, lease := expect.Got(renderComponent(Infrastructure))(t), &coordinationv1.Lease{}
	lease.Namespace, lease.Name = c.deployment.GetNamespace(), "capwin-infrastructure"
	held := func(ctx context.Context, not string) error {
		if err := api.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil {
			return err
		}
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder == "" || holder == not {
			return errors.New("no other manager holds the lease")
		}
		return nil
	}
	wait.Eventually(t, "a manager that leads", func(ctx context.Context) error { return held(ctx, "") })
	first, taken := *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions
	timed(t, "one that stands by", func(ctx context.Context) error { return m.StandBy(ctx, Infrastructure, times...) })
	began := time.Now()
	expect.OK(t, m.Pause(Infrastructure))
	expect.OK(t, api.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder == first {
		t.Error("the manager that has ended still holds the lease")
	}
	wait.Eventually(t, "the other manager leads", func(ctx context.Context) error { return held(ctx, first) })
	expect.Same(t, "times that the lease was taken over", taken+1, *lease.Spec.LeaseTransitions)
	t.Logf("the other manager leads %s after the first one was told to end, of a lease of 15 s",
		time.Since(began).Round(10*time.Millisecond))
}
