package manager

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	cliflag "k8s.io/component-base/cli/flag"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	capiflags "sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/clouds"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

const managerName = "capwin-manager"

// The providers that --controllers names: the same binary is deployed once for each of them.
const (
	infrastructureProvider = "infrastructure"
	bootstrapProvider      = "bootstrap"
)

// managerFlags are the flags that Cluster API's own managers have, plus --controllers.
type managerFlags struct {
	version     bool
	logs        *logsv1.LoggingConfiguration
	diagnostics capiflags.ManagerOptions

	controllers []string
	namespace   string
	watchFilter string
	healthAddr  string
	syncPeriod  time.Duration
	qps         float32
	burst       int

	profilerAddress string
	contention      bool

	leaderElect   bool
	leaseSpace    string
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration

	machineConcurrency int
	configConcurrency  int
	workloadQPS        float32
	workloadBurst      int
	tokenTTL           time.Duration

	tookOverFrom []string
	tenants      []string

	azureClouds     string
	azureCloud      string
	azureNamespaces []string
	azureIdentities []string
}

func newFlags(fs *pflag.FlagSet) *managerFlags {
	f := &managerFlags{logs: logsv1.NewLoggingConfiguration()}
	fs.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	f.addLogFlags(fs)
	capiflags.AddManagerOptions(fs, &f.diagnostics)
	feature.MutableGates.AddFlag(fs)
	fs.AddGoFlagSet(flag.CommandLine) // --kubeconfig
	fs.BoolVar(&f.version, "version", false, "Print the version and exit.")
	fs.StringSliceVar(&f.controllers, "controllers", []string{infrastructureProvider, bootstrapProvider},
		"Providers to run: infrastructure, bootstrap, or both.")
	fs.StringVar(&f.namespace, "namespace", "", "Namespace of the objects to reconcile; empty means all.")
	fs.StringVar(&f.watchFilter, "watch-filter", "",
		"Value of the label cluster.x-k8s.io/watch-filter of the objects to reconcile; empty means all.")
	fs.StringVar(&f.healthAddr, "health-addr", ":9440", "Address of /healthz and /readyz.")
	fs.DurationVar(&f.syncPeriod, "sync-period", 10*time.Minute,
		"How often every object is reconciled even if nothing changed.")
	fs.Float32Var(&f.qps, "kube-api-qps", 100, "Maximum queries per second to the management cluster.")
	fs.IntVar(&f.burst, "kube-api-burst", 200, "Maximum queries in one burst to the management cluster.")
	f.addProfilerFlags(fs)
	f.addLeaderFlags(fs)
	f.addControllerFlags(fs)
	f.addAzureFlags(fs)
	return f
}

// addLogFlags hides the flags that need Kubernetes' gate LoggingAlphaOptions, which a manager cannot switch on.
func (f *managerFlags) addLogFlags(fs *pflag.FlagSet) {
	logsv1.AddFlags(f.logs, fs)
	fs.VisitAll(func(flag *pflag.Flag) { flag.Hidden = strings.HasPrefix(flag.Usage, "[Alpha]") })
}

// addProfilerFlags adds those of Cluster API's managers.
func (f *managerFlags) addProfilerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.profilerAddress, "profiler-address", "",
		"Address of the profiler, such as localhost:6060; empty means none. It needs no login, so it must be a loopback address.")
	fs.BoolVar(&f.contention, "contention-profiling", false, "Also profile where goroutines wait for each other.")
}

func (f *managerFlags) addLeaderFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&f.leaderElect, "leader-elect", false, "Let only one of several managers be active.")
	// The Deployment sets the variable.
	fs.StringVar(&f.leaseSpace, "leader-elect-namespace", os.Getenv("POD_NAMESPACE"),
		"Namespace of the lease of the active manager; needed with --leader-elect outside of a cluster.")
	fs.DurationVar(&f.leaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"How long the other managers wait before one of them takes over.")
	fs.DurationVar(&f.renewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"How long the active manager tries to renew its lease before it gives up.")
	fs.DurationVar(&f.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How long a manager waits between tries.")
}

func (f *managerFlags) addControllerFlags(fs *pflag.FlagSet) {
	fs.IntVar(&f.machineConcurrency, "windowsmachine-concurrency", 100, "WindowsMachines reconciled at the same time.")
	fs.IntVar(&f.configConcurrency, "windowsbootstrapconfig-concurrency", 100,
		"WindowsBootstrapConfigs reconciled at the same time.")
	fs.Float32Var(&f.workloadQPS, "workload-api-qps", 20, "Maximum queries per second to one workload cluster.")
	fs.IntVar(&f.workloadBurst, "workload-api-burst", 30, "Maximum queries in one burst to one workload cluster.")
	fs.StringSliceVar(&f.tookOverFrom, "took-over-from", nil,
		"UIDs of management clusters whose machines this one has taken over: a VM that one of them made belongs to the machine "+
			"whose name is written on it, even without the bootstrap Secret that proves it; empty means none.")
	fs.StringArrayVar(&f.tenants, "tenants", nil,
		"Entries NAMESPACE:accounts=N,clusters=N,identities=N,guests=N,groups=N,locations=N: how many accounts at clouds "+
			"(default 16), connections to workload clusters (64), AzureClusterIdentities (16), clusters whose guests' reports are "+
			"read (64), and resource groups and locations of an Azure account (64 each) a namespace may have at a time; empty means "+
			"the defaults for all.")
	fs.DurationVar(&f.tokenTTL, "bootstrap-token-ttl", 30*time.Minute,
		"How long a bootstrap token lives if it is not extended. The manager extends it until its node has joined.")
}

func (f *managerFlags) addAzureFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.azureClouds, "azure-clouds", "", "File with clouds beside those of Microsoft that machines in Azure may name.")
	fs.StringVar(&f.azureCloud, "azure-cloud", "",
		"Cloud of identities, and of Secrets without the key cloud where no AzureCluster names another; empty means AzurePublicCloud.")
	fs.StringSliceVar(&f.azureNamespaces, "azure-namespaces", nil,
		"Namespaces whose machines may use the manager's own identity in Azure; empty means none.")
	fs.StringSliceVar(&f.azureIdentities, "azure-identities", nil,
		"Entries CLIENTID=NAMESPACE or CLIENTID@CLOUD=NAMESPACE: machines of the namespace (* is all) may use an AzureClusterIdentity "+
			"with this client id that the manager proves by itself, with its token or its node; empty means none.")
}

// azure is the provider of machines in Azure.
func (f *managerFlags) azure() (azure.Provider, error) {
	book, err := clouds.Load(f.azureClouds)
	if err != nil {
		return azure.Provider{}, fmt.Errorf("--azure-clouds: %w", err)
	}
	if _, ok := book.Named(f.azureCloud); !ok {
		return azure.Provider{}, fmt.Errorf("--azure-cloud=%s is not defined; use one of %s",
			f.azureCloud, strings.Join(book.Names(), ", "))
	}
	p, err := azure.Provider{Book: book, Cloud: f.azureCloud, Namespaces: f.azureNamespaces}.Lend(f.azureIdentities)
	if err != nil {
		return azure.Provider{}, fmt.Errorf("--azure-identities: %w", err)
	}
	return hurried(p, azureSpeed)
}

// limits are those of --tenants.
func (f *managerFlags) limits() (tenants.Limits, error) {
	limits, err := tenants.Parse(f.tenants)
	if err != nil {
		return nil, fmt.Errorf("--tenants: %w", err)
	}
	return limits, nil
}

// tookOver are the management clusters of --took-over-from.
func (f *managerFlags) tookOver() (uids []types.UID) {
	for _, uid := range f.tookOverFrom {
		uids = append(uids, types.UID(uid))
	}
	return uids
}

func (f *managerFlags) restConfig() (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the management cluster: %w", err)
	}
	config.QPS, config.Burst, config.UserAgent = f.qps, f.burst, managerName
	(&skewed{now: time.Now, log: klog.Background()}).watch(config)
	config.WarningHandler = apiwarnings.DefaultHandler(klog.Background().WithName("API server warning"))
	return config, nil
}

func (f *managerFlags) managerOptions(scheme *runtime.Scheme) (ctrl.Options, error) {
	_, metrics, err := capiflags.GetManagerOptions(f.diagnostics)
	if err != nil {
		return ctrl.Options{}, fmt.Errorf("diagnostics flags: %w", err)
	}
	if set, ok := metrics.ExtraHandlers[verbosityPath]; ok { // insecure diagnostics do not have it
		metrics.ExtraHandlers[verbosityPath] = capVerbosity(set)
	}
	options := ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 *metrics,
		Controller:              config.Controller{UsePriorityQueue: new(feature.Gates.Enabled(feature.PriorityQueue))},
		HealthProbeBindAddress:  f.healthAddr,
		LeaderElection:          f.leaderElect,
		LeaderElectionID:        "capwin-" + electionName(f.controllers),
		LeaderElectionNamespace: f.leaseSpace,
		PprofBindAddress:        f.profilerAddress,
		// The manager that comes next need not wait until the lease has run out: main ends right after this one has stopped.
		LeaderElectionReleaseOnCancel: true,
		// What runs beside the controllers, such as the accounts, logs as they do.
		BaseContext:   func() context.Context { return ctrl.LoggerInto(context.Background(), klog.Background()) },
		LeaseDuration: &f.leaseDuration,
		RenewDeadline: &f.renewDeadline,
		RetryPeriod:   &f.retryPeriod,
		Cache: cache.Options{
			SyncPeriod:       &f.syncPeriod,
			DefaultTransform: f.transform(),
			ByObject:         owner.Cached(),
			NewInformer:      caches.NewInformer,
		},
		NewClient: caches.NewClient,
		// Secrets are never cached: our roles allow only get by name, and that is all we need.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
	}
	if f.namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	}
	return options, nil
}

// transform is that of all caches. Only the bootstrap provider renders.
func (f *managerFlags) transform() toolscache.TransformFunc {
	if slices.Contains(f.controllers, bootstrapProvider) {
		return caches.Keep
	}
	return caches.KeepUnrendered
}

// electionName keeps the leaders of the two providers apart if both run in one namespace.
func electionName(controllers []string) string {
	if len(controllers) == 1 {
		return controllers[0]
	}
	return "manager"
}

// azureSpeed is how many times as fast as the time the clock for machines in Azure runs. The linker sets it for the demo, whose
// simulated Azure has such a clock, too: what proves that a VM is gone takes a minute of Azure's time. No release has it.
var azureSpeed string

// hurried gives the provider that clock; "" leaves it the time.
func hurried(p azure.Provider, speed string) (azure.Provider, error) {
	if speed == "" {
		return p, nil
	}
	times, err := strconv.Atoi(speed)
	if err != nil || times < 1 {
		return p, fmt.Errorf("azureSpeed is %q; link a number from 1 on", speed)
	}
	began := time.Now()
	p.Now = func() time.Time { return began.Add(time.Since(began) * time.Duration(times)) }
	p.Ticks = func() (<-chan time.Time, func()) {
		ticker := time.NewTicker(time.Second / time.Duration(times))
		return ticker.C, ticker.Stop
	}
	return p, nil
}
