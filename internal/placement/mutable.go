package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mutable says whether our mutating policy adds the Linux selection to the workload's template when somebody writes the workload:
// the template names no system, and it is in kube-system or tolerates every taint. The pods of a workload that is there already
// are rolled by that once. It knows nothing of the workloads that the policy's parameter spares.
func (c Cluster) Mutable(w Workload) bool {
	spec := &w.Template.Spec
	switch {
	case w.Namespace != metav1.NamespaceSystem && !slices.ContainsFunc(spec.Tolerations, ofEveryTaint):
		return false
	case w.Annotations[RunsOnAnnotation] == RunsOnBoth, hasWindowsOptions(spec), spec.OS != nil && spec.OS.Name == corev1.Windows:
		return false
	}
	p, refused := c.podOf(w)
	return refused == "" && !p.namesSystem()
}

// ofEveryTaint says whether it passes the taint of Windows Nodes, whatever that is.
func ofEveryTaint(t corev1.Toleration) bool {
	return t.Key == "" && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
}

// namesSystem says whether what the pod requires of Nodes tells a system, or is what Windows Nodes have and no Linux Node.
func (p *pod) namesSystem() bool {
	of := []string{corev1.LabelOSStable, betaOS, corev1.LabelWindowsBuild}
	names := func(r requirement) bool { return slices.Contains(of, r.key) }
	onWindows := func(r requirement) bool {
		return slices.ContainsFunc(p.cluster.Windows, func(n Node) bool { return r.namesWindows(&n) })
	}
	return slices.ContainsFunc(p.selects, func(r requirement) bool { return names(r) || onWindows(r) }) ||
		slices.ContainsFunc(p.terms, func(t term) bool { return slices.ContainsFunc(t.requirements, names) })
}
