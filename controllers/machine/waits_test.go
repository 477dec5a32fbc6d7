package machine

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// A workload cluster that answers wakes the machines without a VM that this manager looks after.
func TestWaitsForTheCluster(t *testing.T) {
	made, fresh := &infrav1.WindowsMachine{}, &infrav1.WindowsMachine{}
	made.Status.Initialization.Provisioned = new(true)
	others := fresh.DeepCopy()
	others.Labels = map[string]string{clusterv1.WatchLabel: "others"}
	filtered, all := &Reconciler{WatchFilter: "ours"}, &Reconciler{}
	expect.Same(t, "a machine without a VM", true, all.waits(fresh))
	expect.Same(t, "a machine with one", false, all.waits(made))
	ours := fresh.DeepCopy()
	ours.Labels = map[string]string{clusterv1.WatchLabel: "ours"}
	expect.Same(t, "this manager's", true, filtered.waits(ours))
	expect.Same(t, "another manager's", false, filtered.waits(others))
	expect.Same(t, "no filter", true, all.waits(others))
	expect.Same(t, "another kind", false, all.waits(&clusterv1.Machine{}))
}
