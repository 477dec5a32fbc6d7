package templates

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/sim/nodes"
)

// World is a cluster's Windows Nodes.
type World struct {
	Name  string
	Nodes []corev1.Node
	// Tainted: each Node has a taint that keeps pods away; Open: none has.
	Tainted, Open bool
}

// taints are those of one Node.
type taints []bootstrapv1.NodeTaint

// Worlds has a world for each way in which Windows Nodes are tainted. All Nodes are what ToBeMade says of a config and its
// machine, so what is true of them is true of what configs will make.
func Worlds(t *testing.T) []World {
	t.Helper()
	osTaint := bootstrapv1.NodeTaint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
	dedicated := bootstrapv1.NodeTaint{Key: "dedicated", Value: "build", Effect: corev1.TaintEffectNoExecute}
	preferred := bootstrapv1.NodeTaint{Key: "os", Value: "windows", Effect: corev1.TaintEffectPreferNoSchedule}
	return []World{
		made(t, World{Name: "default", Tainted: true}, nil, nil),
		made(t, World{Name: "none", Open: true}, &taints{}),
		made(t, World{Name: "none-of-two", Open: true}, &taints{}, &taints{}),
		made(t, World{Name: "mixed"}, nil, &taints{}),
		made(t, World{Name: "preferred", Open: true}, &taints{preferred}),
		made(t, World{Name: "dedicated", Tainted: true}, &taints{osTaint, dedicated}, nil),
		made(t, World{Name: "executed", Tainted: true}, &taints{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoExecute}}),
	}
}

// made gives a world a Node for each list of taints; nil are the default ones.
func made(t *testing.T, w World, of ...*taints) World {
	t.Helper()
	for i, taints := range of {
		config := &bootstrapv1.WindowsBootstrapConfig{}
		config.Spec.Node = bootstrapv1.NodeRegistration{
			Labels: map[string]bootstrapv1.LabelValue{
				"pool": bootstrapv1.LabelValue(pools[i%2]), "size": bootstrapv1.LabelValue(fmt.Sprint(1 + 3*i)),
			},
			Taints: (*[]bootstrapv1.NodeTaint)(taints),
		}
		if i == 1 {
			config.Spec.Node.Labels["gpu"] = ""
		}
		machine := &infrav1.WindowsMachine{}
		machine.Status.ComputerName = fmt.Sprintf("%s-%d", w.Name, i)
		machine.Status.WindowsBuild = builds[i%2][len("10.0."):] + ".2700"
		w.Nodes = append(w.Nodes, object(expect.Got(placement.ToBeMade(config, machine))(t), w.Name))
	}
	return w
}

// object is the Node as it is in the cluster once it is Ready, when Cluster API and the cloud provider are done with it.
func object(n placement.Node, world string) corev1.Node {
	labels := maps.Clone(n.Labels)
	labels[servers.ProfileLabel] = world
	var lasting []corev1.Taint
	for _, taint := range n.Taints {
		if taint.Key != "node.cluster.x-k8s.io/uninitialized" {
			lasting = append(lasting, taint)
		}
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("2000"),
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels}, Spec: corev1.NodeSpec{Taints: lasting},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room, NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "windows", Architecture: "amd64"},
			Conditions: nodes.Kubelet{Now: time.Now()}.Conditions(),
		},
	}
}

// Cluster is what the package is told of a world.
func (w World) Cluster() placement.Cluster {
	c := placement.Cluster{Linux: LinuxNodes, RuntimeClasses: Classes}
	for _, node := range w.Nodes {
		c.Windows = append(c.Windows, placement.There(node))
	}
	return c
}

// NodeNames are those of its Windows Nodes.
func (w World) NodeNames() []string {
	var all []string
	for _, node := range w.Nodes {
		all = append(all, node.Name)
	}
	return all
}
