package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// TestDeadClusters: Clusters that do not answer hold up no look and no Cluster of another namespace, and are asked less and less
// often.
func TestDeadClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const dead = 20
		for i := range dead {
			c := aCluster()
			c.Namespace, c.Name, c.UID = "tenant", fmt.Sprintf("dead-%d", i), types.UID(fmt.Sprint(i))
			expect.OK(t, w.management.Create(t.Context(), c))
		}
		other := aCluster()
		other.Name, other.UID = "other", "uid-of-other"
		expect.OK(t, w.management.Create(t.Context(), other))
		defer w.start()()
		w.passes(4 * time.Second)
		expect.Same(t, "lists of policies of the other Cluster", 2, w.since()["list"])
		third := aCluster()
		third.Name, third.UID = "third", "uid-of-third"
		expect.OK(t, w.management.Create(t.Context(), third))
		w.passes(every + 5*time.Second)
		expect.Same(t, "lists of policies of a third one, by the next look", 2, w.since()["list"])
		w.passes(3 * time.Hour)
		calls := w.since()
		for name, n := range calls {
			if strings.HasPrefix(name, "dead") && (n < 5 || n > 12) {
				t.Errorf("%s was asked %d times in three hours", name, n)
			}
		}
		expect.Same(t, "clusters asked", dead, len(slices.DeleteFunc(slices.Collect(maps.Keys(calls)), func(name string) bool {
			return !strings.HasPrefix(name, "dead")
		})))
	})
}

// TestSomeOfOurs: of a cluster without Windows, any policy of ours that is left says that it is to be kept.
func TestSomeOfOurs(t *testing.T) {
	for _, left := range []*unstructured.Unstructured{policies.Mutating()[0], policies.Validating()[2]} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			end := w.start()
			w.passes(20 * time.Second)
			end()
			expect.OK(t, w.management.Delete(t.Context(), aMachine()))
			for _, o := range slices.Concat(policies.Validating(), policies.Mutating()) {
				if o.GetName() != left.GetName() || o.GetKind() != left.GetKind() {
					expect.OK(t, w.api.Delete(t.Context(), o))
				}
			}
			defer w.start()()
			w.passes(20 * time.Second)
			expect.Same(t, "missing where "+left.GetName()+" was left", 0, len(w.missing()))
		})
	}
}

// TestForgotten: what a look that is under way finds of a Cluster that is forgotten is not told, and a write that is under way
// takes none of what its namespace shares.
func TestForgotten(t *testing.T) {
	l := newLookedAt(t)
	l.daemonSet("team", "agent", nil, everyTaint)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	l.forget(client.ObjectKeyFromObject(l.about))
	l.look(ctx, l.about, l.view)
	expect.Same(t, "the metric", 0, l.metric["ns/blue PodsLand"])
	l.Tell(ctx, l.about, nil)
	expect.Same(t, "notes", 0, len(l.notes))
	expect.Same(t, "memories", 0, len(l.clusters))
	var shared atomic.Int64
	v := newView()
	v.share(&shared)
	v.release()
	v.noteOwn(ownObjects(policies.Mutating()...)[0], ownBrief{Ours: true})
	v.take(daemonSets, event(t, watch.Added, agent("late")))
	expect.Same(t, "bytes of the namespace", int64(0), shared.Load())
}

// TestWaitsAnew: a machine that is gone does not have a later one pass at once, and what was found out of an older annotation
// says nothing.
func TestWaitsAnew(t *testing.T) {
	about := aCluster()
	c := newCluster(&Keeper{}, about, func() {})
	now := time.Now()
	expect.Same(t, "kept at first", false, isKept(c.answer(now)))
	c.settle(about, true, "")
	c.settle(about, false, "")
	expect.Same(t, "kept for a later one", false, isKept(c.answer(now.Add(2*patience))))
	expect.Same(t, "kept after its own minute", true, isKept(c.answer(now.Add(3*patience))))
	off := aCluster()
	off.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: infrav1.LinuxPolicyOff}
	c.update(off)
	c.settle(about, true, "")
	expect.Same(t, "settled by a step from before", false, c.settled)
}

func isKept(kept bool, _ string) bool { return kept }
