package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/controllers/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/machine"
	"github.com/capwin/cluster-api-provider-windows/controllers/orphans"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/metrics"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/wake"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// addControllers wires the controllers. No other place names all rooms.
func addControllers(ctx context.Context, mgr ctrl.Manager, flags *managerFlags, wanted map[string]bool) error {
	limits, err := flags.limits()
	if err != nil {
		return err
	}
	clusters := &workload.Clusters{
		Live: mgr.GetAPIReader(), QPS: flags.workloadQPS, Burst: flags.workloadBurst, UserAgent: managerName,
		Limits: limits, Notices: noticesOf(limits, mgr.GetEventRecorder("tenants")), Bytes: &tenants.Bytes{Limits: limits},
	}
	if err := mgr.Add(clusters); err != nil {
		return fmt.Errorf("add workload clusters: %w", err)
	}
	if wanted[infrastructureProvider] {
		if err := addMachine(ctx, mgr, flags, clusters); err != nil {
			return fmt.Errorf("add windowsmachine controller: %w", err)
		}
	}
	if wanted[bootstrapProvider] {
		if err := addBootstrap(ctx, mgr, flags, clusters); err != nil {
			return fmt.Errorf("add windowsbootstrapconfig controller: %w", err)
		}
	}
	ready := filled(mgr.GetCache())
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", ready)); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	return nil
}

// cacheWait is shorter than the second that a kubelet waits for an answer.
const cacheWait = 500 * time.Millisecond

// filled is true once each cache that a controller has asked for has what is there. A manager that does not lead has none, and is
// ready to lead.
func filled(caches cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), cacheWait)
		defer cancel()
		if !caches.WaitForCacheSync(ctx) {
			return errors.New("the API server has not listed all objects to the manager's caches yet")
		}
		return nil
	}
}

// registry has all clouds. A further one needs no change in the code that they share.
func registry(inVSphere vsphere.Provider, inAzure azure.Provider) cloud.Registry {
	return cloud.Registry{vsphere.Registration(inVSphere), azure.Registration(inAzure)}
}

func addMachine(ctx context.Context, mgr ctrl.Manager, flags *managerFlags, clusters *workload.Clusters) error {
	provider, err := flags.azure()
	if err != nil {
		return err
	}
	if provider.Manager, err = managementCluster(ctx, mgr.GetAPIReader()); err != nil {
		return err
	}
	provider.Bounds, provider.Limits, provider.Notices = azure.NewBounds(clusters.Bytes), clusters.Limits, clusters.Notices
	changed := &wake.Pacer{Namespace: flags.namespace}
	register := &accounts.Register{Changed: changed.Wake, Limits: clusters.Limits, Notices: clusters.Notices}
	recorder := mgr.GetEventRecorder("windowsmachine")
	lookout := &orphans.Lookout{
		Client: mgr.GetClient(), Accounts: register, Events: recorder, Count: metrics.Orphans,
		Now: time.Now, WatchFilter: flags.watchFilter,
	}
	identityKeeper := &identities.Keeper{Live: mgr.GetAPIReader(), Limits: clusters.Limits, Notices: clusters.Notices}
	ears := &guests.Ears{
		GetClient: clusters.GetClient, Heard: changed.Wake, Limits: clusters.Limits, Notices: clusters.Notices, Bytes: clusters.Bytes,
	}
	if err := errors.Join(mgr.Add(register), mgr.Add(lookout), mgr.Add(identityKeeper), mgr.Add(ears)); err != nil {
		return err
	}
	census := machine.Census{Client: mgr.GetClient(), Elected: mgr.Elected(), Now: time.Now, WatchFilter: flags.watchFilter}
	if err := errors.Join(metrics.Add(register), metrics.Add(census)); err != nil {
		return fmt.Errorf("add metrics: %w", err)
	}
	policies, err := addPolicies(mgr, flags, clusters, recorder)
	if err != nil {
		return fmt.Errorf("add the controller of policies in workload clusters: %w", err)
	}
	direct := caches.Direct{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}
	return (&machine.Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Workload: clusters,
		Pools:    &addresses.Pools{Client: direct, Live: mgr.GetAPIReader(), Now: time.Now, WatchFilter: flags.watchFilter},
		Policies: policies,
		Clouds:   registry(vsphere.Provider{Kept: clusters.Bytes}, provider),
		Credentials: &credentials.Keeper{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder, WatchFilter: flags.watchFilter,
		},
		Identities: identityKeeper,
		Held: &credentials.Keeper{
			Kind: identities.Kind, Read: identityKeeper.Read,
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder, WatchFilter: flags.watchFilter,
		},
		Accounts:    register,
		Changed:     changed,
		Ears:        ears,
		Events:      recorder,
		Now:         time.Now,
		WatchFilter: flags.watchFilter,
		Manager:     provider.Manager,
		TookOver:    flags.tookOver(),
	}).SetupWithManager(ctx, mgr, controllerOptions(flags.machineConcurrency))
}

// addPolicies has the reconciler of Clusters look after what the infrastructure provider keeps in workload clusters.
func addPolicies(
	mgr ctrl.Manager, flags *managerFlags, clusters *workload.Clusters, recorder events.EventRecorder,
) (*cluster.Reconciler, error) {
	reconciler := &cluster.Reconciler{
		Name: "clusterpolicies", Client: mgr.GetClient(), Workload: clusters,
		Keeps: func() []cluster.Keep {
			policies := &cluster.Policies{Lists: clusters}
			return []cluster.Keep{policies, &cluster.Findings{Policies: policies, Count: metrics.Placements}}
		},
		Object: &infrav1.WindowsMachine{}, List: &infrav1.WindowsMachineList{},
		Events: recorder, Now: time.Now, WatchFilter: flags.watchFilter, Bytes: clusters.Bytes,
	}
	return reconciler, reconciler.SetupWithManager(mgr, controllerOptions(0))
}

func addBootstrap(ctx context.Context, mgr ctrl.Manager, flags *managerFlags, clusters *workload.Clusters) error {
	recorder := mgr.GetEventRecorder("windowsbootstrapconfig")
	rights := &cluster.Reconciler{
		Name: "clusterrights", Client: mgr.GetClient(), Workload: clusters,
		Keeps: func() []cluster.Keep {
			return []cluster.Keep{&cluster.NodeRights{Live: mgr.GetAPIReader()}, &cluster.GuestRights{}}
		},
		Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{},
		Events: recorder, Now: time.Now, WatchFilter: flags.watchFilter,
	}
	if err := rights.SetupWithManager(mgr, controllerOptions(0)); err != nil {
		return fmt.Errorf("add the controller of rights in workload clusters: %w", err)
	}
	return (&bootstrap.Reconciler{
		Client:       mgr.GetClient(),
		Live:         mgr.GetAPIReader(),
		Workload:     clusters,
		Linux:        clusters,
		Rights:       rights,
		Clouds:       registry(vsphere.Provider{}, azure.Provider{}),
		GuestReports: true,
		TokenTTL:     flags.tokenTTL,
		TrustSecret:  time.Minute,
		Events:       recorder,
		Now:          time.Now,
		WatchFilter:  flags.watchFilter,
	}).SetupWithManager(ctx, mgr, controllerOptions(flags.configConcurrency))
}

// longestPass ends a reconcile whose call is never answered, as of an API server behind a proxy that has lost it. The slowest
// pass of a cloud has a login and three more calls, each with a limit of its own: a shorter time would end what goes on.
const longestPass = 2 * time.Minute

// controllerOptions bounds a pass, and the back-off, so that after an outage of an hour no object waits another quarter of an
// hour.
func controllerOptions(concurrency int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		ReconciliationTimeout:   longestPass,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](50*time.Millisecond, time.Minute),
	}
}
