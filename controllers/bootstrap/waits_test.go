package bootstrap

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// What is about to come with a new config is not told at once, but looked for when Cluster API has had its time.
func TestWhatANewConfigWaitsFor(t *testing.T) {
	for name, take := range map[string]func(*room){
		"owner":          func(r *room) { r.config.OwnerReferences = nil },
		"WindowsMachine": func(r *room) { r.windows.Spec.ProviderID = "" },
	} {
		r := newRoom(t, take, func(r *room) { r.config.CreationTimestamp = metav1.NewTime(roomStart.Add(-2 * time.Second)) })
		result, err := r.look(t)
		expect.OK(t, err)
		expect.Same(t, name+": the next look", 28*time.Second, result.RequeueAfter)
		expect.Same(t, name+": conditions", 0, len(r.now(t).Status.Conditions))
		r.clock = roomStart.Add(28 * time.Second)
		_, err = r.look(t)
		expect.OK(t, err)
		if ready := conditions.Get(r.now(t), bootstrapv1.ReadyCondition); ready == nil {
			t.Errorf("%s: nothing is told after 30 s", name)
		}
	}
}

// TestOwnedLate: a config whose owner took longer has its status written once, when its machine has an identity; and after a
// moment if that does not come.
func TestOwnedLate(t *testing.T) {
	r := newRoom(t, func(r *room) { r.config.OwnerReferences, r.windows.Spec.ProviderID = nil, "" })
	reason := func() string {
		_, err := r.look(t)
		expect.OK(t, err)
		return conditions.GetReason(r.now(t), bootstrapv1.ReadyCondition)
	}
	expect.Same(t, "without an owner", bootstrapv1.WaitingForOwnerReason, reason())
	roomChange(t, r, r.management, r.config, func(c *bootstrapv1.WindowsBootstrapConfig) {
		c.OwnerReferences = r.windows.OwnerReferences
	})
	expect.Same(t, "with one", bootstrapv1.WaitingForOwnerReason, reason())
	r.clock = r.clock.Add(arrival - time.Second)
	expect.Same(t, "a moment later", bootstrapv1.WaitingForOwnerReason, reason())
	r.clock = r.clock.Add(time.Second)
	expect.Same(t, "after that", bootstrapv1.WaitingForMachineIdentityReason, reason())
}

// What needs more than a moment is told of a new config, too.
func TestWhatANewConfigTellsAtOnce(t *testing.T) {
	r := newRoom(t, func(r *room) {
		r.config.CreationTimestamp, r.cluster.Spec.ControlPlaneEndpoint.Host = metav1.NewTime(roomStart), ""
	})
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look", ctrl.Result{}, result)
	expect.Same(t, "Ready", "WaitingForControlPlane", conditions.GetReason(r.now(t), bootstrapv1.ReadyCondition))
}
