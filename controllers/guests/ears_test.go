package guests

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// voice is a cluster whose guests say what a test says.
type voice struct {
	mu      sync.Mutex
	watches int
	say     func(watch.EventType, *corev1.ConfigMap)
}

func (v *voice) Follow(
	ctx context.Context, _ client.ObjectKey, _ string, told func(watch.EventType, *corev1.ConfigMap),
) error {
	v.mu.Lock()
	v.watches++
	v.say = told
	v.mu.Unlock()
	<-ctx.Done()
	return nil
}

func object(name, report string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{Key: report}}
}

// TestEars: a report is kept whether its machine has asked yet or not, wakes that machine once, and is forgotten with its object.
// Two machines of a cluster share a watch, which ends when none has asked for half an hour.
func TestEars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan cloud.Key, 10)
		v := &voice{}
		ears := &Ears{Clusters: v, Heard: heard, Now: time.Now}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		cluster := client.ObjectKey{Namespace: "a", Name: "c"}
		one, two := cloud.Key{Namespace: "a", Name: "one"}, cloud.Key{Namespace: "a", Name: "two"}
		expect.Same(t, "before the start", "", ears.Report(cluster, "win-1", one))
		go func() { over <- ears.Start(ctx) }()
		synctest.Wait()
		expect.Same(t, "at first", "", ears.Report(cluster, "win-1", one))
		synctest.Wait()
		for _, said := range []string{"x", "x", "y"} {
			v.say(watch.Modified, object("win-1.abcdef", said))
		}
		v.say(watch.Added, object("win-2.abcdef", "z"))
		v.say(watch.Added, object("nothing", "z"))
		expect.Same(t, "woken", 2, len(heard))
		expect.Same(t, "who", one, <-heard)
		expect.Same(t, "the last report", "y", ears.Report(cluster, "win-1", one))
		expect.Same(t, "one that came first", "z", ears.Report(cluster, "win-2", two))
		expect.Same(t, "watches", 1, v.watches)
		v.say(watch.Added, object("win-4.abcdef", strings.Repeat("x", 2*cloud.MaxReport)))
		expect.Same(t, "bytes of one that is too long", cloud.MaxReport+1, len(ears.Report(cluster, "win-4", two)))
		for i := range maxHeard / cloud.MaxReport {
			v.say(watch.Added, object(fmt.Sprintf("more-%d.abcdef", i), strings.Repeat("x", cloud.MaxReport)))
		}
		v.say(watch.Added, object("win-3.abcdef", strings.Repeat("x", cloud.MaxReport)))
		expect.Same(t, "one without room", "", ears.Report(cluster, "win-3", two))
		expect.Same(t, "its object", "win-2.abcdef", ears.Object(cluster, "win-2"))
		v.say(watch.Deleted, object("win-2.abcdef", "z"))
		expect.Same(t, "one that is gone", "", ears.Object(cluster, "win-2"))
		passed := time.NewTimer(forget + 2*time.Minute)
		<-passed.C
		expect.Same(t, "clusters and bytes", [2]int{}, [2]int{len(ears.clusters), ears.size})
		cancel()
		expect.OK(t, <-over)
	})
}
