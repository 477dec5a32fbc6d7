package placement

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// expectSpared wants that the record and the policy spare these, and that the record says so if it is known.
func (w *world) expectSpared(when string, known bool, want ...policies.Ref) {
	w.Helper()
	param := &corev1.ConfigMap{}
	expect.OK(w, w.api.Get(w.Context(), client.ObjectKey{Namespace: policies.ParamNamespace, Name: policies.ParamName}, param))
	params := expect.Got(policies.ReadParams(param))(w)
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

func ofTeam(name string) policies.Ref {
	return policies.Ref{Kind: "DaemonSet", Namespace: "team", Name: name}
}

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
		w.expectSpared("after the upgrade", true, ofTeam("a"))
		end()

		expect.OK(t, w.api.Delete(t.Context(), policies.Mutating()[0]))
		w.lands("b")
		end = w.start()
		w.passes(20 * time.Second)
		w.expectSpared("after the policy was gone", true, ofTeam("a"))
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
		w.expectSpared("at first", true, ofTeam("a"))
		end()
		w.lands("b")
		expect.OK(t, w.api.Delete(t.Context(), policies.Param(policies.Params{})))
		end = w.start()
		w.passes(20 * time.Second)
		w.expectSpared("without a record", true, ofTeam("a"))
		end()
	})
}
