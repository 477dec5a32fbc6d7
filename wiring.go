package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/controllers/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/machine"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
)

// addControllers wires the controllers: no other place knows all rooms by name.
func addControllers(ctx context.Context, mgr ctrl.Manager, flags *managerFlags, wanted map[string]bool) error {
	workload, err := addClusterCache(ctx, mgr, flags)
	if err != nil {
		return err
	}
	if wanted[infrastructureProvider] {
		if err := addMachine(ctx, mgr, flags, workload); err != nil {
			return fmt.Errorf("add windowsmachine controller: %w", err)
		}
	}
	if wanted[bootstrapProvider] {
		if err := addBootstrap(ctx, mgr, flags, workload); err != nil {
			return fmt.Errorf("add windowsbootstrapconfig controller: %w", err)
		}
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return fmt.Errorf("add health check: %w", err)
		}
	}
	return nil
}

func addClusterCache(ctx context.Context, mgr ctrl.Manager, flags *managerFlags) (clustercache.ClusterCache, error) {
	workload, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:     mgr.GetAPIReader(),
		WatchFilterValue: flags.watchFilter,
		Cache:            clustercache.CacheOptions{DefaultTransform: ctrlcache.TransformStripManagedFields()},
		Client: clustercache.ClientOptions{
			QPS: flags.clusterCacheQPS, Burst: flags.clusterCacheBurst, UserAgent: managerName,
			Cache: clustercache.ClientCacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}},
		},
	}, controller.Options{MaxConcurrentReconciles: flags.clusterCacheConcurrency})
	if err != nil {
		return nil, fmt.Errorf("add cluster cache: %w", err)
	}
	return workload, nil
}

func addMachine(ctx context.Context, mgr ctrl.Manager, flags *managerFlags, workload clustercache.ClusterCache) error {
	changed := make(chan cloud.Key, 1024)
	register := &accounts.Register{Changed: changed}
	if err := mgr.Add(register); err != nil {
		return err
	}
	return (&machine.Reconciler{
		Client:      mgr.GetClient(),
		Live:        mgr.GetAPIReader(),
		Workload:    workload,
		Pools:       &addresses.Pools{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: time.Now, WatchFilter: flags.watchFilter},
		VSphere:     vsphere.Provider{},
		Accounts:    register,
		Changed:     changed,
		Events:      mgr.GetEventRecorder("windowsmachine"),
		Now:         time.Now,
		WatchFilter: flags.watchFilter,
		Namespace:   flags.namespace,
	}).SetupWithManager(ctx, mgr, controllerOptions(flags.machineConcurrency))
}

func addBootstrap(ctx context.Context, mgr ctrl.Manager, flags *managerFlags, workload clustercache.ClusterCache) error {
	return (&bootstrap.Reconciler{
		Client:      mgr.GetClient(),
		Live:        mgr.GetAPIReader(),
		Workload:    workload,
		TokenTTL:    flags.tokenTTL,
		Events:      mgr.GetEventRecorder("windowsbootstrapconfig"),
		Now:         time.Now,
		WatchFilter: flags.watchFilter,
	}).SetupWithManager(ctx, mgr, controllerOptions(flags.configConcurrency))
}

// controllerOptions bounds the back-off, so that after an outage of an hour no object waits another quarter of an hour.
func controllerOptions(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](50*time.Millisecond, time.Minute),
	}
}
