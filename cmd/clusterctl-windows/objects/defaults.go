package objects

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
)

// These set what Cluster API's mutating webhooks set in a new object (cluster-api v1.14.2, core/webhooks/admission).

func fillMachine(m *clusterv1.Machine) error {
	label(&m.Labels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	fillVersion(&m.Spec)
	fillDeletion(&m.Spec)
	return nil
}

func fillMachineSet(m *clusterv1.MachineSet) error {
	label(&m.Labels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	fillVersion(&m.Spec.Template.Spec)
	if isEmpty(m.Spec.Selector) {
		name := format.MustFormatValue(m.Name) // a hash, where the name is too long for a label
		label(&m.Spec.Selector.MatchLabels, clusterv1.MachineSetNameLabel, name)
		label(&m.Spec.Template.Labels, clusterv1.MachineSetNameLabel, name)
	}
	return fillReplicas(&m.Spec.Replicas, m.Annotations)
}

func fillMachineDeployment(m *clusterv1.MachineDeployment) error {
	label(&m.Labels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	fillVersion(&m.Spec.Template.Spec)
	if isEmpty(m.Spec.Selector) {
		label(&m.Spec.Selector.MatchLabels, clusterv1.MachineDeploymentNameLabel, m.Name)
		label(&m.Spec.Template.Labels, clusterv1.MachineDeploymentNameLabel, m.Name)
	}
	label(&m.Spec.Selector.MatchLabels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	label(&m.Spec.Template.Labels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	strategy := &m.Spec.Rollout.Strategy
	strategy.Type = cmp.Or(strategy.Type, clusterv1.RollingUpdateMachineDeploymentStrategyType)
	if strategy.Type == clusterv1.RollingUpdateMachineDeploymentStrategyType {
		orElse(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(1))
		orElse(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
	}
	return fillReplicas(&m.Spec.Replicas, m.Annotations)
}

func fillMachinePool(m *clusterv1.MachinePool) error {
	label(&m.Labels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	fillVersion(&m.Spec.Template.Spec)
	fillDeletion(&m.Spec.Template.Spec)
	return fillReplicas(&m.Spec.Replicas, m.Annotations)
}

func fillHealthCheck(m *clusterv1.MachineHealthCheck) error {
	label(&m.Labels, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	orElse(&m.Spec.Checks.NodeStartupTimeoutSeconds, clusterv1.DefaultNodeStartupTimeoutSeconds)
	return nil
}

func label(labels *map[string]string, key, value string) {
	if *labels == nil {
		*labels = map[string]string{}
	}
	(*labels)[key] = value
}

func orElse[T any](value **T, fallback T) {
	if *value == nil {
		*value = new(fallback)
	}
}

func isEmpty(s metav1.LabelSelector) bool {
	return len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

func fillVersion(spec *clusterv1.MachineSpec) {
	if spec.Version != "" && !strings.HasPrefix(spec.Version, "v") {
		spec.Version = "v" + spec.Version
	}
}

func fillDeletion(spec *clusterv1.MachineSpec) { orElse(&spec.Deletion.NodeDeletionTimeoutSeconds, 10) }

// fillReplicas begins with what the autoscaler may not go below.
func fillReplicas(replicas **int32, annotations map[string]string) error {
	if *replicas != nil {
		return nil
	}
	low, hasLow := annotations[clusterv1.AutoscalerMinSizeAnnotation]
	high, hasHigh := annotations[clusterv1.AutoscalerMaxSizeAnnotation]
	if !hasLow || !hasHigh {
		*replicas = new(int32(1))
		return nil
	}
	minimum, err := sizeOf(clusterv1.AutoscalerMinSizeAnnotation, low)
	if err == nil {
		_, err = sizeOf(clusterv1.AutoscalerMaxSizeAnnotation, high)
	}
	*replicas = &minimum
	return err
}

func sizeOf(annotation, text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the annotation %s must be a whole number", annotation)
	}
	return int32(n), nil
}
