package placement

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// world is a management cluster, and the workload cluster of its Cluster prod, whose API server obeys the policies as a real one
// does: test/linux has the same with that. Its other Clusters have no Windows.
type world struct {
	*testing.T

	management client.WithWatch
	api        client.Client
	bare       client.Client // of the other Clusters
	keeper     *Keeper
	teller     teller // the world itself, unless a test has another
	forgotten  []string
	plans      []string

	mu      sync.Mutex
	away    bool   // it cannot be reached
	deaf    bool   // it does not obey
	refuses error  // what it says to each write and probe
	old     bool   // it is of 1.35, without MutatingAdmissionPolicies
	mute    string // of this resource it tells nothing
	feeds   map[string][]*workload.Feed
	follows int
	version string
	calls   map[string]int // by verb; dry is that of a dry run
}

func (w *world) FollowAll(ctx context.Context, _ client.ObjectKey, feeds ...*workload.Feed) error {
	w.mu.Lock()
	w.follows++
	if w.away {
		w.mu.Unlock()
		return &workload.UnreachableError{Why: "cannot be reached"}
	}
	for _, feed := range feeds {
		w.begin(feed)
		w.feeds[feed.Name] = append(w.feeds[feed.Name], feed)
	}
	w.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

// begin begins a watch.
func (w *world) begin(feed *workload.Feed) {
	if w.old && strings.HasPrefix(feed.Name, "mutating") {
		feed.Told(workload.Event{
			Type: workload.Hidden, Why: apierrors.NewNotFound(schema.GroupResource{Group: feed.Group, Resource: feed.Name}, ""),
		})
		return
	}
	if feed.Name == w.mute {
		return
	}
	feed.Told(workload.Event{Type: workload.Begun})
	w.list(feed)
	feed.Told(workload.Event{Type: workload.Listed})
}

// list tells what is there.
func (w *world) list(feed *workload.Feed) {
	kind := ownKinds[feed.Name]
	if kind == "" {
		kind = kinds[feed.Name]
	}
	gvk := schema.GroupVersionKind{Group: feed.Group, Version: feed.Version, Kind: kind + "List"}
	switch feed.Name {
	case nodes:
		gvk.Kind = "NodeList"
	case classes:
		gvk.Kind = "RuntimeClassList"
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	expect.OK(w, w.api.List(context.Background(), list, client.InNamespace(feed.Namespace)))
	for i := range list.Items {
		feed.Told(workload.Event{Type: watch.Added, Object: expect.Got(json.Marshal(&list.Items[i]))(w)})
	}
}

// tell has the watches told of an object. It must be called with the lock.
func (w *world) tell(what watch.EventType, resource string, object client.Object) {
	for _, feed := range w.feeds[resource] {
		feed.Told(workload.Event{Type: what, Object: expect.Got(json.Marshal(object))(w)})
	}
}

func (w *world) GetClient(_ context.Context, key client.ObjectKey) (client.Client, error) {
	w.mu.Lock()
	hangs := strings.HasPrefix(key.Name, "dead")
	if hangs {
		w.calls[key.Name]++
	}
	w.mu.Unlock()
	if hangs {
		<-time.After(5 * time.Second)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away || hangs {
		return nil, &workload.UnreachableError{Why: "cannot be reached"}
	}
	if key.Name != "prod" {
		return w.bare, nil
	}
	return w.api, nil
}

func (w *world) Version(context.Context, client.ObjectKey) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version, nil
}

func (w *world) look(context.Context, *clusterv1.Cluster, *view) {}

// plan notes what people read, and whether that was before the policy.
func (w *world) plan(ctx context.Context, _ *clusterv1.Cluster, text string) {
	policy := policies.Mutating()[0]
	if w.api.Get(ctx, client.ObjectKeyFromObject(policy), policy) == nil {
		text = "too late: " + text
	}
	w.plans = append(w.plans, text)
}

func (w *world) forget(key client.ObjectKey) { w.forgotten = append(w.forgotten, key.Name) }

// newWorld has the Cluster prod with one WindowsMachine, and a Node of each system.
func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.OK(t, errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme),
		infrav1.AddToScheme(scheme)))
	w := &world{T: t, version: "v1.36.3", feeds: map[string][]*workload.Feed{}, calls: map[string]int{}}
	w.teller = w
	w.management = fake.NewClientBuilder().WithScheme(scheme).WithObjects(aCluster(), aMachine()).Build()
	w.api = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithObjects(
		aNode("linux-0", "linux", "l"), aNode("win-0", "windows", "w"),
	).WithInterceptorFuncs(w.funcs()).Build()
	w.bare = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(w.funcs()).Build()
	return w
}

// funcs count calls, answer probes, and have the watches told of what is written.
func (w *world) funcs() interceptor.Funcs {
	told := func(verb string, o client.Object, err error) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls[verb]++
		if resource := resourceOf(o.GetObjectKind().GroupVersionKind().Kind); err == nil && resource != "" {
			what := watch.Modified
			if verb == "delete" {
				what = watch.Deleted
			}
			w.tell(what, resource, o)
		}
		return err
	}
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if len(opts) > 1 { // no watch's
				w.mu.Lock()
				w.calls["list"]++
				w.mu.Unlock()
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return told("get", &corev1.Pod{}, c.Get(ctx, key, o, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if len(opts) > 0 {
				return w.probe(ctx, c, o)
			}
			return told("create", o, c.Create(ctx, o, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return told("update", o, c.Update(ctx, o, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return told("delete", o, c.Delete(ctx, o, opts...))
		},
		Apply: func(ctx context.Context, c client.WithWatch, a runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			w.mu.Lock()
			refuses := w.refuses
			w.mu.Unlock()
			if refuses != nil {
				return told("apply", &unstructured.Unstructured{}, refuses)
			}
			err := c.Apply(ctx, a, opts...)
			var made unstructured.Unstructured
			expect.OK(w, json.Unmarshal(expect.Got(json.Marshal(a))(w), &made.Object))
			return told("apply", &made, err)
		},
	}
}

func resourceOf(kind string) string {
	for resource, of := range ownKinds {
		if of == kind {
			return resource
		}
	}
	return ""
}

// probe answers a dry run as an API server does that obeys the policies which it has.
func (w *world) probe(ctx context.Context, api client.Client, o client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls["dry"]++
	if w.refuses != nil {
		return w.refuses
	}
	object, _ := o.(*corev1.ConfigMap)
	obeys := func(policy *unstructured.Unstructured) bool {
		return !w.deaf && api.Get(ctx, client.ObjectKeyFromObject(policy), policy) == nil
	}
	if object.Name == policies.ProbeMutating().Name {
		if w.version > "v1.36" && obeys(policies.Mutating()[0]) {
			object.Data = map[string]string{"mutated": "yes"}
		}
		return nil
	}
	for _, policy := range policies.Validating() {
		if policy.GetName() == "capwin-dns-stays-on-linux" && obeys(policy) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, object.Name,
				errors.New("ValidatingAdmissionPolicy 'capwin-dns-stays-on-linux' with binding 'x' denied request: y"))
		}
	}
	return nil
}

// start starts a process, in a bubble; end ends it.
func (w *world) start() (end func()) {
	w.keeper = &Keeper{Client: w.management, Workload: w, Teller: w.teller}
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(w.Context(), logr.Discard()))
	ended := make(chan error, 1)
	go func() { ended <- w.keeper.Start(ctx) }()
	synctest.Wait()
	return func() {
		w.Helper()
		cancel()
		expect.OK(w, <-ended)
		w.mu.Lock()
		w.feeds = map[string][]*workload.Feed{}
		w.mu.Unlock()
	}
}

// passes lets time pass.
func (w *world) passes(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// since returns the calls since the last time.
func (w *world) since() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = map[string]int{}
	return calls
}

// missing are those of our objects that are not there.
func (w *world) missing() (names []string) {
	w.Helper()
	for _, o := range ownObjects(append(policies.Validating(), policies.Mutating()...)...) {
		there := o.DeepCopy()
		if w.api.Get(context.Background(), client.ObjectKeyFromObject(o), there) != nil {
			names = append(names, o.String())
		}
	}
	w.since()
	return names
}

func aCluster() *clusterv1.Cluster {
	c := &clusterv1.Cluster{}
	c.Namespace, c.Name, c.UID = metav1.NamespaceDefault, "prod", "uid-of-prod"
	c.Status.Initialization.ControlPlaneInitialized = new(true)
	return c
}

func aMachine() *infrav1.WindowsMachine {
	m := &infrav1.WindowsMachine{}
	m.Namespace, m.Name = metav1.NamespaceDefault, "prod-win-0"
	m.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod"}
	return m
}

func aNode(name, system, pool string) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.Labels = name, map[string]string{corev1.LabelOSStable: system, "pool": pool}
	return n
}
