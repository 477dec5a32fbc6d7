package world

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithoutCNI is the label of Nodes to which the DaemonSet of the world's CNI brings none.
const WithoutCNI = "test.capwin/without-cni"

// addCNI makes the DaemonSet of a CNI for Windows, which no controller of this world looks after. It is as tigera/operator
// renders it (v1.38, pkg/render/windows.go), as far as it decides where pods go.
func (c *Workload) addCNI(ctx context.Context) error {
	labels := map[string]string{"k8s-app": "calico-node-windows"}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "calico-node-windows"}}
	set.Spec.Selector, set.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	set.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: map[string]string{corev1.LabelOSStable: "windows"}, HostNetwork: true,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: WithoutCNI, Operator: corev1.NodeSelectorOpDoesNotExist}},
			}}},
		}},
		SecurityContext: &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{
			HostProcess: new(true), RunAsUserName: new(`NT AUTHORITY\SYSTEM`),
		}},
		Containers: []corev1.Container{{Name: "node", Image: "quay.io/calico/node-windows:v3.30.1"}},
	}
	if err := c.Client.Create(ctx, set); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create the CNI's daemonset: %w", err)
	}
	return nil
}
