package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

const (
	// somePods are read at once: 20 of them have less than 2 MiB, which is what one answer may have.
	somePods = 20
	// mostPages are read of a Node's pods: a kubelet runs 110, and no cluster is known that has it run more than 1,000.
	mostPages = 100
	// mostReady are as many workloads with pods on Windows Nodes as are looked at. Each has a name of at most longestName.
	mostReady = 20_000
)

// mustSpare says that it is to be found out what the mutating policy spares: once, as soon as the API server has such policies,
// and before ours is there. Somebody else's of our name is not told anything.
func (c *cluster) mustSpare(p policies.Params) bool {
	o := mutatingPolicy()
	there := c.view.ownBrief(o)
	return !p.SparedKnown && !c.view.isAbsent(o.resource) && (there.Digest == "" || there.Ours)
}

func mutatingPolicy() ownObject { return ownObjects(policies.Mutating()[0])[0] }

// spare finds out what the mutating policy spares. If it is there already, it says so itself: what has come to Windows Nodes
// since is not spared.
func (c *cluster) spare(ctx context.Context, api client.Client) (spared []policies.Ref, known bool, err error) {
	o := mutatingPolicy()
	listed := c.view.isListed(o.resource)
	if s := c.view.state(); !s.complete || !listed && !c.view.isHidden(o.resource) {
		return nil, false, errPending
	}
	if c.view.ownBrief(o).Ours || !listed {
		err := api.Get(ctx, client.ObjectKeyFromObject(o), o.Unstructured)
		switch spared, told := policies.ToldSpared(o.Unstructured); {
		case err != nil && !isUnserved(err):
			return nil, false, err
		case err == nil && !isOurs(o.Unstructured):
			return nil, false, &foreignError{o}
		case err == nil && told:
			return spared, true, nil
		}
	}
	spared, err = findSpared(ctx, api, c.view)
	return spared, err == nil, err
}

// findSpared reads which workloads have Ready pods on Windows Nodes that the mutating policy would take from there. It is asked
// before the policy is there for the first time.
func findSpared(ctx context.Context, api client.Client, v *view) ([]policies.Ref, error) {
	windows, linux := v.nodes()
	found := map[policies.Ref]bool{}
	for _, n := range windows {
		if err := addReady(ctx, api, n.Name, found); err != nil {
			return nil, fmt.Errorf("list pods of Node %s: %w", n.Name, err)
		}
	}
	cluster := verdict.Cluster{Windows: plain(windows), Linux: plain(linux), RuntimeClasses: v.classes()}
	for w := range v.workloads() {
		ref := policies.Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
		if found[ref] && (!mayBeChanged(w) || cluster.Judge(w).Verdict == verdict.ForWindows) {
			delete(found, ref)
		}
	}
	spared := slices.SortedFunc(maps.Keys(found), func(a, b policies.Ref) int { return strings.Compare(a.String(), b.String()) })
	if (policies.Params{Spared: spared}).TooMany() {
		return nil, &tooManyError{len(spared)}
	}
	return spared, nil
}

// tooManyError says that a policy cannot spare so many workloads.
type tooManyError struct{ n int }

// Error is a sentence for people.
func (e *tooManyError) Error() string {
	return fmt.Sprintf("%d workloads that name no system have Ready pods on Windows Nodes, which is more than a policy can spare; "+
		"add a nodeSelector of the label %s to them", e.n, corev1.LabelOSStable)
}

// mayBeChanged says that the policy looks at the workload at all: the others need not be spared.
func mayBeChanged(w verdict.Workload) bool {
	return w.Namespace == metav1.NamespaceSystem ||
		slices.ContainsFunc(w.Template.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == "" && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
		})
}

func addReady(ctx context.Context, api client.Client, node string, found map[policies.Ref]bool) error {
	next := ""
	for range mostPages {
		var page corev1.PodList
		err := api.List(ctx, &page, client.MatchingFields{"spec.nodeName": node}, client.Limit(somePods), client.Continue(next))
		if err != nil {
			return err
		}
		for i := range page.Items {
			if ref, known := workloadOfPod(&page.Items[i]); known && isReady(&page.Items[i]) && len(ref.String()) <= longestName {
				found[ref] = true
			}
		}
		if len(found) > mostReady {
			return &tooManyError{len(found)}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
	return &endlessError{}
}

// endlessError says that an API server tells of a Node's pods without end.
type endlessError struct{}

// Error is a part of a sentence.
func (*endlessError) Error() string {
	return fmt.Sprintf("there are more than %d pages of them; see to it that the Node has fewer", mostPages)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// workloadOfPod is what has made a pod. A ReplicaSet of a Deployment has its name, and the hash that is a label of its pods.
func workloadOfPod(pod *corev1.Pod) (policies.Ref, bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || !strings.HasPrefix(owner.APIVersion, "apps/") {
		return policies.Ref{}, false
	}
	ref := policies.Ref{Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name}
	switch owner.Kind {
	case "DaemonSet", "StatefulSet":
		return ref, true
	case "ReplicaSet":
		name, cut := strings.CutSuffix(owner.Name, "-"+pod.Labels["pod-template-hash"])
		ref.Kind, ref.Name = "Deployment", name
		return ref, cut
	}
	return ref, false
}
