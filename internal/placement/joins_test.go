package placement

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func ownedBy(kind, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: "of-" + name, OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name}}}
}

func machineOfName(name, computer string, change ...func(*infrav1.WindowsMachine)) infrav1.WindowsMachine {
	m := infrav1.WindowsMachine{ObjectMeta: ownedBy("Machine", name)}
	m.Status.ComputerName = computer
	for _, one := range change {
		one(&m)
	}
	return m
}

// TestJoins: machines belong to configs by their Machine. A Node that is there is as it says; of those that will come alike there
// is one, and none of a machine that is being deleted, that has no config, or whose config makes no Node.
func TestJoins(t *testing.T) {
	var configs []bootstrapv1.WindowsBootstrapConfig
	for _, name := range []string{"there", "b", "a", "ends", "broken"} {
		c := bootstrapv1.WindowsBootstrapConfig{ObjectMeta: ownedBy("Machine", name)}
		c.Spec.Network.KubeProxy.Run = bootstrapv1.KubeProxyNone
		configs = append(configs, c)
	}
	configs[4].Spec.Node.Labels = map[string]bootstrapv1.LabelValue{"kubernetes.io/os": "linux"}
	configs = append(configs, bootstrapv1.WindowsBootstrapConfig{ObjectMeta: ownedBy("Other", "b")})
	machines := []infrav1.WindowsMachine{
		machineOfName("there", "win-0"), machineOfName("b", ""), machineOfName("a", ""), machineOfName("broken", ""),
		machineOfName("none", ""),
		{ObjectMeta: metav1.ObjectMeta{Name: "nobody's"}},
		machineOfName("ends", "", func(m *infrav1.WindowsMachine) { m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }),
	}
	joins := JoinsOf(machines, configs)
	var found []string
	for _, j := range joins {
		found = append(found, j.Node.Name)
	}
	expect.Same(t, "joins", []string{"ns/of-a", "ns/of-b", "win-0"}, found)
	s := Seen{Kubelets: map[string]string{"win-0": "v1.36.3"}}
	s.Windows = []Node{{Name: "win-0"}}
	s.Add(joins)
	expect.Same(t, "who is to run kube-proxy", map[string]bootstrapv1.KubeProxyRun{
		"win-0": bootstrapv1.KubeProxyNone, "ns/of-a": bootstrapv1.KubeProxyNone, "ns/of-b": bootstrapv1.KubeProxyNone,
	}, s.ProxyRuns)
	expect.Same(t, "Windows Nodes", []string{"win-0", "ns/of-a"}, []string{s.Windows[0].Name, s.Windows[len(s.Windows)-1].Name})
	expect.Same(t, "joining", 2, s.Joining)
	label := func(host string) Node {
		return Node{Labels: map[string]string{"kubernetes.io/hostname": host, "a": "b"}}
	}
	expect.Same(t, "the host alone is no difference", label("x").Kind(), label("y").Kind())
}
