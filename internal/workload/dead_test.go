package workload

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// limited is a management cluster that answers as often as the manager asks by default, with one kubeconfig for all, and counts
// the reads of each namespace.
type limited struct {
	client.Reader
	limit      flowcontrol.RateLimiter
	kubeconfig string

	mu    sync.Mutex
	reads map[string]int
}

// Get implements client.Reader.
func (l *limited) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if err := l.limit.Wait(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads[key.Namespace]++
	if secret, ok := o.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{"value": []byte(l.kubeconfig)}
	}
	return nil
}

func newLimited(kubeconfig string) *limited {
	return &limited{limit: flowcontrol.NewTokenBucketRateLimiter(100, 200), kubeconfig: kubeconfig, reads: map[string]int{}}
}

func (l *limited) readOf(namespace string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads[namespace]
}

// TestDeadClusters: 2,000 clusters of one namespace whose kubeconfigs are no good, each asked for every five seconds, do not keep
// a read of another namespace waiting, and cost a tenth of the manager's calls at most.
func TestDeadClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := newLimited("clusters: [")
		c := &Clusters{Live: live}
		ctx, end := context.WithCancel(t.Context())
		var lookers sync.WaitGroup
		for i := range 2000 {
			lookers.Go(func() {
				for ctx.Err() == nil {
					_, err := c.GetClient(ctx, client.ObjectKey{Namespace: "dead", Name: fmt.Sprint(i)})
					if ctx.Err() == nil && !OutOfReach(err) {
						t.Errorf("the cluster answers: %v", err)
					}
					later(5 * time.Second)
				}
			})
		}
		longest, read := time.Duration(0), 0
		for minute := range 30 {
			later(time.Minute)
			began := time.Now()
			_, err := c.GetClient(t.Context(), client.ObjectKey{Namespace: "honest", Name: fmt.Sprint(minute)})
			expect.Same(t, "an answer", true, OutOfReach(err))
			longest = max(longest, time.Since(began))
			now := live.readOf("dead")
			if minute == 0 || minute == 29 {
				t.Logf("minute %d: %d reads for dead clusters", minute+1, now-read)
			}
			expect.Same(t, "reads in a minute within the namespace's pace", true, now-read <= 64+60*10)
			read = now
		}
		end()
		lookers.Wait()
		t.Logf("an honest read waited %s at most", longest)
		expect.Same(t, "an honest read waits less than a second", true, longest <= time.Second)
		expect.Same(t, "clusters that were never read", 0, unread(c))
	})
}

// unread counts the clusters whose kubeconfig was never looked at.
func unread(c *Clusters) (n int) {
	for _, k := range c.clusters {
		if k.read.IsZero() {
			n++
		}
	}
	return n
}

// TestRoomForConnections: a namespace keeps as many connections as it may have, those that were used last. All of its clusters
// can be reached, one after the other, and other namespaces lose nothing.
func TestRoomForConnections(t *testing.T) {
	ca := aCA(t)
	synctest.Test(t, func(t *testing.T) {
		lifted := expect.Got(tenants.Parse([]string{"lifted:clusters=100"}))(t)
		c := &Clusters{Live: newLimited(text("https://127.0.0.1", ca)), Limits: lifted}
		ask := func(namespace string, n int) {
			t.Helper()
			expect.Got(c.GetClient(t.Context(), client.ObjectKey{Namespace: namespace, Name: fmt.Sprint(n)}))(t)
			later(time.Second)
		}
		ask("other", 0)
		for i := range 100 {
			ask("lifted", i)
			ask("many", i)
		}
		expect.Same(t, "connections", map[string]int{"other": 1, "lifted": 100, "many": 64}, connections(c))
		isOpen := func(n int) bool {
			return c.clusters[client.ObjectKey{Namespace: "many", Name: fmt.Sprint(n)}].close != nil
		}
		expect.Same(t, "the ones that were used last are open", []bool{false, false, true, true},
			[]bool{isOpen(0), isOpen(35), isOpen(36), isOpen(37)})
		ask("many", 36)
		ask("many", 0)
		expect.Same(t, "the one not used for the longest time gave its place", []bool{true, false, true, false},
			[]bool{isOpen(0), isOpen(35), isOpen(36), isOpen(37)})
		expect.Same(t, "connections", map[string]int{"other": 1, "lifted": 100, "many": 64}, connections(c))
	})
}

func connections(c *Clusters) map[string]int {
	count := map[string]int{}
	for key, k := range c.clusters {
		if k.close != nil {
			count[key.Namespace]++
		}
	}
	return count
}

// TestManyHonestClusters: a namespace whose clusters are all in use, one of them more than it may be connected to, connects a few
// times a minute anew; with three times as many as it may have, ten times a second at most. Whoever asks has an answer then or at
// the next time.
func TestManyHonestClusters(t *testing.T) {
	ca := aCA(t)
	for _, test := range []struct{ clusters, mostReads, mostRefused int }{{64, 23, 0}, {65, 60, 0}, {200, 610, 60}} {
		synctest.Test(t, func(t *testing.T) {
			live := newLimited(text("https://127.0.0.1", ca))
			var noticed []int
			c := &Clusters{Live: live, Notices: &tenants.Notices{Publish: func(n tenants.Notice) { noticed = append(noticed, n.Count) }}}
			asked, refused := 0, 0
			look := func(seconds int) {
				for second := range seconds {
					for i := second % 10; i < test.clusters; i += 10 { // each every ten seconds
						asked++
						if _, err := c.GetClient(t.Context(), client.ObjectKey{Namespace: "many", Name: fmt.Sprint(i)}); err != nil {
							expect.Same(t, "an error that waits", true, OutOfReach(err))
							refused++
						}
					}
					later(time.Second)
				}
			}
			look(120)
			before := live.readOf("many")
			asked, refused = 0, 0
			look(180) // in which each kubeconfig is read once anyway
			reads, percent := (live.readOf("many")-before)/3, 100*refused/asked
			t.Logf("%d clusters: %d reads of kubeconfigs a minute, %d %% of the looks wait", test.clusters, reads, percent)
			expect.Same(t, "reads in a minute", true, reads <= test.mostReads)
			expect.Same(t, "looks that wait", true, percent <= test.mostRefused)
			expect.Same(t, "connections", min(64, test.clusters), connections(c)["many"])
			expect.Same(t, "noticed", []int{48, 64}, noticed)
		})
	}
}

// TestClusterThatComesAndGoes: a Cluster with a new name every second leaves no connection, and nothing of it is kept once nobody
// has asked for it for a while.
func TestClusterThatComesAndGoes(t *testing.T) {
	ca := aCA(t)
	synctest.Test(t, func(t *testing.T) {
		c := &Clusters{Live: newLimited(text("https://127.0.0.1", ca))}
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { expect.Fine(t, c.Start(ctx)) })
		for i := range 3600 {
			expect.Got(c.GetClient(t.Context(), client.ObjectKey{Namespace: "many", Name: fmt.Sprint(i)}))(t)
			expect.Same(t, "connections within the limit", true, connections(c)["many"] <= 64)
			later(time.Second)
		}
		expect.Same(t, "clusters of the last quarter of an hour", true, len(c.clusters) <= int((unused+time.Minute)/time.Second))
		later(unused + time.Minute)
		expect.Same(t, "clusters and namespaces that are kept", 0, len(c.clusters)+len(c.gates))
		end()
		running.Wait()
	})
}
