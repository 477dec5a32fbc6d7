package world

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/controllers/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/machine"
	"github.com/capwin/cluster-api-provider-windows/controllers/orphans"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere"
	"github.com/capwin/cluster-api-provider-windows/internal/wake"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// Options say how our controllers are run.
type Options struct {
	VSphere, Azure cloud.Provider
	WatchFilter    string
	// Manager is the UID of the management cluster, and TookOver are those whose machines it has taken over.
	Manager  types.UID
	TookOver []types.UID
	// TokenTTL is that of the flag when zero.
	TokenTTL time.Duration
	// Now is the clock's when nil.
	Now func() time.Time
	// OwnClock says that the workload cluster has a clock of its own. Without it, time passes there as Now says.
	OwnClock bool
	// TrustSecret is for how long a bootstrap Secret is not read again.
	TrustSecret time.Duration
	// ReadSecrets is how often the Secrets with credentials are read; each second when zero.
	ReadSecrets time.Duration
	// GuestReports has guests in Azure report to the workload cluster.
	GuestReports bool
	// Gate sees what the process does; one that lets everything pass when nil.
	Gate *Gate
	// Beside are namespaces that the process works in, too. Everywhere has it work in all, on what has the Filter of its own.
	Beside     []string
	Everywhere bool
	// LongestPass is how long a reconcile may take; without an end when zero.
	LongestPass time.Duration
	// Faults are those of the management cluster's API server; none when nil.
	Faults *Faults
}

// clouds are those that the controllers of machines get.
func (o Options) clouds() (supported cloud.Registry) {
	if o.VSphere != nil {
		supported = append(supported, vsphere.Registration(o.VSphere))
	}
	if o.Azure != nil {
		supported = append(supported, azure.Registration(o.Azure))
	}
	return supported
}

const readSecrets = time.Second

// Process is our two controllers at work, each as the account of its component, in one namespace.
type Process struct {
	Gate *Gate
	// Caches are what the controllers read from.
	Caches map[string]client.Reader
	// Recorders tell people of what the controllers do.
	Recorders map[string]events.EventRecorder
	// Lookout tells of VMs without a machine when a test has it look.
	Lookout *orphans.Lookout

	longestPass time.Duration

	queues map[string]*queue
	kinds  map[string]*kinds // watched by a controller
	logs   *Log
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// The controllers of a process.
const (
	Machines = "windowsmachine"
	Configs  = "windowsbootstrapconfig"
	Rights   = "clusterrights"
)

// Run starts a process. It ends with the test at the latest.
func (n *Namespace) Run(t *testing.T, o Options) *Process {
	t.Helper()
	p := expect.Got(n.Launch(o))(t)
	t.Cleanup(func() {
		expect.Fine(t, p.Stop())
		if t.Failed() {
			t.Logf("the controllers of %s said:\n%s", n.Name, p.logs)
		}
	})
	return p
}

// Launch starts a process for a caller that ends it.
func (n *Namespace) Launch(o Options) (*Process, error) {
	p := &Process{
		Gate: o.Gate, Caches: map[string]client.Reader{}, Recorders: map[string]events.EventRecorder{},
		kinds: map[string]*kinds{Machines: {}, Configs: {}}, logs: &Log{}, ended: make(chan struct{}),
		longestPass: o.LongestPass,
	}
	if p.Gate == nil {
		p.Gate = &Gate{}
	}
	if o.Everywhere {
		if n.Filter == "" {
			return nil, errors.New("a process that works everywhere needs a filter: others may have machines in this world")
		}
		o.WatchFilter = n.Filter
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.Gate.Kill = cancel
	managers, err := p.managers(ctx, n, o)
	if err != nil {
		cancel()
		return nil, err
	}
	n.joins(p)
	go func() {
		defer close(p.ended)
		both, ctx := errgroup.WithContext(ctx)
		for _, mgr := range managers {
			both.Go(func() error { return mgr.Start(ctx) })
		}
		p.err = both.Wait()
	}()
	return p, nil
}

// managers are two, as they are in production.
func (p *Process) managers(ctx context.Context, n *Namespace, o Options) ([]ctrl.Manager, error) {
	if o.TokenTTL == 0 {
		o.TokenTTL = 30 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p.newQueues(o.Now)
	adders := map[string]func(context.Context, ctrl.Manager, *reach, Options) error{
		Machines: p.addMachines, Configs: p.addConfigs,
	}
	var managers []ctrl.Manager
	for name, add := range adders {
		mgr, err := p.manager(n, name, o)
		if err != nil {
			return nil, err
		}
		watching := watching{mgr, p.kinds[name]}
		if err := add(ctrl.LoggerInto(ctx, mgr.GetLogger()), watching, p.reach(mgr, o), o); err != nil {
			return nil, err
		}
		p.Caches[name], p.Recorders[name] = mgr.GetCache(), mgr.GetEventRecorder(name)
		managers = append(managers, mgr)
	}
	return managers, nil
}

func (p *Process) reach(mgr ctrl.Manager, o Options) *reach {
	clusters := &workload.Clusters{Live: mgr.GetAPIReader(), QPS: 1000, Burst: 1000, UserAgent: "world"}
	if o.OwnClock {
		return &reach{process: p, Clusters: clusters}
	}
	return &reach{process: p, Clusters: clusters, now: o.Now}
}

func (p *Process) manager(n *Namespace, name string, o Options) (ctrl.Manager, error) {
	watched := map[string]cache.Config{n.Name: {}}
	for _, namespace := range o.Beside {
		watched[namespace] = cache.Config{}
	}
	if o.Everywhere {
		watched = nil
	}
	management := rest.CopyConfig(n.accounts[name])
	gate := p.Gate.Wrap("management")
	management.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return gate(o.Faults.wrap(next)) }
	return ctrl.NewManager(management, ctrl.Options{
		Scheme:         n.scheme,
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return n.mapper, nil },
		Logger:         p.logs.Logger(),
		Metrics:        server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: watched, DefaultTransform: caches.Keep, ByObject: owner.Cached(), NewInformer: caches.NewInformer,
		},
		NewClient: caches.NewClient,
		Client: client.Options{
			Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}},
		},
		Controller:              config.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(20 * time.Second),
	})
}

func (p *Process) addMachines(ctx context.Context, mgr ctrl.Manager, w *reach, o Options) error {
	changed := &wake.Pacer{}
	register := &accounts.Register{Changed: changed.Wake}
	p.Lookout = &orphans.Lookout{
		Client: mgr.GetClient(), Accounts: register, Events: mgr.GetEventRecorder(Machines), Now: o.Now,
		Count: func(string, int, int) {},
	}
	others := &identities.Keeper{Live: mgr.GetAPIReader()}
	own := &credentials.Keeper{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder(Machines), WatchFilter: o.WatchFilter,
	}
	held := &credentials.Keeper{
		Kind: identities.Kind, Read: others.Read,
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder(Machines), WatchFilter: o.WatchFilter,
	}
	for _, one := range []*reads.Reader{&others.Reader, &own.Reader, &held.Reader} {
		one.Interval, one.Pace = cmp.Or(o.ReadSecrets, readSecrets), time.Millisecond
	}
	ears := &guests.Ears{GetClient: w.Clusters.GetClient, Heard: changed.Wake}
	direct := caches.Direct{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}
	return errors.Join(mgr.Add(register), mgr.Add(others), mgr.Add(ears), (&machine.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Workload: w, Clouds: o.clouds(),
		Pools:       &addresses.Pools{Client: direct, Live: mgr.GetAPIReader(), Now: o.Now, WatchFilter: o.WatchFilter},
		Credentials: own, Identities: others, Held: held,
		Accounts: register, Changed: changed, Events: mgr.GetEventRecorder(Machines), Now: o.Now,
		WatchFilter: o.WatchFilter, Ears: ears, Manager: o.Manager, TookOver: o.TookOver,
	}).SetupWithManager(ctx, mgr, p.options(Machines)))
}

func (p *Process) addConfigs(ctx context.Context, mgr ctrl.Manager, w *reach, o Options) error {
	recorder := mgr.GetEventRecorder(Configs)
	rights := &cluster.Reconciler{
		Name: Rights, Client: mgr.GetClient(), Workload: w,
		Keeps: func() []cluster.Keep {
			keeps := []cluster.Keep{&cluster.NodeRights{Live: mgr.GetAPIReader()}}
			if o.GuestReports {
				keeps = append(keeps, &cluster.GuestRights{})
			}
			return keeps
		},
		Object: &bootstrapv1.WindowsBootstrapConfig{}, List: &bootstrapv1.WindowsBootstrapConfigList{},
		Events: recorder, Now: o.Now, WatchFilter: o.WatchFilter,
	}
	return errors.Join(rights.SetupWithManager(mgr, p.options(Rights)), (&bootstrap.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Workload: w, Linux: w,
		Clouds: cloud.Registry{vsphere.Registration(vsphere.Provider{}), azure.Registration(azure.Provider{})},
		Rights: rights, GuestReports: o.GuestReports, TokenTTL: o.TokenTTL, Now: o.Now, TrustSecret: o.TrustSecret,
		Events: recorder, WatchFilter: o.WatchFilter,
	}).SetupWithManager(ctx, mgr, p.options(Configs)))
}

// options make a controller use a queue that a test can watch.
func (p *Process) options(name string) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: 10,
		ReconciliationTimeout:   p.longestPass,
		LogConstructor:          p.logged(name),
		NewQueue: func(string, workqueue.TypedRateLimiter[ctrl.Request]) workqueue.TypedRateLimitingInterface[ctrl.Request] {
			return p.queues[name]
		},
	}
}

// Stop ends the process as a signal would, and waits for it.
func (p *Process) Stop() error {
	p.cancel()
	<-p.ended
	return errors.Join(p.err, p.complaints())
}

// Kill ends the process as a signal that cannot be handled would: nothing it still does has an effect.
func (p *Process) Kill() error {
	p.Gate.Shut()
	return p.Stop()
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Log is what the controllers said.
func (p *Process) Log() string { return p.logs.String() }

// Reconcile has a controller look at an object, as it does every few minutes, and returns when it has.
func (p *Process) Reconcile(t *testing.T, controller string, key client.ObjectKey) {
	t.Helper()
	if !p.TryReconcile(controller, key) {
		t.Fatalf("%s was not looked at: the process has ended", key)
	}
}

// Reads are the reads of the process so far, and how often the controller has looked at the object for them: Cluster API
// may make it look once more at any time.
func (p *Process) Reads(controller string, key client.ObjectKey) (reads map[string]int, looks int) {
	request := ctrl.Request{NamespacedName: key}
	for {
		before, idle := p.queues[controller].looks(request)
		reads = p.Gate.Reads()
		after, _ := p.queues[controller].looks(request)
		if idle && before == after {
			return reads, after
		}
		p.queues[controller].work(request)
	}
}

// TryReconcile is Reconcile of a process that may be killed meanwhile; then it is false.
func (p *Process) TryReconcile(controller string, key client.ObjectKey) bool {
	return p.queues[controller].work(ctrl.Request{NamespacedName: key})
}

func (p *Process) newQueues(now func() time.Time) {
	p.queues = map[string]*queue{}
	for _, name := range []string{Machines, Configs, Rights} {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](5*time.Millisecond, time.Second)
		p.queues[name] = newQueue(name, limiter)
		p.queues[name].now = now
		p.queues[name].watches = func(s phase.Source) bool { return p.kinds[name].has(name, s) }
	}
}
