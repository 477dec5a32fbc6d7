package placement

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	nodev1 "k8s.io/api/node/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/workload"
)

// teller tells people what it finds in the views. It is called from one goroutine for each Cluster, and may be called for several
// at the same time.
type teller interface {
	// look is called when a view has changed and is complete, and every few minutes.
	look(ctx context.Context, about *clusterv1.Cluster, of *view)
	// plan is called once, before our policy first changes workloads of the Cluster, with a sentence.
	plan(ctx context.Context, about *clusterv1.Cluster, text string)
	// forget is called when a Cluster is not looked after any more.
	forget(cluster client.ObjectKey)
}

// view is what the watches of a workload cluster have told. It may be asked from any goroutine. What is returned is the caller's.
type view struct {
	mu     sync.Mutex
	stores map[string]*store // of what decides, by the name of a resource, as daemonsets
	own    map[string]*store // of our own objects
	kept   int
	// released says that it is nobody's any more, and keeps nothing.
	released bool
	// changed counts what has changed of what decides; version is what the API server says of itself, "" while that is not known.
	changed uint64
	version string
	// notKept are sentences for people: why the policies do not keep everything.
	notKept []string
	// news gets a value when something has changed.
	news chan struct{}
}

// The resources that decide where pods go.
const (
	nodes        = "nodes"
	daemonSets   = "daemonsets"
	deployments  = "deployments"
	statefulSets = "statefulsets"
	classes      = "runtimeclasses"
)

// kinds are those of workloads, by their resource.
var kinds = map[string]string{daemonSets: "DaemonSet", deployments: "Deployment", statefulSets: "StatefulSet"}

func newView() *view {
	shared := &atomic.Int64{}
	v := &view{stores: map[string]*store{}, own: map[string]*store{}, news: make(chan struct{}, 1)}
	v.stores[nodes] = &store{kept: &v.kept, shared: shared, brief: briefNode}
	v.stores[classes] = &store{kept: &v.kept, shared: shared, brief: briefClass}
	v.stores[services] = &store{kept: &v.kept, shared: shared, brief: briefService}
	for resource := range kinds {
		v.stores[resource] = &store{kept: &v.kept, shared: shared, brief: briefWorkload}
	}
	for resource, kind := range ownKinds {
		named := func(name string) string { return keyOf(kind, name) }
		v.own[resource] = &store{kept: &v.kept, shared: shared, brief: briefOwn(kind), keyOf: named}
	}
	return v
}

// share has the view count what it keeps together with other views. It must be called before a watch tells it anything.
func (v *view) share(count *atomic.Int64) {
	for _, stores := range []map[string]*store{v.stores, v.own} {
		for _, s := range stores {
			s.shared = count
		}
	}
}

// release gives back the share of a cluster that is not looked after any more.
func (v *view) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.released = true
	for _, stores := range []map[string]*store{v.stores, v.own} {
		for _, s := range stores {
			s.hide("")
		}
	}
}

// feeds are all that is watched of a cluster.
func (v *view) feeds() (all []*workload.Feed) {
	for _, of := range watched {
		all = append(all, &workload.Feed{Resource: of, Lists: true, Told: func(e workload.Event) { v.take(of.Name, e) }})
	}
	return all
}

// take is the callback of the watch of a resource.
func (v *view) take(resource string, e workload.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.released {
		return
	}
	if own := v.own[resource]; own != nil {
		if own.take(e) {
			v.wake()
		}
		return
	}
	v.note(v.stores[resource].take(e))
}

// setVersion notes what the API server says of itself.
func (v *view) setVersion(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note(v.version != version)
	v.version = version
}

// setPolicies notes why the policies do not keep everything.
func (v *view) setPolicies(notKept []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note(!slices.Equal(v.notKept, notKept))
	v.notKept = notKept
}

// isListed says that all objects of a resource were told, and isHidden that the API server does not show them.
func (v *view) isListed(resource string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.store(resource).listed
}

func (v *view) isHidden(resource string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.store(resource).hidden != ""
}

// isAbsent says that the API server does not have a resource.
func (v *view) isAbsent(resource string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.store(resource).absent
}

// store must be called with the lock.
func (v *view) store(resource string) *store {
	if own := v.own[resource]; own != nil {
		return own
	}
	return v.stores[resource]
}

// note must be called with the lock.
func (v *view) note(news bool) {
	if news {
		v.changed++
		v.wake()
	}
}

func (v *view) wake() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// state is what is known of a view as a whole.
type state struct {
	// changed is another number whenever something that decides has changed.
	changed uint64
	// complete says that all objects of all resources were told, but for those that the API server hides.
	complete bool
	// hidden are resources that the API server does not show, with its reason, by their name.
	hidden map[string]string
	// leftOut are objects that were too large, or for which there was no room.
	leftOut int
	// version is that of the API server, as v1.36.3, or "".
	version string
	// notKept are sentences for people: why the policies do not keep everything.
	notKept []string
}

func (v *view) state() state {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := state{
		changed: v.changed, complete: true, hidden: map[string]string{}, version: v.version,
		notKept: slices.Clone(v.notKept),
	}
	for name, store := range v.stores {
		s.leftOut += store.leftOut()
		if store.hidden != "" {
			s.hidden[name] = store.hidden
		} else if !store.listed {
			s.complete = false
		}
	}
	return s
}

// node is a Node of the cluster, with all its labels.
type node struct {
	verdict.Node
	Ready bool
	// Kubelet is the version of the kubelet.
	Kubelet string
	Created time.Time
}

// nodes are those that run Windows, and the others, each by name.
func (v *view) nodes() (windows, linux []node) {
	for _, text := range v.texts(nodes) {
		one := nodeOf(text)
		if one.IsWindows() {
			windows = append(windows, one)
		} else {
			linux = append(linux, one)
		}
	}
	return windows, linux
}

// workloads are the DaemonSets, Deployments and StatefulSets, of each what decides where its pods go, and besides that: its
// annotations of ours, of its pods the label k8s-app, of its containers those with windowsOptions and those of kube-proxy, with
// name and image.
func (v *view) workloads() iter.Seq[verdict.Workload] {
	return func(yield func(verdict.Workload) bool) {
		for _, resource := range []string{daemonSets, deployments, statefulSets} {
			for _, text := range v.texts(resource) {
				if !yield(workloadOf(kinds[resource], text)) {
					return
				}
			}
		}
	}
}

// classes are the RuntimeClasses, of each its name and its scheduling.
func (v *view) classes() (all []nodev1.RuntimeClass) {
	for _, text := range v.texts(classes) {
		var one nodev1.RuntimeClass
		if json.Unmarshal(text, &one) == nil { // we have written it
			all = append(all, one)
		}
	}
	return all
}

// texts copies what is kept of a resource: nothing that is read of it holds the watches up.
func (v *view) texts(resource string) [][]byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	var texts [][]byte
	for _, text := range v.stores[resource].all() {
		texts = append(texts, text) // never changed, only replaced
	}
	return texts
}

// isOurAnnotation says that an annotation is one that we read.
func isOurAnnotation(key string) bool { return strings.HasPrefix(key, "capwin.io/") }

// isKubeProxy says that a container is one of kube-proxy, by its name or its image.
func isKubeProxy(name, image string) bool {
	return slices.ContainsFunc([]string{name, image}, func(text string) bool { return strings.Contains(text, "kube-proxy") })
}
