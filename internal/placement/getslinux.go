package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetsLinux is the rule of internal/policies/policies.yaml (needsLinux) once more, for people to read before it acts: the policy
// gives the nodeSelector of Linux to such a template when somebody changes it. A test on real API servers compares the two.
func (c Cluster) GetsLinux(w Workload) bool {
	spec := &w.Template.Spec
	_, ofNamespace := c.Selectors[w.Namespace]
	required := requiredOf(&corev1.Pod{Spec: *spec})
	switch {
	case w.Namespace != metav1.NamespaceSystem && !slices.ContainsFunc(spec.Tolerations, ofEveryTaint):
		return false
	case ofNamespace, len(spec.NodeSelector) > 0, required != nil && len(required.NodeSelectorTerms) > 0, spec.NodeName != "",
		spec.RuntimeClassName != nil && *spec.RuntimeClassName != "":
		return false
	case spec.OS != nil && spec.OS.Name == corev1.Windows, hasWindowsOptions(spec):
		return false
	}
	return w.Annotations[RunsOnAnnotation] != RunsOnBoth
}

// ofEveryTaint says whether it passes the taint of Windows Nodes, whatever that is.
func ofEveryTaint(t corev1.Toleration) bool {
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
	return t.Key == "" && slices.Contains(effects, t.Effect)
}

// Planned says what the policy will do to these workloads, each of which gets Linux. It is empty if there is none.
func Planned(workloads []string) string {
	if len(workloads) == 0 {
		return ""
	}
	return fmt.Sprintf("workloads that select nothing: %d (%s); the policy adds the nodeSelector %s: %s to each when its pod "+
		"template changes next, and restarts no pod before that; to leave a workload as it is, set its annotation %s: %s",
		len(workloads), list(workloads), corev1.LabelOSStable, linux, RunsOnAnnotation, RunsOnBoth)
}
