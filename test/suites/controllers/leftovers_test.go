package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/world"
)

// TestLeftovers: a test that ends in the middle of a machine's life, with a pool that would replace it, leaves nothing that a
// manager goes on with. Its processes have ended and no cloud is behind it, so nobody lets go of what has a finalizer.
func TestLeftovers(t *testing.T) {
	if shared == nil {
		t.Skip("needs real servers")
	}
	t.Parallel()
	var namespace *world.Namespace
	var joined, booting world.State
	t.Run("a test", func(t *testing.T) {
		s := newStage(t, world.Start{Credentials: password})
		s.start(t)
		namespace = s.Namespace
		_, joined = s.running(t)
		pool := s.createPool(t, s.machine("pool"))
		booting = s.NewMachine(s.machinesOf(t, pool, isOne)[0]).Await(t, "token", world.Tokens(1))
	})
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineList{},
		&infrav1.WindowsMachineList{}, &bootstrapv1.WindowsBootstrapConfigList{}, &corev1.SecretList{},
	} {
		expect.OK(t, shared.Client.List(t.Context(), list, client.InNamespace(namespace.Name)))
		if left := meta.LenList(list); left > 0 {
			t.Errorf("%d objects are left: %T", left, list)
		}
	}
	for _, object := range []client.Object{joined.Node, &booting.Tokens[0]} {
		if err := shared.Client.Get(t.Context(), world.KeyOf(object), object); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("%T %s is left: %v", object, object.GetName(), err)
		}
	}
}
