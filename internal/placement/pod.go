package placement

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
)

// pod is any pod of a workload, as the scheduler gets it.
type pod struct {
	workload Workload
	cluster  Cluster
	// spec has what a namespace and a RuntimeClass add to the template.
	spec      corev1.PodSpec
	selection selection
}

// podOf makes the pod as the API server would. The second result is why it would refuse each pod.
func (c Cluster) podOf(w Workload) (p *pod, refused string) {
	p = &pod{workload: w, cluster: c, spec: w.Template.Spec}
	p.spec.NodeSelector = map[string]string{}
	maps.Copy(p.spec.NodeSelector, w.Template.Spec.NodeSelector)
	// As PodNodeSelector does (kubernetes v1.36.3, plugin/pkg/admission/podnodeselector).
	if refused = p.addSelector(c.Selectors[w.Namespace], "its namespace"); refused == "" {
		refused = p.addRuntimeClass()
	}
	p.selection = selectionOf(&p.spec)
	for i := range p.selection.alternatives {
		choice := &p.selection.alternatives[i]
		choice.onLinux = slices.ContainsFunc(c.Linux, func(n Node) bool { return p.selection.unmet(*choice, &n) == nil })
	}
	return p, refused
}

// SelectorOf is what a namespace selects for each of its pods, by an annotation of the admission plug-in PodNodeSelector, which
// not every API server has on, or of OpenShift; nil if nothing. A text that is no selector selects nothing that is known: no pod
// is made by it.
func SelectorOf(annotations map[string]string) map[string]string {
	for _, key := range []string{"scheduler.alpha.kubernetes.io/node-selector", "openshift.io/node-selector"} {
		if text := annotations[key]; text != "" {
			if selector, err := labels.ConvertSelectorToLabelsMap(text); err == nil {
				return selector
			}
			return map[string]string{}
		}
	}
	return nil
}

// addSelector merges the selector of a namespace or a RuntimeClass into the nodeSelector.
func (p *pod) addSelector(selector map[string]string, owner string) (refused string) {
	for _, key := range sortedKeys(selector) {
		value := selector[key]
		if existing, set := p.spec.NodeSelector[key]; set && existing != value {
			return fmt.Sprintf("the API server refuses its pods, as the nodeSelector has %s=%s and %s has %s=%s",
				Named(key), Named(existing), owner, Named(key), Named(value))
		}
		p.spec.NodeSelector[key] = value
	}
	return ""
}

// addRuntimeClass does what the admission plug-in RuntimeClass does (kubernetes v1.36.3, plugin/pkg/admission/runtimeclass).
func (p *pod) addRuntimeClass() (refused string) {
	if p.spec.RuntimeClassName == nil {
		return ""
	}
	name := *p.spec.RuntimeClassName
	index := slices.IndexFunc(p.cluster.RuntimeClasses, func(c nodev1.RuntimeClass) bool { return c.Name == name })
	if index < 0 {
		return "the API server refuses its pods, as there is no RuntimeClass " + Named(name)
	}
	scheduling := p.cluster.RuntimeClasses[index].Scheduling
	if scheduling == nil {
		return ""
	}
	if p.workload.Kind != daemonSet {
		// The DaemonSet controller makes no pod for a Node whose taints the template itself does not tolerate.
		p.spec.Tolerations = slices.Concat(p.spec.Tolerations, scheduling.Tolerations)
	}
	return p.addSelector(scheduling.NodeSelector, "RuntimeClass "+Named(name))
}

// decide is for one Node. Where the template has a spec.nodeName, nobody asks the scheduler. But the DaemonSet controller asks
// of the template what the scheduler would (kubernetes v1.36.3, pkg/controller/daemon, NodeShouldRunDaemonPod), and knows nothing
// of its RuntimeClass.
func (p *pod) decide(n *Node) reason {
	r, asked, bound := reason{node: n, verdict: StaysAway}, p.selection, false
	if name := p.spec.NodeName; name != "" {
		if name != n.Name {
			return r
		}
		asked, bound = selectionOf(&p.workload.Template.Spec), p.workload.Kind != daemonSet
	}
	if !bound && !asked.fits(n) {
		return r
	}
	r.sign = p.sign(n)
	// Tolerations that compare numbers count: an API server takes them only where the scheduler knows them, too (gate
	// TaintTolerationComparisonOperators).
	taint, kept := schedulingv1.FindMatchingUntoleratedTaint(logr.Discard(), n.Taints, p.spec.Tolerations, keepsAway, true)
	switch {
	case kept && !bound:
		r.taint = &taint
	case r.sign != "":
		r.verdict = ForWindows
	default:
		r.verdict = Lands
	}
	return r
}

const daemonSet = "DaemonSet"
