package guests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// slow are clusters that keep each caller waiting, and then are away. They count who waits, and who was ever served.
type slow struct {
	mu     sync.Mutex
	counts map[string]int
	most   map[string]int
	tries  map[client.ObjectKey]int
}

// GetClient is that of Ears.
func (s *slow) GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	s.add(cluster, 1)
	defer s.add(cluster, -1)
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	<-bounded.Done()
	return nil, errors.New("no answer")
}

func (s *slow) add(cluster client.ObjectKey, delta int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts, s.most, s.tries = map[string]int{}, map[string]int{}, map[client.ObjectKey]int{}
	}
	s.counts[cluster.Namespace] += delta
	s.most[cluster.Namespace] = max(s.most[cluster.Namespace], s.counts[cluster.Namespace])
	if delta > 0 {
		s.tries[cluster]++
	}
}

// figures are how many of the crowd were asked at a time, and how many had a turn.
func (s *slow) figures() (most, tried int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most["crowd"], len(s.tries)
}

// TestTurnsOfClusters: of 400 clusters of a namespace that answer late, 64 are asked at a time, or as many as the namespace may
// have, and each has its turn. Another namespace does not wait for them.
func TestTurnsOfClusters(t *testing.T) {
	for limit, entries := range map[int][]string{64: nil, 200: {"crowd:guests=200"}} {
		synctest.Test(t, func(t *testing.T) {
			s, honest := &slow{}, newCluster()
			honest.write(t, "win-1.a", "x")
			ears := &Ears{Limits: expect.Got(tenants.Parse(entries))(t)}
			var noticed []int
			ears.Notices = &tenants.Notices{
				Limits: ears.Limits, Publish: func(n tenants.Notice) { noticed = append(noticed, n.Count) },
			}
			running, end := run(t, ears, func(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
				if cluster == prod {
					return honest.GetClient(ctx, cluster)
				}
				return s.GetClient(ctx, cluster)
			})
			for i := range 400 {
				ears.Report(client.ObjectKey{Namespace: "crowd", Name: fmt.Sprint(i)}, "win-1.a", two, still)
			}
			ears.Report(prod, "win-1.a", one, still)
			synctest.Wait()
			expect.Same(t, "another namespace's report, at once", 1, len(running.heard))
			pass(2 * time.Minute)
			most, tried := s.figures()
			expect.Same(t, "clusters that are asked at a time", limit, most)
			expect.Same(t, "clusters that had a turn", 400, tried)
			expect.Same(t, "counts that are noticed", []int{limit * 3 / 4, limit}, noticed)
			expect.Same(t, "the other namespace's passes", 13, honest.calls())
			end()
		})
	}
}

// TestClusterThatComesAndGoes: of a Cluster with a new name every second, whose kubeconfig goes with it, nothing is left once its
// machines have not asked for half an hour.
func TestClusterThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		ears, end := started(t, s.GetClient)
		for i := range 3600 {
			ears.Report(client.ObjectKey{Namespace: "crowd", Name: fmt.Sprint(i)}, "win-1.a", two, still)
			pass(time.Second)
		}
		expect.Same(t, "clusters of the last half hour, that are asked for", true, ears.kept() <= 1800+120)
		most, _ := s.figures()
		expect.Same(t, "clusters that are asked at a time", true, most <= 64)
		pass(forget + 5*longestPause)
		expect.Same(t, "clusters", 0, ears.kept())
		end()
	})
}
