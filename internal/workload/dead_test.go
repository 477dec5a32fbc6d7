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

	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

// limited is a management cluster that answers as often as the manager asks by default, and counts the reads of each namespace.
type limited struct {
	client.Reader
	limit flowcontrol.RateLimiter

	mu    sync.Mutex
	reads map[string]int
}

// Get implements client.Reader: each kubeconfig names a server that is not there.
func (l *limited) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if err := l.limit.Wait(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads[key.Namespace]++
	if secret, ok := o.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{"value": []byte("clusters: [")}
	}
	return nil
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
		live := &limited{limit: flowcontrol.NewTokenBucketRateLimiter(100, 200), reads: map[string]int{}}
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
			expect.Same(t, "reads in a minute within the namespace's pace", true, now-read <= readsAtOnce+60*readsPerSecond)
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
