// Package cluster looks after what belongs to a workload cluster as a whole, one Cluster at a time. A reader may rely on this:
//
//   - Each Cluster of this manager is looked at when the process is new, because no object of the management cluster has what
//     another process left in the workload cluster. One that is gone or paused is forgotten, and looked at anew when it comes
//     back.
//   - A Cluster that needs nothing and has nothing of ours is not asked again until it needs something.
//   - Namespaces take turns, and a look is bounded: clusters that answer slowly, however many, delay those of another namespace
//     by one look at most. The looks of a namespace take a quarter of a processor, averaged over a minute: those beyond that come
//     later.
//   - Other controllers never write such objects and never wait for a cluster: they ask, and are woken when there is an answer.
package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/findings"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/turns"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// atOnce is how many clusters are looked at together: one that does not answer holds a worker for seconds.
	atOnce = 10
	// longestLook ends a look at a cluster that answers each call late.
	longestLook = time.Minute
	// retryDelay is how soon a cluster is looked at again where something has failed.
	retryDelay = time.Minute
)

// Workload reaches the workload clusters.
type Workload interface {
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

// Keep is one of the things that are kept in a workload cluster, with what is known of it from look to look.
type Keep interface {
	// Needs are the names of what a Cluster needs, by its objects and by what others ask for. It MUST leave out what nobody needs
	// any more: the keep looks as soon as they are other ones.
	Needs(cluster *clusterv1.Cluster, objects client.ObjectList, asked map[string]bool) []string
	// Look brings the thing a step further in a cluster, whether something is needed there or not. It is called once in the life of
	// a process, when something else is needed or asked for, and at the time that it gave to Visit.LookAgain. What fails is looked
	// at again in a minute, and answers what was asked for and not replied to.
	Look(ctx context.Context, v *Visit) error
}

// Reconciler looks after the workload clusters of this manager's Clusters. Set its fields before use.
type Reconciler struct {
	// Name is that of the controller.
	Name string
	// Client reads the cache.
	Client   client.Reader
	Workload Workload
	// Keeps makes those of one Cluster.
	Keeps func() []Keep
	// Object and List are of the kind that makes a Cluster one of this manager, by its label.
	Object client.Object
	List   client.ObjectList
	// Events are about Clusters.
	Events events.EventRecorder
	Now    func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string
	// Bytes counts what is kept of findings.
	Bytes *tenants.Bytes

	meter tenants.Meter // of looks
	pace  tenants.Pace  // of events

	mu       sync.Mutex
	memories map[client.ObjectKey]*memory
	// clusters gets those to be looked at, and askers who is to ask again, once their controllers have started.
	clusters, askers queue
}

// memory is what is known of a Cluster. Whoever looks at that has it, but the topics, which are for all.
type memory struct {
	past   keep.Past
	looks  []*look
	topics map[string]*topic
}

// look is the last one of a keep: what was needed then, and when to look again.
type look struct {
	Keep

	needs []string
	due   time.Time
}

// endOfTime is after all other times.
var endOfTime = time.Unix(1<<40, 0)

// memoryOf is for whoever has locked the Reconciler.
func (r *Reconciler) memoryOf(cluster client.ObjectKey) *memory {
	if r.memories == nil {
		r.memories = map[client.ObjectKey]*memory{}
	}
	if r.memories[cluster] == nil {
		r.memories[cluster] = &memory{past: keep.Past{}, topics: map[string]*topic{}}
		for _, k := range r.Keeps() {
			r.memories[cluster].looks = append(r.memories[cluster].looks, &look{Keep: k})
		}
	}
	return r.memories[cluster]
}

// Visit is a look at a Cluster.
type Visit struct {
	Key     client.ObjectKey
	Cluster *clusterv1.Cluster // of the cache
	Now     time.Time
	// Needs are those of the keep that looks.
	Needs []string

	objects client.ObjectList // of this manager, that belong to the Cluster, of the cache
	r       *Reconciler
	memory  *memory
	current *look
	replied map[string]bool
}

// Reach returns the workload cluster.
func (v *Visit) Reach(ctx context.Context) (*keep.Cluster, error) {
	api, err := v.r.Workload.GetClient(ctx, v.Key)
	contested := func(sentence string) {
		v.report(corev1.EventTypeWarning, bootstrapv1.ObjectContestedReason, "", sentence)
	}
	return &keep.Cluster{API: api, Now: v.Now, Past: v.memory.past, Contested: contested}, err
}

// LookAgain has the keep look again after a while, or sooner. Zero is never.
func (v *Visit) LookAgain(delay time.Duration) {
	if due := v.Now.Add(delay); delay > 0 && due.Before(v.current.due) {
		v.current.due = due
	}
}

// report makes an event about the Cluster, or about a part of it: the recorder takes events that relate to the same object for
// one.
func (v *Visit) report(kind, reason, part, note string) {
	var related runtime.Object
	if part != "" {
		related = &corev1.ObjectReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Namespace: v.Key.Namespace, Name: v.Key.Name, FieldPath: part,
		}
	}
	v.r.Events.Eventf(v.Cluster, related, kind, reason, "Look", "%s", cloud.Clean(note, findings.MaxNote))
}

// SetupWithManager registers the reconciler and has it woken.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	options.MaxConcurrentReconciles, options.ReconciliationTimeout = atOnce, longestLook
	if options.NewQueue == nil {
		options.NewQueue = turns.NewQueue
	}
	changed := predicate.Or(owner.ClusterChanged(), predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	needs := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	b := ctrl.NewControllerManagedBy(mgr).Named(r.Name).
		For(&clusterv1.Cluster{}, builder.WithPredicates(changed)).
		Watches(r.Object, handler.EnqueueRequestsFromMapFunc(ofObject), builder.WithPredicates(needs)).
		WithOptions(options)
	return b.WatchesRawSource(r.Asked()).Complete(r)
}

// ofObject finds the Cluster of an object.
func ofObject(_ context.Context, o client.Object) []ctrl.Request {
	key := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()[clusterv1.ClusterNameLabel]}
	if key.Name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: key}}
}

// Reconcile looks at one Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.load(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if v == nil {
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if rest := r.meter.Rest(v.Key, v.Now); rest > 0 {
		return ctrl.Result{RequeueAfter: rest}, nil
	}
	due := endOfTime
	r.meter.Charge(v.Key, r.Now, func() {
		for _, v.current = range v.memory.looks {
			if v.look(ctx); v.current.due.Before(due) {
				due = v.current.due
			}
		}
	})
	if due.Equal(endOfTime) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(due.Sub(r.Now()), time.Millisecond)}, nil
}

func (r *Reconciler) forget(cluster client.ObjectKey) {
	r.meter.Forget(cluster, r.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memories[cluster] == nil {
		return
	}
	for _, k := range r.memories[cluster].looks {
		if f, ok := k.Keep.(*Findings); ok { // which has a metric and bytes
			f.forget(r, cluster)
		}
	}
	delete(r.memories, cluster)
}

// look has a keep look if it is time for that.
func (v *Visit) look(ctx context.Context) {
	asked := v.asked()
	v.Needs, v.replied = v.current.Needs(v.Cluster, v.objects, asked), map[string]bool{}
	now := slices.ContainsFunc(v.Needs, func(name string) bool { return asked[name] })
	if !now && slices.Equal(v.Needs, v.current.needs) && v.Now.Before(v.current.due) {
		return
	}
	v.current.needs, v.current.due = v.Needs, endOfTime
	err := workload.Brief(timely(ctx, workload.Guard(ctx, func() error { return v.current.Look(ctx, v) })))
	if err != nil {
		v.LookAgain(retryDelay)
		log := ctrl.LoggerFrom(ctx)
		if workload.OutOfReach(err) {
			log = log.V(4)
		}
		log.Info("Objects in the workload cluster could not be kept as they must be", "error", err.Error())
	}
	for _, name := range v.Needs {
		if !v.replied[name] {
			v.Reply(name, err, 0)
		}
	}
}

// load returns nil for a Cluster that is not to be looked at.
func (r *Reconciler) load(ctx context.Context, key client.ObjectKey) (*Visit, error) {
	v := &Visit{Key: key, Cluster: &clusterv1.Cluster{}, Now: r.Now(), r: r}
	err := r.Client.Get(ctx, key, v.Cluster)
	if apierrors.IsNotFound(err) || err == nil && !workload.IsUp(v.Cluster) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get cluster: %w", err)
	}
	v.objects, _ = r.List.DeepCopyObject().(client.ObjectList)
	if err := v.list(ctx, v.objects); err != nil {
		return nil, fmt.Errorf("list objects of the cluster: %w", err)
	}
	owned := r.WatchFilter == "" || labels.HasWatchLabel(v.Cluster, r.WatchFilter)
	err = meta.EachListItem(v.objects, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		owned = owned || ok && labels.HasWatchLabel(o, r.WatchFilter)
		return nil
	})
	if err != nil || !owned {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v.memory = r.memoryOf(key)
	return v, nil
}

// list reads the objects of the Cluster in the cache.
func (v *Visit) list(ctx context.Context, list client.ObjectList) error {
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: v.Key.Name}
	return v.r.Client.List(ctx, list, client.InNamespace(v.Key.Namespace), ofCluster, client.UnsafeDisableDeepCopy)
}

// breakOff is the error that ends a look in its midst: the cluster is out of reach, or the time is over.
func breakOff(ctx context.Context, err error) error {
	if workload.OutOfReach(err) {
		return err
	}
	return ctx.Err()
}

// timely makes of a look that took too long what it is: a cluster that cannot be reached.
func timely(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return &workload.UnreachableError{Why: "takes too long to answer"}
	}
	return err
}
