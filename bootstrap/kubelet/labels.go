package kubelet

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

const (
	labelsField = "WindowsBootstrapConfig spec.node.labels"
	taintsField = "WindowsBootstrapConfig spec.node.taints"
)

// reserved are names of Kubernetes' own labels; a kubelet does not start with one that is not in allowed.
var (
	reserved = regexp.MustCompile(`^([a-z0-9.-]+\.)?(kubernetes|k8s)\.io/`)
	allowed  = regexp.MustCompile(`^([a-z0-9.-]+\.)?(kubelet|node)\.kubernetes\.io/|` +
		`^(topology\.kubernetes\.io/(zone|region)|node\.kubernetes\.io/instance-type)$`)
)

// Registered are the labels and taints with which kubeadm join registers the Node, beside the labels that each kubelet gives its
// own.
func Registered(
	node bootstrapv1.NodeRegistration, ownLabels map[string]string, m *infrav1.WindowsMachine,
) (map[string]string, []corev1.Taint, error) {
	labels, err := allLabels(node.Labels, ownLabels, m)
	if err != nil {
		return nil, nil, err
	}
	if err := checkLabels(labels); err != nil {
		return nil, nil, err
	}
	taints, err := readTaints(node.Taints)
	return labels, taints, err
}

// checkLabels: the API has the same rules; they are repeated because a kubelet does not start with one bad label.
func checkLabels(labels map[string]string) error {
	for _, name := range step.SortedKeys(labels) {
		value := labels[name]
		if problems := validation.IsQualifiedName(name); len(problems) > 0 {
			return step.Invalid(labelsField, "name %q is not valid: %s; use one such as example.com/pool", name, problems[0])
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return step.Invalid(labelsField, "value %q of %s is not valid: %s", value, name, problems[0])
		}
		if reserved.MatchString(name) && !allowed.MatchString(name) {
			return step.Invalid(labelsField,
				"a kubelet must not set the label %s on its own node; set it in metadata.labels of the Machine, "+
					"or use a name under node.kubernetes.io/", name)
		}
	}
	return nil
}

// windowsTaint keeps away pods that do not say that they are for Windows.
var windowsTaint = corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}

// readTaints puts Cluster API's own taint first; Cluster API removes it when it has labelled the Node.
func readTaints(wanted *[]bootstrapv1.NodeTaint) ([]corev1.Taint, error) {
	uninitialized := clusterv1.NodeUninitializedTaint
	if wanted == nil {
		return []corev1.Taint{uninitialized, windowsTaint}, nil
	}
	taints := []corev1.Taint{uninitialized}
	for _, spec := range *wanted {
		taint := corev1.Taint{Key: spec.Key, Value: spec.Value, Effect: spec.Effect}
		if err := checkTaint(taint); err != nil {
			return nil, err
		}
		matches := func(t corev1.Taint) bool { return taint.MatchTaint(&t) }
		switch {
		case taint.MatchTaint(&uninitialized):
			return nil, step.Invalid(taintsField, "%s:%s is always added; remove it", taint.Key, taint.Effect)
		case slices.ContainsFunc(taints, matches):
			return nil, step.Invalid(taintsField, "%s:%s is listed twice; remove one", taint.Key, taint.Effect)
		}
		taints = append(taints, taint)
	}
	return taints, nil
}

var taintEffects = []corev1.TaintEffect{
	corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
}

func checkTaint(taint corev1.Taint) error {
	if problems := validation.IsQualifiedName(taint.Key); len(problems) > 0 {
		return step.Invalid(taintsField,
			"key %q is not valid: %s; use one such as os or example.com/pool", taint.Key, problems[0])
	}
	if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
		return step.Invalid(taintsField, "value %q of %s is not valid: %s", taint.Value, taint.Key, problems[0])
	}
	if !slices.Contains(taintEffects, taint.Effect) {
		return step.Invalid(taintsField, "effect %q of %s is not valid; use NoSchedule, PreferNoSchedule or NoExecute",
			taint.Effect, taint.Key)
	}
	return nil
}
