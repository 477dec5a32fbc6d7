package health

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// clusterAPI are Cluster API's own reconcilers with the defaults of its manager (core/main.go), by the kind that each looks
// after. They must be set up outside of a bubble: two keep a cache that a goroutine sweeps for as long as the process lives.
func clusterAPI(t *testing.T, management, workload client.Client) map[string]reconcile.Reconciler {
	t.Helper()
	mgr := newUnstarted(t, management)
	expect.OK(t, index.AddDefaultIndexes(t.Context(), mgr))
	reached := connected{clustercache.NewFakeClusterCache(workload, clusterKey,
		"machine-watchNodes", "machinehealthcheck-watchClusterNodes")}
	machines := &machine.Reconciler{
		Client: management, APIReader: management, ClusterCache: reached, RemoteConditionsGracePeriod: 5 * time.Minute,
	}
	machineSets := &machineset.Reconciler{
		Client: management, APIReader: management, ClusterCache: reached,
		PreflightChecks: sets.New(clusterv1.MachineSetPreflightCheckAll),
	}
	deployments := &machinedeployment.Reconciler{Client: management, APIReader: management}
	checks := &machinehealthcheck.Reconciler{Client: management, ClusterCache: reached}
	for _, r := range []interface {
		SetupWithManager(context.Context, ctrl.Manager, controller.Options) error
	}{machines, machineSets, deployments, checks} {
		expect.OK(t, r.SetupWithManager(t.Context(), mgr, controller.Options{}))
	}
	return map[string]reconcile.Reconciler{
		machineKind: machines, machineSetKind: machineSets, deploymentKind: deployments, healthCheckKind: checks,
	}
}

// connected is a workload cluster that answers always: the one of Cluster API's tests was asked once, when it was made.
type connected struct{ clustercache.ClusterCache }

// GetHealthCheckingState says that the cluster has just answered.
func (connected) GetHealthCheckingState(context.Context, client.ObjectKey) clustercache.HealthCheckingState {
	return clustercache.HealthCheckingState{LastProbeTime: time.Now(), LastProbeSuccessTime: time.Now()}
}
