package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// managementCluster reads the UID of the cluster in which the manager runs, which is that of its namespace kube-system. It stands
// on what the manager makes in a cloud, so that two managers that share a place there know what is whose.
// A manager that may not read it, as one of a single tenant, goes without.
func managementCluster(ctx context.Context, live client.Reader) (types.UID, error) {
	namespace := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace)
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Info("The manager may not read the namespace kube-system: what VMs leave in Azure is removed only if "+
			"the status of its machine has its ID, and reported otherwise", "error", err.Error())
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the UID of the management cluster, which marks what the manager makes: %w", err)
	}
	return namespace.UID, nil
}

// counted is the name of a kind, and what happens beyond the limit.
type counted struct{ name, effect string }

var kinds = map[tenants.Kind]counted{
	tenants.Accounts:   {"accounts at clouds", "machines that need one more get no VM"},
	tenants.Identities: {"AzureClusterIdentities", "machines that name one more get no VM"},
	tenants.Groups:     {"resource groups in an account at Azure", "machines in one more get no VM"},
	tenants.Locations:  {"locations in an account at Azure", "machines in one more get no VM"},
	tenants.Clusters: {
		"connections to workload clusters", "one of them is closed whenever another cluster is reached, which takes time and calls",
	},
	tenants.Guests: {"workload clusters whose guests' reports are read at the same time", "those of other clusters are read later"},
}

// noticesOf publish each notice of these limits as an event in the tenant's namespace, about that namespace.
func noticesOf(limits tenants.Limits, recorder events.EventRecorder) *tenants.Notices {
	return &tenants.Notices{Limits: limits, Publish: func(n tenants.Notice) {
		// The API server takes an event only in the namespace that its object names.
		namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: n.Namespace, Name: n.Namespace}
		related := namespace.DeepCopy()
		related.FieldPath = string(n.Kind) // the recorder takes events that relate to the same object for one
		kind, reason := corev1.EventTypeNormal, infrav1.NamespaceNearLimitReason
		if n.Full {
			kind, reason = corev1.EventTypeWarning, infrav1.NamespaceAtLimitReason
		}
		recorder.Eventf(namespace, related, kind, reason, "Count", "%s", noteOf(n))
	}}
}

func noteOf(n tenants.Notice) string {
	c := kinds[n.Kind]
	return fmt.Sprintf("The namespace has %d %s, of at most %d at a time. Beyond that, %s. Use fewer, or ask the operator to allow "+
		"more by the manager's flag --tenants=%s:%s=N", n.Count, cmp.Or(c.name, string(n.Kind)), n.Limit,
		cmp.Or(c.effect, "others wait"), n.Namespace, n.Kind)
}
