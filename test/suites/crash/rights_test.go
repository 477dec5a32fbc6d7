package crash

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// rightsEffects are all that is written for a Cluster whose nodes need all rights: they are its life, and no machine's.
var rightsEffects = []string{
	"workload POST clusterroles #1", "workload POST clusterrolebindings #1",
	"workload POST clusterroles #2", "workload POST clusterrolebindings #2",
}

// TestCrashOfRights kills the process before and after each effect of what is kept in a workload cluster as a whole. The next one
// comes to the same end, and the machine that waits for it goes on.
func TestCrashOfRights(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	at := place{Namespace: shared.Namespace(t, world.Start{Workload: shared.Apart(t)}), vcenter: vcenter.New(t)}
	for _, effect := range rightsEffects {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(effect, " ", after), func(t *testing.T) {
				at.removeRights(t)
				r := begin(t, at, false, world.Plan{Effect: effect, After: after})
				r.machine.Config.Spec.Network = bootstrapv1.Network{Mode: bootstrapv1.NetworkOverlay, CNI: bootstrapv1.CNIFlannel}
				r.claimed(t)
				r.machine.Await(t, "running VM", world.Windows("Ready True Running"))
				at.awaitRights(t)
				expect.Same(t, "the process was killed", true, r.Hit())
				r.machine.End(t)
			})
		}
	}
	at.removeRights(t)
}

func (p place) removeRights(t *testing.T) {
	t.Helper()
	for _, role := range nodes.Roles() {
		for _, object := range role.Objects() {
			expect.OK(t, client.IgnoreNotFound(p.Workload.Client.Delete(t.Context(), object.DeepCopy())))
		}
	}
}

func (p place) awaitRights(t *testing.T) {
	t.Helper()
	wait.Eventually(t, "the rights", func(ctx context.Context) error {
		for _, role := range nodes.Roles() {
			granted, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
			for _, o := range []client.Object{granted, binding} {
				if err := p.Workload.Client.Get(ctx, client.ObjectKey{Name: string(role)}, o); err != nil {
					return err
				}
			}
			if len(granted.Rules) == 0 || binding.RoleRef.Name != string(role) {
				return fmt.Errorf("the role %s has %d rules, and what is bound is %s", role, len(granted.Rules), binding.RoleRef.Name)
			}
		}
		return nil
	})
}
