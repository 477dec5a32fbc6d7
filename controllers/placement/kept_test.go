package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// lands makes a DaemonSet that names no system, with a Ready pod on the Windows Node.
func (w *world) lands(name string) {
	w.Helper()
	set := agent(name)
	set.Annotations, set.UID = nil, "uid-of-agent"
	set.Spec.Template.Spec.Containers = nil
	expect.OK(w, w.api.Create(w.Context(), set))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name + "-x"}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	pod.Spec.NodeName = "win-0"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	expect.OK(w, w.api.Create(w.Context(), pod))
	w.mu.Lock()
	w.tell(watch.Added, daemonSets, set)
	w.mu.Unlock()
	w.passes(20 * time.Second)
}

// join makes a WindowsMachine without a Node, whose config has a pool.
func (w *world) join(name, pool string) {
	w.Helper()
	config := &bootstrapv1.WindowsBootstrapConfig{}
	config.Namespace, config.Name = metav1.NamespaceDefault, name
	config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"pool": bootstrapv1.LabelValue(pool)}
	windows := aMachine()
	windows.Name = name
	machine := &clusterv1.Machine{}
	machine.Namespace, machine.Name = metav1.NamespaceDefault, name
	machine.Spec.InfrastructureRef.Kind, machine.Spec.InfrastructureRef.Name = "WindowsMachine", name
	machine.Spec.Bootstrap.ConfigRef.Kind, machine.Spec.Bootstrap.ConfigRef.Name = "WindowsBootstrapConfig", name
	for _, o := range []client.Object{config, windows, machine} {
		expect.OK(w, w.management.Create(w.Context(), o))
	}
}

// readParams reads the record.
func (w *world) readParams() (policies.Params, error) {
	param := &corev1.ConfigMap{}
	err := w.api.Get(w.Context(), client.ObjectKey{Namespace: policies.ParamNamespace, Name: policies.ParamName}, param)
	if err != nil {
		return policies.Params{}, err
	}
	return policies.ReadParams(param)
}

// expectSpared wants that the record and the policy spare these, and that the record says so if it is known.
func (w *world) expectSpared(when string, known bool, want ...policies.Ref) {
	w.Helper()
	params := expect.Got(w.readParams())(w)
	expect.Same(w, "known "+when, known, params.SparedKnown)
	expect.Same(w, "spared "+when, want, params.Spared)
	if !known {
		return
	}
	policy := policies.Mutating()[0]
	expect.OK(w, w.api.Get(w.Context(), client.ObjectKeyFromObject(policy), policy))
	told, _ := policies.ToldSpared(policy)
	expect.Same(w, "told "+when, want, told)
}

var agentA = policies.Ref{Kind: "DaemonSet", Namespace: "team", Name: "a"}

// TestSparedAfterUpgrade: what has Ready pods on Windows Nodes is spared by the mutating policy when that is first made, although
// the record of an API server without such policies is there already. What lands while our policy is gone is not.
func TestSparedAfterUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.old = true
		end := w.start()
		w.passes(20 * time.Second)
		w.expectSpared("before the upgrade", false)
		w.lands("a")
		end()
		end = w.start() // a new process
		w.passes(20 * time.Second)
		w.expectSpared("before the upgrade, in a new process", false)
		w.upgrade()
		w.passes(20 * time.Second)
		w.expectSpared("after the upgrade", true, agentA)
		end()

		expect.OK(t, w.api.Delete(t.Context(), policies.Mutating()[0]))
		w.lands("b")
		end = w.start()
		w.passes(20 * time.Second)
		w.expectSpared("after the policy was gone", true, agentA)
		end()
	})
}

// TestSparedWithoutRecord: where the record is gone, the policy says what it spares, also in a new process.
func TestSparedWithoutRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.lands("a")
		end := w.start()
		w.passes(20 * time.Second)
		w.expectSpared("at first", true, agentA)
		end()
		w.lands("b")
		expect.OK(t, w.api.Delete(t.Context(), policies.Param(policies.Params{})))
		end = w.start()
		w.passes(20 * time.Second)
		w.expectSpared("without a record", true, agentA)
		end()
	})
}

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
		expect.Same(t, "lists of pods, and of policies of the other Cluster", 3, w.since()["list"])
		w.join("b-0", "b")
		w.passes(every + 5*time.Second)
		labels := expect.Got(w.readParams())(t).WindowsLabels
		expect.Same(t, "labels after the next look", map[string][]string{"pool": {"b", "w"}}, labels)
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

// TestToJoin: a machine waits until the policies know the labels of its Node: from the first machine of a cluster on, and of
// each pool that comes later. Those of machines that have not asked yet are known from the first policy on, too.
func TestToJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		expect.OK(t, w.management.Delete(t.Context(), aMachine()))
		defer w.start()()
		w.join("b-0", "b")
		kept := func(pool string) bool {
			kept, _ := w.keeper.Kept(aCluster(), verdict.Node{Name: pool + "-1", Labels: map[string]string{"pool": pool}})
			return kept
		}
		told := func() (values []string) {
			policy := policies.Mutating()[0]
			if w.api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy) != nil {
				return nil
			}
			text := string(expect.Got(json.Marshal(policy))(t))
			for _, pool := range []string{"a", "b", "c", "w"} {
				if strings.Contains(text, "pool="+pool) {
					values = append(values, pool)
				}
			}
			return values
		}
		for range 100 { // as soon as the policy is there at all
			if len(told()) > 0 {
				break
			}
			expect.Same(t, "kept at first", false, kept("a"))
			w.passes(100 * time.Millisecond)
		}
		expect.Same(t, "told at first", []string{"a", "b", "w"}, told())
		w.passes(5 * time.Second)
		expect.Same(t, "kept", true, kept("a"))
		w.since()
		expect.Same(t, "kept for another pool at first", false, kept("c"))
		w.passes(12 * time.Second)
		expect.Same(t, "told of another pool", []string{"a", "b", "c", "w"}, told())
		expect.Same(t, "kept for another pool", true, kept("c"))
		expect.Same(t, "writes", 3, w.since()["update"])
		w.passes(31 * time.Minute)
		expect.Same(t, "kept later", true, kept("c"))
		expect.Same(t, "calls in half an hour", map[string]int{"dry": 6}, w.since())
	})
}

// TestNotTold: a machine waits a minute for a policy that acts and cannot be told of its pool, and is warned then.
func TestNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start()()
		w.passes(20 * time.Second)
		w.mu.Lock()
		w.full = true
		w.mu.Unlock()
		n := verdict.Node{Name: "c-1", Labels: map[string]string{"pool": "c"}}
		for range 59 {
			kept, _ := w.keeper.Kept(aCluster(), n)
			expect.Same(t, "kept", false, kept)
			w.passes(time.Second)
		}
		w.passes(time.Second)
		kept, warning := w.keeper.Kept(aCluster(), n)
		expect.Same(t, "kept after a minute", true, kept)
		expect.Says(t, "warning", errors.New(warning), "Cluster prod: ")
	})
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
	v.noteOwn(mutatingPolicy(), ownBrief{Ours: true})
	v.take(daemonSets, event(t, watch.Added, agent("late")))
	expect.Same(t, "bytes of the namespace", int64(0), shared.Load())
}

// TestWaitsAnew: a machine that is gone does not have a later one pass at once, and what was found out of an older annotation
// says nothing.
func TestWaitsAnew(t *testing.T) {
	about := aCluster()
	c := newCluster(&Keeper{}, about, func() {})
	now := time.Now()
	expect.Same(t, "kept at first", false, isKept(c.answer(now, nil)))
	c.settle(about, true, "")
	c.settle(about, false, "")
	expect.Same(t, "kept for a later one", false, isKept(c.answer(now.Add(2*patience), nil)))
	expect.Same(t, "kept after its own minute", true, isKept(c.answer(now.Add(3*patience), nil)))
	off := aCluster()
	off.Annotations = map[string]string{infrav1.LinuxPolicyAnnotation: infrav1.LinuxPolicyOff}
	c.update(off)
	c.settle(about, true, "")
	expect.Same(t, "settled by a step from before", false, c.settled)
}

func isKept(kept bool, _ string) bool { return kept }
