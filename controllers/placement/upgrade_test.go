package placement

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capwin/cluster-api-provider-windows/internal/policies"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
)

// slow looks as long as it should, and notes of which version the API server was.
type slow struct {
	teller

	takes    time.Duration
	versions []string
}

func (s *slow) look(_ context.Context, _ *clusterv1.Cluster, v *view) {
	s.versions = append(s.versions, v.state().version)
	<-time.After(s.takes)
}

// TestLooksAfterAnUpgrade: a Node of the new version joins minutes after the control plane has it. It is not newer than that.
func TestLooksAfterAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &slow{teller: w}
		w.teller = s
		defer w.start()()
		w.keeper.Kept(aCluster())
		w.passes(time.Minute)
		w.mu.Lock()
		w.version = "v1.37.0"
		w.mu.Unlock()
		w.passes(2 * time.Minute)
		w.mu.Lock()
		w.tell(watch.Added, nodes, aNode("win-1", "windows", "w"))
		w.mu.Unlock()
		w.passes(10 * time.Second)
		expect.Same(t, "the version at the last look", "v1.37.0", s.versions[len(s.versions)-1])
	})
}

// TestLooksSeldomAtMuch: a cluster that changes all the time, and takes a minute to look at, is not looked at all the time.
func TestLooksSeldomAtMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := &slow{teller: w, takes: time.Minute}
		w.teller = s
		defer w.start()()
		w.keeper.Kept(aCluster())
		for n := range 360 {
			w.mu.Lock()
			w.tell(watch.Added, nodes, aNode(fmt.Sprint("win-", n), "windows", "w"))
			w.mu.Unlock()
			w.passes(10 * time.Second)
		}
		if looks := len(s.versions); looks < 8 || looks > 11 {
			t.Errorf("%d looks in an hour", looks)
		}
	})
}

// TestPodsWithoutEnd: an API server that shows more and more pods of a Node is not asked without end.
func TestPodsWithoutEnd(t *testing.T) {
	n := 0
	api := interceptor.NewClient(newWorld(t).api.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // the fake is one
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			pods, _ := list.(*corev1.PodList)
			pods.Continue = "more"
			for range somePods {
				n++
				pods.Items = append(pods.Items, readyPod(fmt.Sprint("agent-", n)))
			}
			return nil
		},
	})
	found := map[policies.Ref]bool{}
	err := addReady(t.Context(), api, "win-0", found)
	_, endless := errors.AsType[*endlessError](err)
	expect.Same(t, "told", true, endless && isLasting(err))
	for range 9 {
		expect.Says(t, "of another Node", addReady(t.Context(), api, "win-0", found), "pages")
	}
	err = addReady(t.Context(), api, "win-0", found)
	_, many := errors.AsType[*tooManyError](err)
	expect.Same(t, "told of many Nodes", true, many)
	if len(found) > mostReady+somePods {
		t.Errorf("%d workloads are remembered", len(found))
	}
}

func readyPod(set string) (pod corev1.Pod) {
	pod.Namespace = "team"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set, Controller: new(true)}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}
