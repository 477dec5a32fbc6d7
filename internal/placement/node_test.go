package placement_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func objects() (*bootstrapv1.WindowsBootstrapConfig, *infrav1.WindowsMachine) {
	config, machine := &bootstrapv1.WindowsBootstrapConfig{}, &infrav1.WindowsMachine{}
	config.Namespace, config.Name, machine.Namespace, machine.Name = "team", "win-config", "team", "win-x7"
	return config, machine
}

func TestToBeMade(t *testing.T) {
	config, machine := objects()
	config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"example.com/pool": "build"}
	config.Spec.Network.CNI, config.Spec.Network.KubeProxy.Run = bootstrapv1.CNIFlannel, bootstrapv1.KubeProxyService
	machine.Labels = map[string]string{"node-role.kubernetes.io/build": "", "cluster.x-k8s.io/cluster-name": "prod", "team": "a"}
	got := expect.Got(placement.ToBeMade(config, machine))(t)
	want := placement.Node{
		Name: "team/win-x7",
		Labels: map[string]string{
			"example.com/pool": "build", "node-role.kubernetes.io/build": "",
			"capwin.cluster.x-k8s.io/kube-proxy": "service", "capwin.cluster.x-k8s.io/flannel": "service",
			"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64",
			"beta.kubernetes.io/os": "windows", "beta.kubernetes.io/arch": "amd64",
		},
		Taints: []corev1.Taint{
			{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
			{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule},
		},
		Unknown: []string{
			"node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
			"beta.kubernetes.io/instance-type", "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
			"node.kubernetes.io/windows-build",
		},
	}
	expect.Same(t, "the Node", want, got)
	expect.Same(t, "its system", true, got.IsWindows())
}

// What the machine has by now is known, and the spec's taints replace the default one.
func TestToBeMadeOfWhatIsKnown(t *testing.T) {
	config, machine := objects()
	config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{}
	config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"topology.kubernetes.io/zone": "2"}
	machine.Status.ComputerName, machine.Status.WindowsBuild = "win-je4s7b7jn2", "20348.2700"
	got := expect.Got(placement.ToBeMade(config, machine))(t)
	expect.Same(t, "name", "win-je4s7b7jn2", got.Name)
	expect.Same(t, "hostname", "win-je4s7b7jn2", got.Labels[corev1.LabelHostname])
	expect.Same(t, "build", "10.0.20348", got.Labels[corev1.LabelWindowsBuild])
	for _, known := range []string{corev1.LabelWindowsBuild, corev1.LabelTopologyZone} {
		expect.Same(t, known+" is unknown", false, slices.Contains(got.Unknown, known))
	}
	uninitialized := corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}
	expect.Same(t, "taints", []corev1.Taint{uninitialized}, got.Taints)
	config.Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"kubernetes.io/os": "linux"}
	_, err := placement.ToBeMade(config, machine)
	expect.Says(t, "a spec that makes no Node", err, "WindowsBootstrapConfig team/win-config: "+
		"WindowsBootstrapConfig spec.node.labels")
}

// A pod may come to a Node of which not all is known if there is a value with which it does.
func TestUnknownLabels(t *testing.T) {
	config, machine := objects()
	config.Spec.Node.Taints = &[]bootstrapv1.NodeTaint{}
	c := placement.Cluster{Windows: []placement.Node{expect.Got(placement.ToBeMade(config, machine))(t)}, Linux: linuxNodes}
	for _, one := range []struct {
		spec string
		want placement.Verdict
	}{
		{`nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348}`, placement.ForWindows},
		{`nodeSelector: {node.kubernetes.io/windows-build: 10.0.20348, kubernetes.io/os: linux}`, placement.StaysAway},
		{`nodeSelector: {topology.kubernetes.io/zone: "1"}`, placement.Lands},
		{`nodeSelector: {topology.kubernetes.io/zone: "1", gpu: ""}`, placement.StaysAway},
		{affinity(`{key: topology.kubernetes.io/zone, operator: In, values: ["1"]}`), placement.Lands},
		{affinity(`{key: topology.kubernetes.io/zone, operator: In, values: ["1"]}, ` +
			`{key: kubernetes.io/os, operator: In, values: [linux]}`), placement.StaysAway},
		{affinity(`{key: node.kubernetes.io/windows-build, operator: Exists}`), placement.ForWindows},
		{`nodeSelector: {kubernetes.io/hostname: linux-0}`, placement.StaysAway},
		{`nodeSelector: {kubernetes.io/hostname: win-x7}`, placement.StaysAway},
		{`nodeName: linux-0`, placement.StaysAway},
		{affinity(``), placement.StaysAway}, // a term without requirements selects nothing
	} {
		got := c.Judge(workload(t, "Deployment", one.spec))
		if got.Verdict != one.want {
			t.Errorf("%s: %s, want %s: %s", one.spec, got.Verdict, one.want, got.Why)
		}
	}
}
