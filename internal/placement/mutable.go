package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mutable says whether our mutating policy adds the Linux selection to the workload's template when somebody writes the workload:
// the template names no system, and it is in kube-system or tolerates every taint. The pods of a workload that is there already
// are rolled by that once. It says what the policy says, but for the workloads that the policy's parameter spares.
func (c Cluster) Mutable(w Workload) bool {
	spec := &w.Template.Spec
	switch {
	case w.Namespace != metav1.NamespaceSystem && !slices.ContainsFunc(spec.Tolerations, ofEveryTaint):
		return false
	case w.Annotations[RunsOnAnnotation] == RunsOnBoth, hasWindowsOptions(spec), spec.OS != nil && spec.OS.Name == corev1.Windows:
		return false
	case spec.RuntimeClassName != nil && c.isForWindows(*spec.RuntimeClassName):
		return false
	}
	return !c.selectsSystem(spec)
}

// ofEveryTaint says whether it passes the taint of Windows Nodes, whatever that is.
func ofEveryTaint(t corev1.Toleration) bool {
	return t.Key == "" && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
}

// isForWindows says whether a RuntimeClass is, by its name or by what it selects.
func (c Cluster) isForWindows(class string) bool {
	return strings.HasPrefix(class, windows) || slices.ContainsFunc(c.RuntimeClasses, func(one nodev1.RuntimeClass) bool {
		if one.Name != class || one.Scheduling == nil {
			return false
		}
		for key, value := range one.Scheduling.NodeSelector {
			if SelectsWindows(key, value) || key == corev1.LabelHostname || c.onWindowsOnly(key, value) {
				return true
			}
		}
		return false
	})
}

// selectsSystem says whether what the template requires of Nodes tells a system or one Node, or is what Windows Nodes have and no
// Linux Node.
func (c Cluster) selectsSystem(spec *corev1.PodSpec) bool {
	if spec.NodeName != "" {
		return true
	}
	for key, value := range spec.NodeSelector {
		if NamesSystem(key) || key == corev1.LabelHostname || c.onWindowsOnly(key, value) {
			return true
		}
	}
	required := requiredOf(&corev1.Pod{Spec: *spec})
	return required != nil && slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool {
			return r.Operator == corev1.NodeSelectorOpIn
		}) || slices.ContainsFunc(term.MatchExpressions, c.expressesSystem)
	})
}

func (c Cluster) expressesSystem(r corev1.NodeSelectorRequirement) bool {
	switch r.Operator {
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		return true
	case corev1.NodeSelectorOpExists:
		return NamesSystem(r.Key) || c.onWindowsOnly(r.Key, "")
	case corev1.NodeSelectorOpIn:
		return NamesSystem(r.Key) || r.Key == corev1.LabelHostname ||
			slices.ContainsFunc(r.Values, func(value string) bool { return c.onWindowsOnly(r.Key, value) })
	}
	return NamesSystem(r.Key)
}

// onWindowsOnly says whether a Windows Node has the label and no Linux Node has it. Where no Linux Node has the key, the value
// does not matter.
func (c Cluster) onWindowsOnly(key, value string) bool {
	if SaysNothing(key) {
		return false
	}
	onLinux := false
	for i := range c.Linux {
		has, there := c.Linux[i].Labels[key]
		if onLinux = onLinux || there; there && has == value {
			return false
		}
	}
	return slices.ContainsFunc(c.Windows, func(n Node) bool {
		has, there := n.Labels[key]
		return slices.Contains(n.Unknown, key) || there && (!onLinux || has == value)
	})
}
