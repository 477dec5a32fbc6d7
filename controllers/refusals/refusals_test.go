package refusals

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestOwnerOfConfig(t *testing.T) {
	for want, owners := range map[string][]metav1.OwnerReference{
		"": {{Kind: "Machine", Name: "m"}},
		"MachinePool p cannot use a WindowsBootstrapConfig; use a " +
			"MachineDeployment": {{Kind: "Machine"}, {Kind: "MachinePool", Name: "p"}},
	} {
		expect.Same(t, "refusal", want, OwnerOfConfig(owners))
	}
	expect.Same(t, "no owner yet", "", OwnerOfConfig(nil))
}

func TestMachineOfConfig(t *testing.T) {
	machine := func(change func(*clusterv1.Machine)) *clusterv1.Machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Labels: map[string]string{}}}
		m.Spec.InfrastructureRef.APIGroup, m.Spec.InfrastructureRef.Kind = infrav1.GroupVersion.Group, "WindowsMachine"
		change(m)
		return m
	}
	for name, c := range map[string]struct {
		change func(*clusterv1.Machine)
		want   string
	}{
		"good": {func(*clusterv1.Machine) {}, ""},
		"control plane": {
			func(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" },
			"Machine m is a control-plane machine; control planes run on Linux: " +
				"remove cluster.x-k8s.io/control-plane from its metadata.labels",
		},
		"another kind": {
			func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.Kind = "DockerMachine" },
			"the infrastructure of Machine m is a DockerMachine; a WindowsBootstrapConfig needs a WindowsMachine",
		},
		"another group": {
			func(m *clusterv1.Machine) { m.Spec.InfrastructureRef.APIGroup = "other.example.com" },
			"the infrastructure of Machine m is a WindowsMachine; a WindowsBootstrapConfig needs a WindowsMachine",
		},
	} {
		expect.Same(t, name, c.want, MachineOfConfig(machine(c.change)))
	}
}

func TestFailureDomain(t *testing.T) {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	expect.Same(t, "none", "", FailureDomain(machine, false))
	machine.Spec.FailureDomain = "a"
	expect.Same(t, "in a cloud without", `Machine m has failure domain "a", but VMs of this cloud are not placed by failure `+
		`domain; `+
		"remove spec.failureDomain", FailureDomain(machine, false))
	expect.Same(t, "in a cloud that has them", "", FailureDomain(machine, true))
}
