package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capwin/cluster-api-provider-windows/controllers/cluster/nodes"
	"github.com/capwin/cluster-api-provider-windows/internal/turns"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	hostile = "hostile"
	// answerTime is just below what internal/workload lets a call take, and a look at a cluster that fails has a call for each role.
	answerTime, slowLook = 4900 * time.Millisecond, 2 * answerTime
)

// slowly reaches the workload cluster of every Cluster. Those of the namespace hostile answer late, with a
// failure, so that they are looked at again and again.
type slowly struct{ fast, slow client.Client }

// GetClient implements Workload.
func (s slowly) GetClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	if cluster.Namespace == hostile {
		return s.slow, nil
	}
	return s.fast, nil
}

func newSlowly(api client.WithWatch) slowly {
	late := interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			late, end := context.WithTimeout(ctx, answerTime)
			defer end()
			<-late.Done()
			return apierrors.NewInternalError(errors.New("not now"))
		},
	}
	return slowly{api, interceptor.NewClient(api, late)}
}

// runs starts the controller as a manager does, from a look at all Clusters on.
func (s *stage) runs(t *testing.T) {
	t.Helper()
	var all clusterv1.ClusterList
	expect.OK(t, s.management.List(t.Context(), &all))
	run := expect.Got(controller.NewTypedUnmanaged("clusterrights", controller.TypedOptions[ctrl.Request]{
		Reconciler: s.Reconciler, MaxConcurrentReconciles: atOnce, ReconciliationTimeout: longestLook, NewQueue: turns.NewQueue,
		SkipNameValidation: new(true),
		LogConstructor:     func(*ctrl.Request) logr.Logger { return logr.Discard() },
	}))(t)
	expect.OK(t, run.Watch(s.Asked()))
	expect.OK(t, run.Watch(source.Func(func(_ context.Context, queue queue) error {
		for _, c := range all.Items {
			queue.Add(ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&c)})
		}
		return nil
	})))
	go func() { expect.Fine(t, run.Start(t.Context())) }()
}

// TestSlowNeighbours: a thousand Clusters of one namespace, each of which answers each call in 4.9 seconds, delay the revocation
// of another namespace's rights, and the answer to its question, by one look at most.
func TestSlowNeighbours(t *testing.T) {
	for _, neighbours := range []int{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, slowClusters(neighbours)...)
			s.Now, s.Workload = time.Now, newSlowly(s.workload)
			for _, object := range nodes.KubeProxy.Objects() {
				expect.OK(t, s.workload.Create(t.Context(), object.DeepCopy()))
			}
			takes := func(begin time.Time, is func() bool) time.Duration {
				for !is() && time.Since(begin) < time.Hour {
					<-time.After(100 * time.Millisecond)
				}
				return time.Since(begin)
			}
			begin := time.Now()
			s.runs(t)
			revoked := takes(begin, func() bool { return len(s.there(t)) == 0 })
			longest := time.Duration(0)
			for i := range 20 {
				asker := client.ObjectKey{Namespace: prod.Namespace, Name: fmt.Sprint("c", i)}
				longest = max(longest, takes(time.Now(), func() bool {
					known, _ := s.Ask(prod, asker, string(nodes.Flannel))
					return known
				}))
				<-time.After(10*time.Minute + 7*time.Second) // the answer serves no longer
			}
			t.Logf("%d slow Clusters: rights are revoked after %s, and the longest wait for an answer is %s", neighbours, revoked, longest)
			if latest := 10*time.Minute + retryDelay + slowLook; revoked > latest {
				t.Errorf("revoked after %s, and not after %s", revoked, latest)
			}
			if longest > slowLook+time.Second {
				t.Errorf("a question waits %s for an answer, and a look takes %s", longest, slowLook)
			}
		})
	}
}

// TestBusyNeighbours: the looks at a thousand Clusters of one namespace, each of which costs ten seconds of a processor and is
// due again each minute, take a quarter of a processor, and each Cluster gets one. A look at another namespace's is not late.
func TestBusyNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cost, lasts = 10 * time.Second, 12 * time.Hour
		s := newStage(t, slowClusters(1000)...)
		looks := map[client.ObjectKey]int{}
		s.Now, s.Workload = time.Now, reachFunc(func(key client.ObjectKey) (client.Client, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			looks[key]++
			return nil, errors.New("not now")
		})
		s.meter.Work = func(look func()) time.Duration {
			look()
			select {
			case <-time.After(cost):
			case <-t.Context().Done():
			}
			return cost
		}
		s.runs(t)
		<-time.After(lasts)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		busy := 0
		for key, n := range looks {
			if key.Namespace == hostile {
				busy += n
			}
		}
		most := int(float64(lasts/cost)*0.25) + atOnce + 2 // looks that had begun when the share was used up are ended
		t.Logf("%d looks at a busy namespace's Clusters in %s, and %d at the other one's", busy, lasts, looks[prod])
		expect.Same(t, "the busy namespace has its share and no more", true, busy > most*9/10 && busy <= most)
		expect.Same(t, "Clusters that were looked at", 1001, len(looks))
		expect.Same(t, "the other one is looked at each minute", true, looks[prod] >= int(lasts/(retryDelay+2*cost)))
	})
}

// reachFunc reaches workload clusters by a function.
type reachFunc func(client.ObjectKey) (client.Client, error)

// GetClient implements Workload.
func (f reachFunc) GetClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	return f(cluster)
}

func slowClusters(count int) (all []client.Object) {
	for i := range count {
		c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: hostile, Name: fmt.Sprint("c", i)}}
		c.Status.Initialization.ControlPlaneInitialized = new(true)
		all = append(all, c)
	}
	return all
}
