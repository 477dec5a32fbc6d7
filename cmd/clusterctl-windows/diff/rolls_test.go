package diff

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
)

// TestRollsAsClusterAPI changes one field after another, and asks Cluster API's own code whether that replaces machines.
func TestRollsAsClusterAPI(t *testing.T) {
	for name, change := range map[string]func(*clusterv1.MachineDeployment){
		"nothing":        func(*clusterv1.MachineDeployment) {},
		"replicas":       func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(5)) },
		"version":        func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Version = "v1.36.4" },
		"machine":        func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.InfrastructureRef.Name = "b" },
		"config":         func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Bootstrap.ConfigRef.Name = "b" },
		"data":           func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Bootstrap.DataSecretName = new("b") },
		"failure domain": func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.FailureDomain = "b" },
		"labels":         func(d *clusterv1.MachineDeployment) { d.Spec.Template.Labels = map[string]string{"a": "b"} },
		"annotations":    func(d *clusterv1.MachineDeployment) { d.Spec.Template.Annotations = map[string]string{"a": "b"} },
		"ready":          func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.MinReadySeconds = new(int32(5)) },
		"drain": func(d *clusterv1.MachineDeployment) {
			d.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(5))
		},
		"taints": func(d *clusterv1.MachineDeployment) {
			d.Spec.Template.Spec.Taints = []clusterv1.MachineTaint{{Key: "a"}}
		},
		"readiness gates": func(d *clusterv1.MachineDeployment) {
			d.Spec.Template.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "a"}}
		},
	} {
		before := &clusterv1.MachineDeployment{}
		before.Spec.Template.Spec.Version = "v1.36.3"
		before.Spec.Template.Spec.InfrastructureRef.Name, before.Spec.Template.Spec.Bootstrap.ConfigRef.Name = "a", "a"
		after := before.DeepCopy()
		change(after)
		same, _ := mdutil.MachineTemplateUpToDate(&before.Spec.Template, &after.Spec.Template)
		if why := rolls(before, after); same != (len(why) == 0) {
			t.Errorf("%s: Cluster API replaces machines: %t; here: %q", name, !same, why)
		}
	}
	before, after := &clusterv1.MachineDeployment{}, &clusterv1.MachineDeployment{}
	after.Spec.Rollout.After = metav1.Unix(1, 0)
	if len(rolls(before, after)) != 1 {
		t.Error("spec.rollout.after replaces machines that are older")
	}
}
