package placement_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// seen are the pods and DaemonSets of the cluster.
type seen struct {
	pods map[string][]corev1.Pod // by the workload's name
	sets map[string]appsv1.DaemonSet
}

func (l *lab) look(ctx context.Context) (seen, error) {
	s := seen{pods: map[string][]corev1.Pod{}, sets: map[string]appsv1.DaemonSet{}}
	pods, err := l.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return s, err
	}
	for _, pod := range pods.Items {
		s.pods[pod.Labels["app"]] = append(s.pods[pod.Labels["app"]], pod)
	}
	sets, err := l.client.AppsV1().DaemonSets("default").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return s, err
	}
	for _, set := range sets.Items {
		s.sets[set.Name] = set
	}
	return s, nil
}

// of are the Windows Nodes of the question's world to which its pods are bound. The answer is there once each pod is bound or
// found unschedulable, and a DaemonSet's controller has made as many pods as it wants.
func (s seen) of(q *question) (nodes []string, answered bool) {
	if q.refused {
		return nil, true
	}
	pods, set, wanted := s.pods[q.workload.Name], s.sets[q.workload.Name], 1
	if q.workload.Kind == "DaemonSet" {
		if wanted = int(set.Status.DesiredNumberScheduled); set.Status.ObservedGeneration == 0 {
			return nil, false
		}
	}
	ours, named := q.world.NodeNames(), q.workload.Template.Spec.NodeName
	if len(pods) < wanted {
		// A pod that names a Node which is not there is removed after a while.
		return nil, q.contradicts() || named != "" && !slices.Contains(ours, named)
	}
	for _, pod := range pods {
		switch {
		case slices.Contains(ours, pod.Spec.NodeName):
			nodes = append(nodes, pod.Spec.NodeName)
		case pod.Spec.NodeName == "" && !unschedulable(pod):
			return nil, false
		}
	}
	return nodes, true
}

// contradicts says whether the API server refuses each pod of a DaemonSet, as its RuntimeClass selects another system.
func (q *question) contradicts() bool {
	spec := q.workload.Template.Spec
	os, selected := spec.NodeSelector[corev1.LabelOSStable]
	return selected && spec.RuntimeClassName != nil && slices.Contains([]string{"linux", "windows"}, *spec.RuntimeClassName) &&
		*spec.RuntimeClassName != os
}

func unschedulable(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// checkDaemonTolerations: what the DaemonSet controller adds to its pods are tolerations of taints that come and go, which keep
// no pod away for this package. So it has no need to add them. A pod in the host's network gets all of them.
func (l *lab) checkDaemonTolerations(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "in-the-network-of-hosts"}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: labels["app"]}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.HostNetwork = true
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	expect.Got(l.client.AppsV1().DaemonSets("default").Create(t.Context(), set, metav1.CreateOptions{}))(t)
	added := map[string]bool{}
	wait.Eventually(t, "a pod of a DaemonSet", func(ctx context.Context) error {
		s, err := l.look(ctx)
		for _, pod := range s.pods[set.Name] {
			for _, one := range pod.Spec.Tolerations {
				added[one.Key] = true
			}
		}
		if err == nil && len(added) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	for key := range added {
		node := placement.Node{Name: "n", Taints: []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}}
		finding := placement.Cluster{Windows: []placement.Node{node}}.Judge(placement.Workload{Kind: "DaemonSet", Name: "any"})
		if finding.Verdict != placement.Lands {
			t.Errorf("the DaemonSet controller adds a toleration of %s, and the taint is taken for one that stays: %s", key, finding.Why)
		}
	}
	t.Logf("the DaemonSet controller adds tolerations of %d taints", len(added))
	expect.Same(t, "taints that its tolerations name", 7, len(added))
}
