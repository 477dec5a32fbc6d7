// Package bootstrap makes the user data of a Windows machine, once, and keeps its bootstrap token alive until the node
// has joined.
package bootstrap

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/fresh"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/refusals"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Workload reaches the API servers of workload clusters, and knows their clocks.
type Workload interface {
	// GetClient returns a client that reads from the API server itself.
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// Now returns the time by a cluster's own clock. It is zero if no answer of the cluster has had a time.
	Now(cluster client.ObjectKey) time.Time
}

// Rights are in workload clusters for all of their machines, by name. The answers MUST be those of controllers/cluster.
type Rights interface {
	// Ask returns without an error if a cluster has them. If ok is false, nothing is known yet, and the config is woken when there
	// is an answer.
	Ask(cluster, config client.ObjectKey, name string) (ok bool, answer error)
	// Answers wake the configs that have asked.
	Answers() source.Source
}

// Reconciler makes user data and looks after tokens.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server itself: Secrets and ConfigMaps are never cached.
	Live client.Reader
	// Workload reaches the workload clusters.
	Workload Workload
	// Linux reads from them what the gate asks for.
	Linux linux.Workload
	// Rights are those in the workload clusters, for nodes and for guests. Without them, nobody waits for any.
	Rights Rights
	// Clouds are those that machines may be in.
	Clouds cloud.Registry
	// GuestReports has guests report to their workload clusters where their cloud carries no reports.
	GuestReports bool
	// TokenTTL is how long a token lives if we do not extend it.
	TokenTTL time.Duration
	// Events gets warnings, and what only people can mend.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager has one.
	WatchFilter string
	// TrustSecret is how long a bootstrap Secret that was found good is not read again; tests that take one away leave it out.
	TrustSecret time.Duration

	secrets secretCache
	gaps    gaps
	owned   arrivals
	pace    tenants.Pace // of reads of sources
}

// SetupWithManager registers the reconciler and the watches that wake it.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	written := fresh.New[*bootstrapv1.WindowsBootstrapConfig](r.Client)
	r.Client = written
	names, configs := owner.Names{Client: r.Client}, &bootstrapv1.WindowsBootstrapConfigList{}
	ofCluster, err := util.ClusterToTypedObjectsMapper(names, configs, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("map clusters to windowsbootstrapconfigs: %w", err)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("windowsbootstrapconfig").
		For(&bootstrapv1.WindowsBootstrapConfig{}, builder.WithPredicates(written.News())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(ofMachine), builder.WithPredicates(owner.MachineChanged())).
		Watches(&infrav1.WindowsMachine{}, handler.EnqueueRequestsFromMapFunc(r.ofWindowsMachine)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(owner.ClusterChanged())).
		WithEventFilter(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter)).
		WithOptions(options)
	if r.Rights != nil {
		b = b.WatchesRawSource(r.Rights.Answers())
	}
	return b.Complete(r)
}

// ofMachine finds the config of a Machine.
func ofMachine(_ context.Context, o client.Object) []ctrl.Request {
	machine, ok := o.(*clusterv1.Machine)
	if !ok || machine.Spec.Bootstrap.ConfigRef.Kind != kind {
		return nil
	}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.Bootstrap.ConfigRef.Name}
	return []ctrl.Request{{NamespacedName: key}}
}

// ofWindowsMachine finds the config that waits for a machine's identity.
func (r *Reconciler) ofWindowsMachine(ctx context.Context, o client.Object) []ctrl.Request {
	windows, ok := o.(*infrav1.WindowsMachine)
	if !ok {
		return nil
	}
	found, err := owner.Of(ctx, r.Client, windows)
	if err != nil || found.Machine == nil {
		return nil
	}
	return ofMachine(ctx, found.Machine)
}

// Reconcile brings one config a step further: load, decide what is next, do it, report, write once.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	f, err := r.load(ctx, request.NamespacedName)
	if err != nil || f == nil {
		return phase.Result(ctx, err) // nil when there is no config to look at
	}
	end := reachStop(ctx, f, r.next(ctx, f))
	if f.released || phase.Of(end).Later {
		return phase.Result(ctx, end)
	}
	if rest := r.expected(f, phase.Of(end).Reason); rest > 0 {
		return ctrl.Result{RequeueAfter: rest}, nil
	}
	report(f, end)
	if err := r.write(ctx, f); err != nil {
		return phase.Result(ctx, err)
	}
	r.emit(f)
	result, err := phase.Result(ctx, end)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = f.lookAgain
	}
	return result, err
}

// expected is how much longer the status does not report what a config waits for, because it is about to come: that would be one
// write more for each machine, and Cluster API would look at its Machine once more.
func (r *Reconciler) expected(f *facts, reason string) time.Duration {
	rest := owner.Expected(f.config, r.Now())
	switch {
	case reason == bootstrapv1.WaitingForOwnerReason:
		return rest
	case reason != bootstrapv1.WaitingForMachineIdentityReason:
		return 0
	case conditions.GetReason(f.config, bootstrapv1.ReadyCondition) != bootstrapv1.WaitingForOwnerReason:
		return rest
	}
	return max(rest, r.owned.rest(f.config.UID, r.Now())) // Cluster API gives the WindowsMachine its owner next
}

// facts is what is known of one config during one reconcile.
type facts struct {
	// original is the config as the API server has it, config as it will be.
	original, config *bootstrapv1.WindowsBootstrapConfig

	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	windows *infrav1.WindowsMachine
	// refused is why the Machine that the config calls its owner is not.
	refused string
	// large is which of these is too large for the cache.
	large string

	// The phases fill these in: the Secret with the user data, the cluster's CA, the workload cluster, the token.
	secret   *corev1.Secret
	ca       []byte
	workload client.Client
	token    string

	// reports is true if the guest has an object to report to, and mute why it has none.
	reports bool
	mute    string
	// nameTaken is true if the reason is an object of somebody else in the workload cluster.
	nameTaken bool

	// warnings are about what the workload cluster has, block is what its Calico gives a Windows node.
	warnings []string
	block    bootstrap.Block

	// sources are what the spec refers to, by the names of bootstrap.Source.
	sources map[string][]byte

	// lookAgain is how soon the token must be looked at again.
	lookAgain time.Duration

	// released is true if the finalizer is gone, and the object with it.
	released bool
}

// load reads the config and what it belongs to in the cache, and anew from the API server where the cache has too little of it.
func (r *Reconciler) load(ctx context.Context, key client.ObjectKey) (*facts, error) {
	f, err := read(ctx, r.Client, key)
	if err != nil || f == nil || !caches.IsStub(f.config) && (f.large == "" || !deleting(f)) {
		return f, err
	}
	return read(ctx, caches.Direct{Client: r.Client, Live: r.Live}, key)
}

func read(ctx context.Context, api client.Client, key client.ObjectKey) (*facts, error) {
	f := &facts{config: &bootstrapv1.WindowsBootstrapConfig{}}
	err := api.Get(ctx, key, f.config)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get windowsbootstrapconfig: %w", err)
	}
	f.original = f.config.DeepCopy()
	found, err := owner.Of(ctx, api, f.config)
	if err != nil {
		return nil, err
	}
	f.machine, f.cluster, f.refused = found.Machine, found.Cluster, found.Refused
	err = loadWindowsMachine(ctx, api, f)
	f.large = caches.Large(f.config, f.machine, f.cluster, f.windows)
	return f, err
}

// loadWindowsMachine reads the WindowsMachine, once it belongs to the same Machine: the user data is made for its name, adapters
// and size.
func loadWindowsMachine(ctx context.Context, api client.Client, f *facts) error {
	if f.machine == nil || !refusals.OnWindows(f.machine) {
		return nil
	}
	var windows infrav1.WindowsMachine
	err := api.Get(ctx, client.ObjectKey{Namespace: f.machine.Namespace, Name: f.machine.Spec.InfrastructureRef.Name}, &windows)
	if err == nil && owner.Has(f.machine, &windows) {
		f.windows = &windows
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get windowsmachine: %w", err)
	}
	return nil
}

// next goes through the phases of the life that the config is in.
func (r *Reconciler) next(ctx context.Context, f *facts) error {
	switch {
	case paused(f):
		return nil
	case deleting(f) && !hasFinalizer(f, bootstrapv1.ConfigFinalizer) && !hasFinalizer(f, bootstrapv1.GuestReportFinalizer):
		return nil
	case deleting(f):
		return phase.Run(ctx, f, r.clear(bootstrapv1.ConfigFinalizer, r.removeToken),
			r.clear(bootstrapv1.GuestReportFinalizer, r.removeReport), r.release)
	case f.large != "":
		return phase.Stall(bootstrapv1.ObjectTooLargeReason, caches.TooLarge, f.large)
	default:
		return phase.Run(ctx, f, owned, phase.Unless(settled, checkCluster, ready, r.linuxFirst, r.inPlace),
			r.findSecret, phase.Unless(settled, r.awaitSources, r.readClusterCA, r.readSources, r.validate),
			r.reach, phase.Unless(settled, compareFlannel, findWrongKubeProxy, findBlock, r.awaitNodeRights),
			phase.Unless(settled, r.openReports, r.hold, r.issueToken, r.makeReport, r.store),
			r.keepToken)
	}
}

func hasFinalizer(f *facts, finalizer string) bool {
	return controllerutil.ContainsFinalizer(f.config, finalizer)
}

func deleting(f *facts) bool { return !f.config.DeletionTimestamp.IsZero() }

func paused(f *facts) bool { return owner.Paused(f.cluster, f.config) }

func joined(f *facts) bool { return owner.Joined(f.machine) }

// write patches the status if it changed. It sends the resource version, so that no report on an old object is written.
func (r *Reconciler) write(ctx context.Context, f *facts) error {
	if equality.Semantic.DeepEqual(f.original.Status, f.config.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(f.original, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, f.config, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch status of windowsbootstrapconfig: %w", err)
	}
	return nil
}

// maxNote is how long the note of an Event may be.
const maxNote = 1024

// emit makes an event when warnings come up, and when the config begins to wait for a person.
func (r *Reconciler) emit(f *facts) {
	const warnings, stalled = bootstrapv1.HasWarningsCondition, bootstrapv1.StalledCondition
	if conditions.IsTrue(f.config, warnings) && !conditions.IsTrue(f.original, warnings) {
		r.warn(f, bootstrapv1.WarningsGivenReason, conditions.GetMessage(f.config, warnings))
	}
	reason := conditions.GetReason(f.config, stalled)
	if conditions.IsTrue(f.config, stalled) && conditions.GetReason(f.original, stalled) != reason {
		r.warn(f, reason, conditions.GetMessage(f.config, stalled))
	}
}

// warn makes an event about the config.
func (r *Reconciler) warn(f *facts, reason, note string) {
	note = strings.ToValidUTF8(note[:min(len(note), maxNote)], "")
	r.Events.Eventf(f.config, nil, corev1.EventTypeWarning, reason, "Render", "%s", note)
}
