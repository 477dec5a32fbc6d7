// Package machine makes the VM of a WindowsMachine, reports how far it is, and removes it. reconciler.go has the two lives of a
// machine as lists of phases, phases.go has the phases, secrets.go those that read Secrets, and report.go writes the status:
// guest.go publishes what the guest reports, at a pace, story.go has the sentences about what the guest does, progress.go reads
// its reports, and overdue.go notices when it has been silent for too long. erase.go has the user data taken out of the VM when
// the guest is done with them. events.go also quotes the console of a guest that failed or is silent. metrics.go has how long
// machines took, and how many there are.
package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels"
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
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses"
	"github.com/capwin/cluster-api-provider-windows/controllers/caches"
	"github.com/capwin/cluster-api-provider-windows/controllers/credentials"
	"github.com/capwin/cluster-api-provider-windows/controllers/fresh"
	"github.com/capwin/cluster-api-provider-windows/controllers/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/identities"
	"github.com/capwin/cluster-api-provider-windows/controllers/linux"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/accounts"
	"github.com/capwin/cluster-api-provider-windows/internal/wake"
)

// Policies are those in workload clusters that keep workloads for Linux off Windows Nodes.
type Policies interface {
	linux.Policies
	// Answers wake the machines that have asked.
	Answers() source.Source
}

// Reconciler makes, watches and removes VMs.
type Reconciler struct {
	Client client.Client
	// Live reads the bootstrap data from the API server itself: Secrets are never cached.
	Live client.Reader
	// Workload reaches the workload clusters.
	Workload linux.Workload
	// Pools give adapters their addresses.
	Pools *addresses.Pools
	// Policies keep workloads for Linux off Windows Nodes. They are nil where nobody looks after them.
	Policies Policies
	// Clouds are those that this manager runs machines in.
	Clouds cloud.Registry
	// Credentials keeps the Secrets that the spec of machines names.
	Credentials *credentials.Keeper
	// Identities keeps those that are no Secret of the machine's namespace, and Held holds those of them that are in it.
	Identities *identities.Keeper
	Held       *credentials.Keeper
	// Accounts keeps the connections to the clouds. Changed gets the keys of machines whose VM changed, or whose guest reported: a
	// key is only a hint, the reconciler asks what has changed.
	Accounts *accounts.Register
	Changed  *wake.Pacer
	// Ears hear the guests of clouds that carry no reports.
	Ears *guests.Ears
	// Events gets an event for each change that people should see.
	Events events.EventRecorder
	// Now is the clock. Speed is how many times faster than ours the clocks of guests run; 0 is 1. Those of simulated guests do.
	Now   func() time.Time
	Speed int
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string
	// Manager is the UID of the management cluster, and TookOver are those whose machines it has taken over, by the operator's word.
	Manager  types.UID
	TookOver []types.UID
	consoles consoles
	firsts   firsts
}

// SetupWithManager registers the reconciler and the watches that wake it.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	written := fresh.New[*infrav1.WindowsMachine](r.Client)
	r.Client = written
	ofCluster, err := util.ClusterToTypedObjectsMapper(owner.Names{Client: r.Client}, &infrav1.WindowsMachineList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("map clusters to windowsmachines: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.WindowsMachine{}, byIdentity, r.identitiesOf); err != nil {
		return fmt.Errorf("index windowsmachines: %w", err)
	}
	if err := r.Pools.Index(ctx, mgr); err != nil {
		return fmt.Errorf("index ipaddresses: %w", err)
	}
	if err := r.Pools.FreeStrays(mgr, controller.Options{RateLimiter: options.RateLimiter}); err != nil {
		return fmt.Errorf("watch ipaddresses: %w", err)
	}
	if err := errors.Join(r.Credentials.Setup(ctx, mgr, r.secretOf), r.Held.Setup(ctx, mgr, r.ownIdentityOf)); err != nil {
		return fmt.Errorf("watch credentials: %w", err)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("windowsmachine").
		For(&infrav1.WindowsMachine{}, builder.WithPredicates(written.News(), endsWithAddresses())).
		Owns(&ipamv1.IPAddressClaim{}).
		Watches(&clusterv1.Machine{}, wakeOfMachine(written.Client), builder.WithPredicates(owner.MachineChanged(), needsLook())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(owner.ClusterChanged())).
		WatchesRawSource(r.configs(mgr)).
		WatchesRawSource(source.Func(r.Changed.Feed)).
		WatchesRawSource(source.Func(r.Credentials.Feed)).
		WatchesRawSource(source.Func(r.Held.Feed)).
		WatchesRawSource(source.Func(r.Identities.Feed)).
		WithEventFilter(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter)).
		WithOptions(options)
	if r.Policies != nil {
		b = b.WatchesRawSource(r.Policies.Answers())
	}
	return b.Complete(r)
}

// Reconcile brings one machine a step further: load, decide what is next, do it, report, write once.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	f, err := r.load(ctx, request.NamespacedName)
	if err != nil || f == nil {
		return phase.Result(ctx, err) // nil when there is no machine to look at
	}
	end := r.next(ctx, f)
	stop := phase.Of(end)
	if f.released || stop.Later {
		return phase.Result(ctx, end)
	}
	if stop.Reason == infrav1.WaitingForOwnerReason {
		if rest := owner.Expected(f.windows, r.Now()); rest > 0 {
			return ctrl.Result{RequeueAfter: rest}, nil
		}
	}
	if err := r.findRivals(ctx, f); err != nil {
		return phase.Result(ctx, err)
	}
	report(f, end)
	if err := r.write(ctx, f); err != nil {
		return phase.Result(ctx, err)
	}
	measure(f)
	r.emit(ctx, f)
	if f.unread != nil {
		logUnread(ctx, f)
	}
	if stop.Cause != nil {
		logCause(ctx, f, stop)
	}
	result, err := phase.Result(ctx, end)
	if end == nil && !paused(f) && !deleting(f) {
		result.RequeueAfter = nextLook(f)
	}
	result.RequeueAfter = sooner(result.RequeueAfter, f.heldBack)
	return result, err
}

// facts is what is known of one machine during one reconcile.
type facts struct {
	// original is the WindowsMachine as the API server has it, windows as it will be.
	original, windows *infrav1.WindowsMachine

	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	// refused is why the Machine that the object calls its owner is not.
	refused string
	// large is which of these is too large for the cache.
	large string
	// config is what the user data is made of; nil when another bootstrap provider makes it.
	config *bootstrapv1.WindowsBootstrapConfig

	// now is the time of this look, and speed that of the guests' clocks. clouds are those that are supported.
	now    time.Time
	speed  int
	clouds cloud.Registry

	// The phases fill these in: who the VM is, its adapters, its account by name, and what the cloud reports of it.
	identity   cloud.Identity
	derived    bool   // the identity follows from the object's own name and UID
	copied     bool   // it is another machine's
	contested  bool   // another machine has the same proof in its status
	digest     string // of the user data of a machine whose VM is not proved yet
	interfaces []infrav1.MachineNetworkInterface
	account    string
	going      bool                    // the Secret of the account is being deleted
	recalled   *infrav1.WindowsMachine // this one, with the rights of its Cluster, if it lost its status
	cloud      cloud.Cloud
	vm         *cloud.VM

	// kept is why the user data is still in the VM of a settled machine; nil when nothing was tried or it was begun.
	kept error

	// rivals are those of the guest's addresses that pools gave to other machines.
	rivals []netip.Addr
	// guest is what the guest reports; nil is nothing that we understand, and unread is why not. heldBack is how long it waits to be
	// published.
	guest    *guestReport
	unread   error
	heldBack time.Duration

	// mayRemain is what a person should look for, because the cloud did not delete a VM at our request. released is true once the
	// finalizer is gone, and the object with it.
	mayRemain string
	released  bool
}

// load reads the machine and what it belongs to in the cache, and anew from the API server where the cache has too little of it.
func (r *Reconciler) load(ctx context.Context, key client.ObjectKey) (*facts, error) {
	f, err := r.read(ctx, r.Client, key)
	if err != nil || f == nil || !caches.IsStub(f.windows) && (f.large == "" || !deleting(f)) {
		return f, err
	}
	return r.read(ctx, caches.Direct{Client: r.Client, Live: r.Live}, key)
}

func (r *Reconciler) read(ctx context.Context, api client.Client, key client.ObjectKey) (*facts, error) {
	f := &facts{windows: &infrav1.WindowsMachine{}, now: r.Now(), speed: r.Speed, clouds: r.Clouds}
	err := api.Get(ctx, key, f.windows)
	if apierrors.IsNotFound(err) {
		r.firsts.machines.Delete(key)
		return nil, r.Pools.FreeLeft(ctx, key)
	}
	if err != nil {
		return nil, fmt.Errorf("get windowsmachine: %w", err)
	}
	// A cloud sends the keys of all VMs of the account, also of those that another manager looks after.
	if r.WatchFilter != "" && !labels.HasWatchLabel(f.windows, r.WatchFilter) {
		return nil, nil
	}
	f.original = f.windows.DeepCopy()
	found, err := owner.Of(ctx, api, f.windows)
	if err != nil {
		return nil, err
	}
	f.machine, f.cluster, f.refused = found.Machine, found.Cluster, found.Refused
	if namesConfig(f) {
		err = loadConfig(ctx, api, f)
	}
	f.large = caches.Large(f.windows, f.machine, f.cluster, f.config)
	return f, err
}

func namesConfig(f *facts) bool {
	return f.machine != nil && ofOurs(f.machine.Spec.Bootstrap.ConfigRef)
}

// loadConfig reads the config, which has how long the guest may take and what its node reserves. Both only serve people: a
// machine goes on without its config, and without the CRD of configs. It does not use another Machine's config.
func loadConfig(ctx context.Context, api client.Client, f *facts) error {
	var config bootstrapv1.WindowsBootstrapConfig
	err := api.Get(ctx, client.ObjectKey{Namespace: f.machine.Namespace, Name: f.machine.Spec.Bootstrap.ConfigRef.Name}, &config)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get windowsbootstrapconfig: %w", err)
	}
	if owner.Has(f.machine, &config) {
		f.config = &config
	}
	return nil
}

// next goes through the phases of the life that the machine is in.
func (r *Reconciler) next(ctx context.Context, f *facts) error {
	switch {
	case paused(f):
		return nil
	case deleting(f) && !controllerutil.ContainsFinalizer(f.windows, infrav1.MachineFinalizer):
		return nil
	case deleting(f):
		return r.takeDown(ctx, f)
	case f.large != "":
		return phase.Stall(infrav1.ObjectTooLargeReason, caches.TooLarge, f.large)
	default:
		return phase.Run(ctx, f, r.owned, r.place, r.identify, phase.Unless(isDerived, r.compare, r.refuseCopy),
			phase.Unless(hadVM, r.complete), r.recordIdentity, r.claimAddresses, phase.Unless(knowsTenant, r.noteTenant),
			phase.Unless(hadVM, r.ready), r.connect, r.sameServer, phase.Unless(needsNoHold, r.distinct), r.hold,
			phase.Unless(needsNoHold, r.holdAddresses), phase.Unless(isDerived, r.readDigest), r.provision)
	}
}

// takeDown goes through the phases of a machine that is being deleted and may have a VM.
func (r *Reconciler) takeDown(ctx context.Context, f *facts) error {
	return lastResort(phase.Run(ctx, f,
		phase.Unless(removed, r.identify, phase.Unless(isDerived, r.compare)),
		phase.Unless(nothingToRemove, r.refuseCopy, r.recall, r.connect, r.sameServer, phase.Unless(isDerived, r.readDigest),
			r.remove, r.freeAddresses, r.noteRemoved),
		r.freeSecret, r.release))
}

func deleting(f *facts) bool { return !f.windows.DeletionTimestamp.IsZero() }

func paused(f *facts) bool { return owner.Paused(f.cluster, f.windows) }

// write patches the status if it changed. It sends the resource version, so that no report on an old object is written.
func (r *Reconciler) write(ctx context.Context, f *facts) error {
	if equality.Semantic.DeepEqual(f.original.Status, f.windows.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(f.original, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, f.windows, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch status of windowsmachine: %w", err)
	}
	r.firsts.wrote(f.original)
	return nil
}

// logCause logs the cloud's own error when it is new: the conditions have only our words for it.
func logCause(ctx context.Context, f *facts, stop phase.Stop) {
	changed := func(name string) bool {
		return conditions.GetReason(f.windows, name) != conditions.GetReason(f.original, name) ||
			conditions.GetMessage(f.windows, name) != conditions.GetMessage(f.original, name)
	}
	if changed(infrav1.VMRunningCondition) || changed(infrav1.CloudReachableCondition) {
		ctrl.LoggerFrom(f.logged(ctx)).Info("The cloud did not do what the controller "+
			"requested", "vm", f.identity.Name, "reason", stop.Reason,
			"error", cloud.Clean(stop.Cause.Error(), maxLine))
	}
}
