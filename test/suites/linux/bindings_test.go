package linux_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

var onWindows = client.MatchingLabels{corev1.LabelOSStable: "windows"}

// app is the label by which a pod says whose it is, and coreDNS what those of cluster DNS say.
const (
	app     = "k8s-app"
	coreDNS = "kube-dns"
)

// binding is that of a pod to a Node.
type binding struct {
	app, pod, node string
	// revision of the template that the pod of a DaemonSet has.
	revision string
	at       time.Time
	// meant: the pod selects Windows, or runs on both systems.
	meant bool
}

// bindings keeps each binding of each pod, from before the first Windows Node on.
type bindings struct {
	mu      sync.Mutex
	all     map[types.UID]binding
	windows map[string]bool // names of all Windows Nodes that were ever there
}

func watchBindings(ctx context.Context, t *testing.T, api kubernetes.Interface) *bindings {
	t.Helper()
	b := &bindings{all: map[types.UID]binding{}, windows: map[string]bool{}}
	watch(ctx, t, cache.NewListWatchFromClient(api.CoreV1().RESTClient(), "nodes", "", fields.Everything()), &corev1.Node{}, b.see)
	watch(ctx, t, cache.NewListWatchFromClient(api.CoreV1().RESTClient(), "pods", "", fields.Everything()), &corev1.Pod{}, b.see)
	if len(b.windows) > 0 {
		t.Fatal("the watch begins after the first Windows Node")
	}
	return b
}

// watch tells of all objects of a kind, and again of each that changes or goes. It returns once it has told of those that are
// there.
func watch(ctx context.Context, t *testing.T, from cache.ListerWatcher, kind runtime.Object, told func(any)) {
	t.Helper()
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: from, ObjectType: kind,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    told,
			UpdateFunc: func(_, o any) { told(o) },
			DeleteFunc: func(o any) {
				if last, is := o.(cache.DeletedFinalStateUnknown); is {
					o = last.Obj
				}
				told(o)
			},
		},
	})
	go informer.RunWithContext(ctx)
	wait.Eventually(t, fmt.Sprintf("the watch of %T", kind), func(context.Context) error {
		if !informer.HasSynced() {
			return errors.New("it has not told of all")
		}
		return nil
	})
}

func (b *bindings) see(object any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Node:
		if o.Labels[corev1.LabelOSStable] == "windows" {
			b.windows[o.Name] = true
		}
	case *corev1.Pod:
		if _, known := b.all[o.UID]; known || o.Spec.NodeName == "" {
			return
		}
		b.all[o.UID] = binding{
			app: o.Labels[app], pod: o.Namespace + "/" + o.Name, node: o.Spec.NodeName, at: time.Now(),
			revision: o.Labels[appsv1.ControllerRevisionHashLabelKey],
			meant:    o.Spec.NodeSelector[corev1.LabelOSStable] == "windows" || o.Labels[runsOn] != "",
		}
	}
}

// wrong are the bindings to Windows Nodes of pods that do not say that they are for Windows.
func (b *bindings) wrong() (all []binding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.all {
		if b.windows[one.node] && !one.meant {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b binding) int { return a.at.Compare(b.at) })
	return all
}

// of an app.
func of(all []binding, app string) (found []binding) {
	for _, one := range all {
		if one.app == app {
			found = append(found, one)
		}
	}
	return found
}

// count says how many bindings there are, to which system.
func (b *bindings) count() string {
	wrong := len(b.wrong())
	b.mu.Lock()
	defer b.mu.Unlock()
	toWindows := 0
	for _, one := range b.all {
		if b.windows[one.node] {
			toWindows++
		}
	}
	return fmt.Sprintf("%d bindings, %d of them to %d Windows Nodes, %d of these wrong",
		len(b.all), toWindows, len(b.windows), wrong)
}

func list(all []binding) string {
	var lines []string
	for _, one := range all {
		lines = append(lines, fmt.Sprintf("%s %s (%s, revision %s) on %s", one.at.Format("15:04:05.000"), one.pod, one.app,
			one.revision, one.node))
	}
	return strings.Join(lines, "\n")
}

// availability of cluster DNS, from when it is available on.
type availability struct {
	mu             sync.Mutex
	least          int32
	available, now bool
	told           int
}

func watchDNS(ctx context.Context, t *testing.T, api kubernetes.Interface) *availability {
	t.Helper()
	a := &availability{}
	from := cache.NewListWatchFromClient(api.AppsV1().RESTClient(), "deployments", "kube-system",
		fields.OneTermEqualSelector("metadata.name", "coredns"))
	watch(ctx, t, from, &appsv1.Deployment{}, a.see)
	return a
}

func (a *availability) see(object any) {
	d, is := object.(*appsv1.Deployment)
	if !is {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	has := d.Status.AvailableReplicas
	a.now = has > 0
	if !a.available && !a.now {
		return
	}
	if !a.available || has < a.least {
		a.available, a.least = true, has
	}
	a.told++
}

// lowest is how many replicas were available when the fewest were, and how often that was told; 0 before any was.
func (a *availability) lowest() (least int32, told int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.least, a.told
}
