package placement_test

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/test/expect"
	"github.com/capwin/cluster-api-provider-windows/test/servers"
)

// world is a cluster's Windows Nodes.
type world struct {
	name  string
	nodes []corev1.Node
	// tainted: each Node has a taint that keeps pods away; open: none has.
	tainted, open bool
}

// taints are those of one Node.
type taints []bootstrapv1.NodeTaint

// worldsOf has a world for each way in which Windows Nodes are tainted. All Nodes are what ToBeMade says of a config and its
// machine, so what is true of them is true of what configs will make.
func worldsOf(t *testing.T) []world {
	t.Helper()
	osTaint := bootstrapv1.NodeTaint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
	dedicated := bootstrapv1.NodeTaint{Key: "dedicated", Value: "build", Effect: corev1.TaintEffectNoExecute}
	preferred := bootstrapv1.NodeTaint{Key: "os", Value: "windows", Effect: corev1.TaintEffectPreferNoSchedule}
	return []world{
		made(t, world{name: "default", tainted: true}, nil, nil),
		made(t, world{name: "none", open: true}, &taints{}),
		made(t, world{name: "none-of-two", open: true}, &taints{}, &taints{}),
		made(t, world{name: "mixed"}, nil, &taints{}),
		made(t, world{name: "preferred", open: true}, &taints{preferred}),
		made(t, world{name: "dedicated", tainted: true}, &taints{osTaint, dedicated}, nil),
		made(t, world{name: "executed", tainted: true}, &taints{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoExecute}}),
	}
}

// made gives a world a Node for each list of taints; nil are the default ones.
func made(t *testing.T, w world, of ...*taints) world {
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
		machine.Status.ComputerName = fmt.Sprintf("%s-%d", w.name, i)
		machine.Status.WindowsBuild = builds[i%2][len("10.0."):] + ".2700"
		w.nodes = append(w.nodes, object(expect.Got(placement.ToBeMade(config, machine))(t), w.name))
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
	now := metav1.Now()
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels}, Spec: corev1.NodeSpec{Taints: lasting},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room, NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "windows", Architecture: "amd64"},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
}

// cluster is what the package is told of a world.
func (w world) cluster() placement.Cluster {
	c := placement.Cluster{Linux: linuxNodes, RuntimeClasses: classes}
	for _, node := range w.nodes {
		c.Windows = append(c.Windows, placement.There(node))
	}
	return c
}

func (w world) nodeNames() []string {
	var all []string
	for _, node := range w.nodes {
		all = append(all, node.Name)
	}
	return all
}
