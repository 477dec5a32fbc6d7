package bootstrap

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// A workload cluster that answers wakes the configs whose user data is not made, and those with a token there.
func TestWaitsForTheCluster(t *testing.T) {
	made, fresh := &bootstrapv1.WindowsBootstrapConfig{}, &bootstrapv1.WindowsBootstrapConfig{}
	made.Status.Initialization.DataSecretCreated = new(true)
	token := made.DeepCopy()
	token.Finalizers = []string{bootstrapv1.ConfigFinalizer}
	others := fresh.DeepCopy()
	others.Labels = map[string]string{clusterv1.WatchLabel: "others"}
	filtered, all := &Reconciler{WatchFilter: "ours"}, &Reconciler{}
	expect.Same(t, "a config without user data", true, all.waits(fresh))
	expect.Same(t, "a config with it", false, all.waits(made))
	expect.Same(t, "a config with a token", true, all.waits(token))
	expect.Same(t, "another manager's", false, filtered.waits(others))
	expect.Same(t, "another kind", false, all.waits(&clusterv1.Machine{}))
}
