package placement

import (
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// pod is any pod of a workload, as the scheduler gets it.
type pod struct {
	workload Workload
	cluster  Cluster
	// object has what a RuntimeClass adds to the template.
	object *corev1.Pod
	// affinity is what object requires of Nodes all of whose labels are known.
	affinity nodeaffinity.RequiredNodeAffinity
	// selects and terms are the requirements of the nodeSelector and of each term of the affinity, one by one.
	selects []requirement
	terms   []term
	// node is for questions to the scheduler's code.
	node *corev1.Node
}

// podOf makes the pod as the API server would. The second result says why it would refuse each pod.
func (c Cluster) podOf(w Workload) (*pod, string) {
	p := &pod{workload: w, cluster: c, object: &corev1.Pod{Spec: *w.Template.Spec.DeepCopy()}, node: &corev1.Node{}}
	for _, add := range []func() string{p.addNamespace, p.addRuntimeClass} {
		if refused := add(); refused != "" {
			return nil, refused
		}
	}
	p.affinity = nodeaffinity.GetRequiredNodeAffinity(p.object)
	p.readRequirements()
	return p, ""
}

// The annotations of a namespace from which its pods get a nodeSelector: by the admission plug-in PodNodeSelector, which not
// every API server has on, and by OpenShift.
const (
	namespaceSelector = "scheduler.alpha.kubernetes.io/node-selector"
	projectSelector   = "openshift.io/node-selector"
)

// SelectorOf is what a namespace selects for each of its pods; nil if nothing. A text that is no selector selects nothing that is
// known: no pod is made by it.
func SelectorOf(annotations map[string]string) map[string]string {
	for _, key := range []string{namespaceSelector, projectSelector} {
		if text := annotations[key]; text != "" {
			selector, err := labels.ConvertSelectorToLabelsMap(text)
			if err != nil {
				return map[string]string{}
			}
			return selector
		}
	}
	return nil
}

// addNamespace does what PodNodeSelector does (kubernetes v1.36.3, plugin/pkg/admission/podnodeselector).
func (p *pod) addNamespace() (refused string) {
	return p.addSelector(p.cluster.Selectors[p.workload.Namespace], "its namespace")
}

// addSelector merges what somebody else selects into the nodeSelector.
func (p *pod) addSelector(selector map[string]string, of string) (refused string) {
	spec := &p.object.Spec
	for _, key := range sortedKeys(selector) {
		value := selector[key]
		if own, set := spec.NodeSelector[key]; set && own != value {
			return fmt.Sprintf("the API server refuses its pods, as the nodeSelector has %s=%s and %s has %s=%s",
				Named(key), Named(own), of, Named(key), Named(value))
		}
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		spec.NodeSelector[key] = value
	}
	return ""
}

// addRuntimeClass does what the admission plug-in RuntimeClass does (kubernetes v1.36.3, plugin/pkg/admission/runtimeclass).
func (p *pod) addRuntimeClass() (refused string) {
	spec := &p.object.Spec
	if spec.RuntimeClassName == nil {
		return ""
	}
	at := slices.IndexFunc(p.cluster.RuntimeClasses, func(c nodev1.RuntimeClass) bool { return c.Name == *spec.RuntimeClassName })
	if at < 0 {
		return fmt.Sprintf("the API server refuses its pods, as there is no RuntimeClass %s", Named(*spec.RuntimeClassName))
	}
	scheduling := p.cluster.RuntimeClasses[at].Scheduling
	if scheduling == nil {
		return ""
	}
	if refused := p.addSelector(scheduling.NodeSelector, "RuntimeClass "+Named(*spec.RuntimeClassName)); refused != "" {
		return refused
	}
	if p.workload.Kind != daemonSet {
		// The DaemonSet controller makes no pod for a Node whose taints the template itself does not tolerate.
		spec.Tolerations = append(spec.Tolerations, scheduling.Tolerations...)
	}
	return ""
}

// obstacle is what keeps pods off a Node: another Node's name, what they select, or a taint.
type obstacle struct {
	name  string
	taint *corev1.Taint
}

// keptOff says what keeps the pod off the Node, nil if nothing does. Where the template has a spec.nodeName, nobody asks the
// scheduler. But the DaemonSet controller asks of the template what the scheduler would (kubernetes v1.36.3,
// pkg/controller/daemon, NodeShouldRunDaemonPod), and knows nothing of its RuntimeClass.
func (p *pod) keptOff(n *Node) *obstacle {
	fits := p.fits(n)
	if name := p.object.Spec.NodeName; name != "" {
		if name != n.Name {
			return &obstacle{name: name}
		}
		if p.workload.Kind != daemonSet {
			return nil
		}
		fits = n.matches(p.node, nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: p.workload.Template.Spec}))
	}
	if !fits {
		return &obstacle{}
	}
	if taint, kept := untolerated(n.Taints, p.object.Spec.Tolerations); kept {
		return &obstacle{taint: &taint}
	}
	return nil
}

const daemonSet = "DaemonSet"

// fits says whether the Node is one that the pod selects.
func (p *pod) fits(n *Node) bool {
	affinity := p.affinity
	if len(n.Unknown) > 0 {
		affinity = nodeaffinity.GetRequiredNodeAffinity(without(p.object, n.Unknown))
	}
	return n.matches(p.node, affinity)
}

// without is the pod without what it requires of labels that may yet get any value.
func without(object *corev1.Pod, unknown []string) *corev1.Pod {
	object = object.DeepCopy()
	for _, key := range unknown {
		delete(object.Spec.NodeSelector, key)
	}
	required := requiredOf(object)
	if required == nil {
		return object
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		before := len(term.MatchExpressions)
		term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return slices.Contains(unknown, r.Key)
		})
		if len(term.MatchExpressions) < before && len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			// A term without requirements selects nothing; each kubelet gives its Node this label.
			term.MatchExpressions = []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpExists},
			}
		}
	}
	return object
}

func requiredOf(object *corev1.Pod) *corev1.NodeSelector {
	if affinity := object.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// untolerated finds the first taint that keeps pods with these tolerations away. Tolerations that compare numbers count: an API
// server takes them only where the scheduler knows them, too (gate TaintTolerationComparisonOperators).
func untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) (corev1.Taint, bool) {
	return schedulingv1.FindMatchingUntoleratedTaint(logr.Discard(), taints, tolerations, keepsAway, true)
}
