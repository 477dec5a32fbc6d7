package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/guests"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/policies"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// heap is what the heap has.
func heap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // because a heap has less than 2^63 bytes
}

// forgetful is an API server that stores nothing, and answers each write with 200 KiB more than it was sent.
func forgetful(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			written, ok := o.(*unstructured.Unstructured)
			if !ok {
				return c.Create(ctx, o, options...)
			}
			written.Object["more"] = strings.Repeat("x", 200<<10)
			return nil
		},
	})
}

// hostileLists are lists of a Windows Node, and of DaemonSets that come there.
type hostileLists []byte

// RoundTrip implements http.RoundTripper.
func (h hostileLists) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"items":[]}`
	switch r.URL.Path {
	case nodesPath:
		body = `{"items":[{"metadata":{"name":"win-0","labels":{"kubernetes.io/os":"windows"}}}]}`
	case daemonSetsPath:
		body = string(h)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// listOf has DaemonSets with names of 253 bytes that exclude so many values of a label.
func listOf(count, values int) hostileLists {
	requirement := corev1.NodeSelectorRequirement{Key: "x", Operator: corev1.NodeSelectorOpNotIn}
	for range values {
		requirement.Values = append(requirement.Values, strings.Repeat("v", 63))
	}
	var items []client.Object
	for i := range count {
		set := agent(fmt.Sprintf("%03d%s", i, strings.Repeat("n", 250)))
		set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{requirement}},
			}},
		}}
		items = append(items, set)
	}
	text, _ := json.Marshal(map[string]any{"items": items}) // objects always can
	return text
}

// newHostileStage has Clusters of one namespace whose API servers send what they like.
func newHostileStage(t *testing.T, clusters int, lists hostileLists) *stage {
	t.Helper()
	objects := slowClusters(clusters)
	for _, o := range objects {
		objects = append(objects, &infrav1.WindowsMachine{ObjectMeta: metav1.ObjectMeta{
			Namespace: hostile, Name: o.GetName(), Labels: map[string]string{clusterv1.ClusterNameLabel: o.GetName()},
		}})
	}
	s, server := newStage(t, objects...), newLists(t)
	server.through(t, lists, 3)
	s.workload = forgetful(s.workload)
	s.Object, s.List = &infrav1.WindowsMachine{}, &infrav1.WindowsMachineList{}
	s.Keeps = func() []Keep {
		p := &Policies{Lists: server}
		return []Keep{p, &Findings{Policies: p, Count: func(string, string, int) {}}, &NodeRights{Live: s.management}, &GuestRights{}}
	}
	s.meter.Work = func(look func()) time.Duration { look(); return 0 }
	s.Bytes = &tenants.Bytes{Limits: tenants.Limits{hostile: {tenants.Clusters: 1}}}
	return s
}

// lookAt looks at a hostile Cluster for all that others ask.
func (s *stage) lookAt(t *testing.T, cluster client.ObjectKey) {
	t.Helper()
	for _, name := range []string{string(nodes.KubeProxy), string(nodes.Flannel), guests.Name, policies.Name} {
		_, _ = s.Ask(cluster, asker, name)
	}
	_ = expect.Got(s.Reconcile(t.Context(), ctrl.Request{NamespacedName: cluster}))(t)
	s.calls = nil
}

// TestMemoryOfHostileClusters: what their API servers send takes no more of the heap than the namespace may have, a finding is
// about what is left out, and what is gone has given its room back.
func TestMemoryOfHostileClusters(t *testing.T) {
	const clusters, most = 8, 512 << 10
	for what, c := range map[string]struct {
		lists   hostileLists
		leftOut bool
	}{
		"200 long names": {listOf(200, 1), true}, "5 sentences of 40 KiB": {listOf(5, 600), false},
	} {
		newHostileStage(t, 1, c.lists).lookAt(t, named(0)) // what is made once in a process
		s := newHostileStage(t, clusters, c.lists)
		before, leftOut := heap(), 0
		for range 2 {
			for i := range clusters {
				s.lookAt(t, named(i))
				leftOut += strings.Count(strings.Join(s.tells(), ""), "which are left out")
			}
			s.clock = s.clock.Add(time.Minute)
		}
		kept := heap() - before
		t.Logf("%s: %d Clusters take %d KiB of the heap", what, clusters, kept>>10)
		if kept > most+clusters*most/16 { // each Cluster has a few KiB beside what is counted
			t.Errorf("%s: %d bytes are kept", what, kept)
		}
		expect.Same(t, what+": a finding is about the rest", c.leftOut, leftOut > 0)
		for i := range clusters {
			expect.OK(t, s.management.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
				Namespace: hostile, Name: named(i).Name,
			}}))
			s.lookAt(t, named(i))
		}
		expect.Same(t, what+": room when all are gone", true, s.Bytes.Swap(hostile, 0, most))
	}
}

func named(cluster int) client.ObjectKey {
	return client.ObjectKey{Namespace: hostile, Name: fmt.Sprint("c", cluster)}
}
