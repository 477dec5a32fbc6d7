// Package cluster looks after what belongs to a workload cluster as a whole, one Cluster at a time. A reader may rely on this:
//
//   - Each Cluster of this manager is looked at when the process is new, because no object of the management cluster has what
//     another process left in the workload cluster. One that is gone or paused is forgotten, and looked at anew when it comes
//     back.
//   - A Cluster that needs nothing and has nothing of ours is not asked again until it needs something.
//   - Namespaces take turns, and a look is bounded: clusters that answer slowly, however many, delay those of another namespace
//     by one look at most.
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
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/findings"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/keep"
	"github.com/capwin/cluster-api-provider-windows/controllers/owner"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/turns"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

const (
	// atOnce is how many clusters are looked at together: one that does not answer holds a worker for seconds.
	atOnce = 10
	// longestLook ends a look at a cluster that answers each call late.
	longestLook = time.Minute
	// often is how soon a cluster is looked at again where something has failed.
	often = time.Minute
	// maxNote is how long the note of an Event may be.
	maxNote = findings.MaxNote
)

// Workload reaches the workload clusters.
type Workload interface {
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

// Keep is one of the things that are kept in workload clusters. It is called for one Cluster at a time.
type Keep interface {
	// Needs are the names of what a Cluster needs, by its objects and by what others ask for. It MUST leave out what nobody needs
	// any more: the keep looks as soon as they are other ones.
	Needs(cluster *clusterv1.Cluster, objects []client.Object, asked map[string]bool) []string
	// Look brings the thing a step further in a cluster, whether something is needed there or not. It is called once in the life
	// of a process, when something else is needed or asked for, and when it has said so to the Visit. What fails is looked at again
	// in a minute, and answers what was asked for and not replied to.
	Look(ctx context.Context, v *Visit) error
	// Forget drops what is known of a cluster.
	Forget(cluster client.ObjectKey)
}

// Reconciler looks after the workload clusters of this manager's Clusters. Set its fields before use.
type Reconciler struct {
	// Name is that of the controller.
	Name string
	// Client reads the cache.
	Client   client.Reader
	Workload Workload
	Keeps    []Keep
	// Object and List are of the kind that makes a Cluster one of this manager, by its label.
	Object client.Object
	List   client.ObjectList
	// Events are about Clusters.
	Events events.EventRecorder
	Now    func() time.Time
	// WatchFilter is the value of the watch-filter label, if this manager is limited by it.
	WatchFilter string

	asks  asks
	known memories[memory]
}

// memory is what is known of a Cluster.
type memory struct {
	past  keep.Past
	looks map[Keep]*look
}

// look is the last one of a keep: what was needed then, and when to look again; zero for never.
type look struct {
	needs []string
	due   time.Time
}

// Visit is a look at a Cluster.
type Visit struct {
	Key     client.ObjectKey
	Cluster *clusterv1.Cluster // of the cache
	Now     time.Time
	// Needs are those of the keep that looks.
	Needs []string

	objects []client.Object // of this manager, that belong to the Cluster, of the cache
	r       *Reconciler
	memory  *memory
	due     time.Time
	replied map[string]bool
}

// Reach returns the workload cluster.
func (v *Visit) Reach(ctx context.Context) (*keep.Cluster, error) {
	api, err := v.r.Workload.GetClient(ctx, v.Key)
	return &keep.Cluster{API: api, Now: v.Now, Past: &v.memory.past}, err
}

// LookAgain has the keep look again after a while, or sooner. Zero is never.
func (v *Visit) LookAgain(after time.Duration) {
	if after > 0 {
		v.due = sooner(v.due, v.Now.Add(after))
	}
}

// within ends lists that take longer than that, before the look is ended for them: what comes after them in a look has time, too.
func (v *Visit) within(longest time.Duration) func() error {
	end := v.r.Now().Add(longest)
	return func() error {
		if v.r.Now().After(end) {
			return fmt.Errorf("its lists take longer than %s, and are not read any further", longest)
		}
		return nil
	}
}

// Reply answers those who have asked for a name, and who ask in the next while.
func (v *Visit) Reply(name string, answer error, serves time.Duration) {
	v.replied[name] = true
	v.r.asks.reply(topic{v.Key, name}, answer, v.Now.Add(serves))
}

// Ask returns the answer to whether a cluster has something of a name, without an error if it has. An object that asks what is
// not known, or ErrSettling of package keep, is woken when there is an answer.
func (r *Reconciler) Ask(cluster, asker client.ObjectKey, name string) (known bool, answer error) {
	return r.asks.ask(topic{cluster, name}, asker, r.Now())
}

// Asked has the Clusters that somebody asks about, for the controller of Clusters, and Answers the objects that have asked, for
// theirs.
func (r *Reconciler) Asked() source.Source { return r.asks.source(&r.asks.clusters) }

// Answers is beside Asked.
func (r *Reconciler) Answers() source.Source { return r.asks.source(&r.asks.askers) }

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
	var due time.Time
	for _, k := range r.Keeps {
		due = sooner(due, r.look(ctx, k, v))
	}
	for _, note := range v.memory.past.News() {
		r.Events.Eventf(v.Cluster, nil, corev1.EventTypeWarning, bootstrapv1.ObjectContestedReason, "Look", "%s",
			cloud.Clean(note, maxNote))
	}
	if due.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(due.Sub(r.Now()), time.Millisecond)}, nil
}

func (r *Reconciler) forget(cluster client.ObjectKey) {
	r.known.forget(cluster)
	r.asks.forget(cluster)
	for _, k := range r.Keeps {
		k.Forget(cluster)
	}
}

// look has a keep look if it is time for that, and returns when it is so again; zero for never.
func (r *Reconciler) look(ctx context.Context, k Keep, v *Visit) (due time.Time) {
	asked := r.asks.pending(v.Key, v.Now)
	v.Needs, v.due, v.replied = k.Needs(v.Cluster, v.objects, asked), time.Time{}, map[string]bool{}
	last, looked := v.memory.looks[k]
	now := slices.ContainsFunc(v.Needs, func(name string) bool { return asked[name] })
	if looked && !now && slices.Equal(v.Needs, last.needs) && (last.due.IsZero() || v.Now.Before(last.due)) {
		return last.due
	}
	err := workload.Guard(ctx, func() error { return k.Look(ctx, v) })
	if err = timely(ctx, err); err != nil {
		v.LookAgain(often)
		log := ctrl.LoggerFrom(ctx)
		if workload.OutOfReach(err) {
			log = log.V(4)
		}
		log.Info("What is kept in the workload cluster is not as it should be", "error", err.Error())
	}
	for _, name := range v.Needs {
		if !v.replied[name] {
			v.Reply(name, err, 0)
		}
	}
	v.memory.looks[k] = &look{v.Needs, v.due}
	return v.due
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
	list, _ := r.List.DeepCopyObject().(client.ObjectList)
	its := client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name}
	if err := r.Client.List(ctx, list, client.InNamespace(key.Namespace), its, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list objects of the cluster: %w", err)
	}
	found, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("list objects of the cluster: %w", err)
	}
	mine := r.WatchFilter == "" || labels.HasWatchLabel(v.Cluster, r.WatchFilter)
	for _, one := range found {
		if o, is := one.(client.Object); is {
			v.objects = append(v.objects, o)
			mine = mine || labels.HasWatchLabel(o, r.WatchFilter)
		}
	}
	if !mine {
		return nil, nil
	}
	if v.memory = r.known.of(key); v.memory.looks == nil {
		v.memory.looks = map[Keep]*look{}
	}
	return v, nil
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
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

// memories are what is known of clusters from look to look. The zero value is empty.
type memories[T any] struct {
	mu    sync.Mutex
	known map[client.ObjectKey]*T
}

// of returns what is known of a cluster. It is for whoever looks at that.
func (m *memories[T]) of(cluster client.ObjectKey) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[client.ObjectKey]*T{}
	}
	if m.known[cluster] == nil {
		m.known[cluster] = new(T)
	}
	return m.known[cluster]
}

func (m *memories[T]) forget(cluster client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, cluster)
}
