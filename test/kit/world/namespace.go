package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// What every namespace has.
const (
	ClusterName = "linux-first"
	Credentials = "cloud"
)

// Namespace is a test's own part of the world, with a Cluster whose control plane is not ours.
type Namespace struct {
	*World
	Name string
	// Workload is the cluster that the machines of the namespace join.
	Workload *Workload
	// Filter and ClusterName are those of its Start.
	Filter, ClusterName string

	mu        sync.Mutex
	processes []*Process
	nodes     []string // that have joined
}

func (n *Namespace) noteNode(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = append(n.nodes, name)
}

func (n *Namespace) joins(p *Process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.processes = append(n.processes, p)
}

// running are the processes that have not ended and were not killed.
func (n *Namespace) running() []*Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.processes), func(p *Process) bool {
		select {
		case <-p.ended:
			return true
		default:
			return p.Gate.isDead()
		}
	})
}

// Start says how a namespace begins.
type Start struct {
	// NotInitialized leaves the control plane uninitialised until Initialize.
	NotInitialized bool
	// Credentials are the data of the Secret that machines refer to; nil means none is there.
	Credentials map[string][]byte
	// Infrastructure of the Cluster, with its status; an ExternalCluster when nil.
	Infrastructure *unstructured.Unstructured
	// Filter is the value of the watch-filter label of all machines; they have none when it is empty.
	Filter string
	// Workload is the cluster that the machines join; the world's own when nil.
	Workload *Workload
	// ClusterName is what Clusters of other tests are not called; ClusterName of this package when empty.
	ClusterName string
}

var namespaces atomic.Int32

// Namespace makes one. What is in it goes with the test.
func (w *World) Namespace(t *testing.T, s Start) *Namespace {
	t.Helper()
	if w == nil {
		t.Skip("needs real servers")
	}
	n := &Namespace{World: w, Name: fmt.Sprintf("%s-%d", w.Unique(label(t.Name())), namespaces.Add(1))}
	n.Workload, n.Filter, n.ClusterName = w.own, s.Filter, cmp.Or(s.ClusterName, ClusterName)
	if s.Workload != nil {
		n.Workload = s.Workload
	}
	if s.Infrastructure != nil {
		s.Infrastructure.SetNamespace(n.Name)
	}
	if !w.ends {
		t.Cleanup(func() { n.removeLeftovers(t) }) // after that of the processes, which start later
	}
	join := servers.JoinOptions{
		Namespace: n.Name, Name: n.ClusterName, Initialized: !s.NotInitialized, Infrastructure: s.Infrastructure,
	}
	expect.OK(t, servers.JoinAsCluster(t.Context(), w.Management, n.Workload.Workload, join))
	if s.Credentials != nil {
		n.SetCredentials(t, s.Credentials)
	}
	wait.Eventually(t, "the Cluster's own infrastructure and control plane", func(ctx context.Context) error {
		status := n.Cluster(ctx, t).Status.Initialization
		if !ptr.Deref(status.InfrastructureProvisioned, false) || ptr.Deref(status.ControlPlaneInitialized, false) == s.NotInitialized {
			return fmt.Errorf("initialization is %+v", status)
		}
		return nil
	})
	return n
}

// Unique makes a name that no other process has in the world, if there is one.
func (w *World) Unique(name string) string {
	if w == nil || w.name == "" {
		return name
	}
	return name + "-" + w.name
}

// label makes a name for Kubernetes of a test's.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimPrefix(name, "Test")))
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// Initialize lets the control plane become initialised.
func (n *Namespace) Initialize(t *testing.T) {
	t.Helper()
	expect.OK(t, servers.MarkInitialized(t.Context(), n.Management, client.ObjectKey{Namespace: n.Name, Name: n.ClusterName}))
}

// Cluster reads the Cluster.
func (n *Namespace) Cluster(ctx context.Context, t *testing.T) *clusterv1.Cluster {
	t.Helper()
	cluster := &clusterv1.Cluster{}
	expect.OK(t, n.Client.Get(ctx, client.ObjectKey{Namespace: n.Name, Name: n.ClusterName}, cluster))
	return cluster
}

// SetCredentials creates or replaces the Secret with the cloud's credentials.
func (n *Namespace) SetCredentials(t *testing.T, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: Credentials}, Data: maps.Clone(data)}
	err := n.Client.Create(t.Context(), secret)
	if err != nil {
		err = n.Client.Update(t.Context(), secret)
	}
	expect.OK(t, err)
}

// Pause sets or clears spec.paused of the Cluster.
func (n *Namespace) Pause(t *testing.T, paused bool) {
	t.Helper()
	Change(t, n.Client, n.Cluster(t.Context(), t), func(c *clusterv1.Cluster) { c.Spec.Paused = new(paused) })
}

// Change patches an object with what the function changes in it.
func Change[O client.Object](t *testing.T, api client.Client, object O, change func(O)) {
	t.Helper()
	before, _ := object.DeepCopyObject().(client.Object)
	change(object)
	expect.OK(t, api.Patch(t.Context(), object, client.MergeFrom(before)))
}

// ChangeStatus patches the status of an object with what the function changes in it.
func ChangeStatus[O client.Object](t *testing.T, api client.Client, object O, change func(O)) {
	t.Helper()
	before, _ := object.DeepCopyObject().(client.Object)
	change(object)
	expect.OK(t, api.Status().Patch(t.Context(), object, client.MergeFrom(before)))
}
