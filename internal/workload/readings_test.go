package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// slow is a cluster whose list of Nodes takes its time.
type slow struct {
	client.Client
	takes time.Duration
	ends  error
}

// List implements client.Reader.
func (s *slow) List(context.Context, client.ObjectList, ...client.ListOption) error {
	later(s.takes)
	return s.ends
}

// list reads from a cluster as its callers do.
func list(t *testing.T, of *reading[[]corev1.Node], api client.Client) ([]corev1.Node, error) {
	t.Helper()
	return of.get(t.Context(), fresh, func(ctx context.Context) ([]corev1.Node, error) { return readControlPlane(ctx, api) })
}

// Who asks while another caller reads waits a moment, and gets the same; after that it is turned away.
func TestReadingOfAnother(t *testing.T) {
	for takes, turnedAway := range map[time.Duration]int64{patience / 2: 0, 3 * time.Second: 49} {
		synctest.Test(t, func(t *testing.T) {
			var n reading[[]corev1.Node]
			var callers sync.WaitGroup
			var away atomic.Int64
			began := time.Now()
			for range 50 {
				callers.Go(func() {
					if _, err := list(t, &n, &slow{takes: takes}); OutOfReach(err) {
						away.Add(1)
					} else {
						expect.OK(t, err)
					}
				})
			}
			callers.Wait()
			expect.Same(t, "time of all callers", takes, time.Since(began))
			expect.Same(t, "turned away", turnedAway, away.Load())
		})
	}
}

// A reading that fails has failed for all who wait for it.
func TestFailedReadingOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n reading[[]corev1.Node]
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if _, err := list(t, &n, &slow{takes: patience / 2, ends: errAway}); !errors.Is(err, errAway) {
					t.Errorf("error = %v", err)
				}
			})
		}
		callers.Wait()
	})
}

// boundless is a cluster whose lists have names of 16 KiB, page after page. It counts the lists.
type boundless struct {
	client.Client
	lists int
}

// List implements client.Reader.
func (b *boundless) List(_ context.Context, o client.ObjectList, _ ...client.ListOption) error {
	b.lists++
	if list, ok := o.(*corev1.NodeList); ok {
		list.Continue, list.Items = "more", make([]corev1.Node, mostNodes)
		for i := range list.Items {
			list.Items[i].Name = strings.Repeat("n", 16<<10)
		}
	}
	return nil
}

// TestMemoryOfReadings: no more is kept of a namespace's clusters than it may have. Who asks gets what it has read all the same,
// and what serves no more is dropped.
func TestMemoryOfReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4 * 512 << 10
		c := &Clusters{Bytes: &tenants.Bytes{Limits: tenants.Limits{"tenant": {tenants.Clusters: 4}}}}
		api, kept := &boundless{}, 0
		ask := func(cluster int) {
			t.Helper()
			name := client.ObjectKey{Namespace: "tenant", Name: fmt.Sprint(cluster)}
			nodes := expect.Got(c.cluster(name).linux.get(t.Context(), fresh, func(ctx context.Context) (Nodes, error) {
				return readLinux(ctx, api, brief)
			}))(t)
			expect.Same(t, "Nodes", mostPages*mostNodes, len(nodes.Found))
		}
		for cluster := range 64 {
			ask(cluster)
		}
		for _, k := range c.clusters {
			kept += tenants.SizeOf(k.linux.found)
		}
		t.Logf("%d KiB are kept of 64 clusters", kept>>10)
		expect.Same(t, "what is kept is in the bound, and counted", true, kept <= most && !c.Bytes.Swap("tenant", 0, most-kept+1))
		api.lists = 0
		ask(0)
		expect.Same(t, "lists for what is kept", 0, api.lists)
		ask(63)
		expect.Same(t, "lists for what is not", mostPages, api.lists)
		later(fresh)
		synctest.Wait()
		expect.Same(t, "room once it serves no more", true, c.Bytes.Swap("tenant", 0, most))
	})
}

// TestLongErrors: what a decoder quotes of an answer is not kept.
func TestLongErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n reading[[]corev1.Node]
		_, err := list(t, &n, &slow{ends: errors.New(strings.Repeat("x", 1<<20))})
		expect.Same(t, "what a caller gets, and what is kept", []int{maxText, maxText}, []int{len(err.Error()), len(n.err.Error())})
		_, err = list(t, &n, &slow{ends: errAway})
		expect.Same(t, "a short one", true, errors.Is(err, errAway))
	})
}
