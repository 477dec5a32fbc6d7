package bootstrap

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// A Machine and its WindowsMachine wake the Machine's config, and what belongs to none of ours wakes nothing.
func TestWhatWakesAConfig(t *testing.T) {
	r := newRoom(t)
	wakes := []ctrl.Request{{NamespacedName: roomKey}}
	expect.Same(t, "a Machine", wakes, ofMachine(t.Context(), r.machine))
	expect.Same(t, "a WindowsMachine", wakes, r.ofWindowsMachine(t.Context(), r.windows))
	var none []ctrl.Request
	expect.Same(t, "another object", none, ofMachine(t.Context(), &corev1.Secret{}))
	expect.Same(t, "another object", none, r.ofWindowsMachine(t.Context(), &corev1.Secret{}))
	other := r.machine.DeepCopy()
	other.Spec.Bootstrap.ConfigRef.Kind = "KubeadmConfig"
	expect.Same(t, "a Machine of another bootstrap provider", none, ofMachine(t.Context(), other))
	lonely := r.windows.DeepCopy()
	lonely.OwnerReferences = nil
	expect.Same(t, "a WindowsMachine without a Machine", none, r.ofWindowsMachine(t.Context(), lonely))
	r.once(0, errRoom)
	expect.Same(t, "a WindowsMachine whose Machine cannot be read", none, r.ofWindowsMachine(t.Context(), r.windows))
}

// The token of a cluster out of reach is looked at every 5 seconds, and the sentences say what waits for it.
func TestTokenInAnUnreachableCluster(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	roomChange(t, r, r.management, r.machine, func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = new("m") })
	r.unreachable = &workload.UnreachableError{Why: "is away"}
	f, err := r.load(t.Context(), roomKey)
	expect.OK(t, err)
	expect.Same(t, "extending", "WorkloadUnreachable: the API server of Cluster prod is away; the node's bootstrap token cannot be "+
		"created or extended until then", reachStop(t.Context(), f, r.next(t.Context(), f)).Error())
	result, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the next look", 5*time.Second, result.RequeueAfter)
	r.deleted(t)
	r.clock = r.now(t).DeletionTimestamp.Time
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "removing", "the API server of Cluster prod is away; the config is deleted once its node's objects there are "+
		"removed or its token has expired", conditions.GetMessage(r.now(t), bootstrapv1.ReadyCondition))
}

// What is not needed is not called: the status of an object that was released, the WindowsMachine of another kind's machine.
func TestNeedlessCalls(t *testing.T) {
	r := newRoom(t)
	r.made(t)
	r.deleted(t)
	_, err := r.look(t)
	expect.OK(t, err)
	expect.Same(t, "the last call of a life", "management patch WindowsBootstrapConfig", r.calls[len(r.calls)-1])
	r = newRoom(t, func(r *room) { r.machine.Spec.InfrastructureRef.Kind = "DockerMachine" })
	_, err = r.look(t)
	expect.OK(t, err)
	expect.Same(t, "reads of a WindowsMachine", false, slices.ContainsFunc(r.calls, func(call string) bool {
		return strings.HasSuffix(call, "get WindowsMachine")
	}))
}
