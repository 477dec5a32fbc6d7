package smoke

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

const (
	build2019 = "10.0.17763"
	build2022 = "10.0.20348"
	noCNI     = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin " +
		"returns error: cni plugin not initialized"
)

// node is a Node that is Ready, changed.
func node(name, system string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelOS: system}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: name},
				{Type: corev1.NodeInternalIP, Address: "192.0.2.7"},
				{Type: corev1.NodeInternalIP, Address: "2001:db8::7"},
			},
		},
	}
	for _, do := range change {
		do(&n)
	}
	return n
}

func build(version string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[labelBuild] = version }
}

func isCordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func notReady(message string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions[0].Status, n.Status.Conditions[0].Message = corev1.ConditionFalse, message
	}
}

func hasTaint(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

func TestChooseWindows(t *testing.T) {
	linux := node("linux-0", "linux")
	for name, c := range map[string]struct {
		reason  string
		nodes   []corev1.Node
		names   []string
		targets []string
		found   string
		err     string
	}{
		"one of each build": {
			reason: "nodes of a build run the same images; the first by name is the one that runs find again",
			nodes: []corev1.Node{
				linux, node("b", "windows", build(build2022)), node("c", "windows", build(build2019)), node("a", "windows", build(build2022)),
			},
			targets: []string{"c", "a"},
		},
		"another where one takes no pods": {
			reason:  "a cordoned node says nothing about its build",
			nodes:   []corev1.Node{node("a", "windows", build(build2022), isCordoned), node("b", "windows", build(build2022))},
			targets: []string{"b"},
		},
		"another where one has a taint": {
			reason: "a node that is being set up takes no pods yet",
			nodes: []corev1.Node{
				node("a", "windows", build(build2022), hasTaint("node.cluster.x-k8s.io/uninitialized", corev1.TaintEffectNoSchedule)),
				node("b", "windows", build(build2022), func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}}
				}),
			},
			targets: []string{"b"},
		},
		"a taint on all": {
			reason: "the scheduler's words name it", targets: []string{"a"},
			nodes: []corev1.Node{node("a", "windows", hasTaint("x", corev1.TaintEffectNoExecute))},
		},
		"a build that takes no pods": {
			reason: "the others are tried all the same",
			nodes: []corev1.Node{
				node("a", "windows", build(build2022)), node("b", "windows", build(build2019), notReady(noCNI)),
			},
			targets: []string{"a"},
			found:   `b is not Ready (` + noCNI + `): the CNI does not run there yet, see docs/networks.md, "What you apply"`,
		},
		"no Windows Node": {
			reason: "a first pool may not have joined yet",
			nodes:  []corev1.Node{linux},
			err: "the cluster has no Windows Node: none of its 1 Nodes has the label kubernetes.io/os=windows; " +
				"kubectl get windowsmachines -A, in the management cluster, shows how far its machines are",
		},
		"all cordoned": {
			reason: "one command mends it",
			nodes: []corev1.Node{
				node("b", "windows", build(build2022), isCordoned), node("a", "windows", build(build2019), isCordoned),
			},
			err: "no Windows Node takes pods: all 2 are cordoned: kubectl uncordon a b",
		},
		"none Ready": {
			reason: "each has its own reason",
			nodes: []corev1.Node{
				node("a", "windows", isCordoned), node("b", "windows", notReady("Kubelet stopped posting node status.")),
			},
			err: "no Windows Node takes pods: a is cordoned: kubectl uncordon a; b is not Ready (Kubelet stopped posting node status.): " +
				"kubectl describe node shows more",
		},
		"named": {
			reason:  "a name that is written twice is one",
			nodes:   []corev1.Node{node("a", "windows"), node("b", "windows")},
			names:   []string{"b", "a", "b"},
			targets: []string{"b", "a"},
		},
		"named, Linux": {
			reason: "the Node is there, but is none of Windows",
			nodes:  []corev1.Node{linux, node("a", "windows")}, names: []string{"linux-0"},
			err: "--node linux-0: there is no Windows Node of this name; there are a",
		},
		"named, cordoned": {
			reason: "whoever names a node wants this one",
			nodes:  []corev1.Node{node("a", "windows", isCordoned), node("b", "windows")}, names: []string{"a"},
			err: "--node a takes no pods: it is cordoned: kubectl uncordon a",
		},
		"named, being removed": {
			reason: "its pods would go at once",
			nodes: []corev1.Node{node("a", "windows", func(n *corev1.Node) {
				now := metav1.Now()
				n.DeletionTimestamp = &now
			})},
			names: []string{"a"}, err: "--node a takes no pods: it is being removed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			targets, found, err := chooseWindows(c.nodes, c.names)
			var names []string
			for _, one := range targets {
				names = append(names, one.node)
			}
			expect.Same(t, c.reason, c.targets, names)
			expect.Same(t, c.reason, c.err, text(err))
			var all []string
			for _, one := range found {
				expect.Same(t, c.reason, cloud.CheckFailed, one.Result)
				all = append(all, one.Text)
			}
			expect.Same(t, c.reason, c.found, strings.Join(all, "\n"))
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestTarget: node ports are tried at the first address of the node.
func TestTarget(t *testing.T) {
	n := node("a", "windows", build(build2022))
	if want, got := (target{node: "a", build: build2022, address: "192.0.2.7"}), targetOf(&n); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestChooseLinux(t *testing.T) {
	controlPlane := func(change ...func(*corev1.Node)) corev1.Node {
		return node("cp", "linux", append(change, hasTaint(labelControlPlane, corev1.TaintEffectNoSchedule))...)
	}
	onControlPlane := []corev1.Toleration{{Key: labelControlPlane, Operator: corev1.TolerationOpExists}}
	for name, c := range map[string]struct {
		reason      string
		nodes       []corev1.Node
		tolerations []corev1.Toleration
		note, err   string
	}{
		"a worker": {
			reason: "users' pods run there, so these do", nodes: []corev1.Node{controlPlane(), node("a", "linux")},
		},
		"a worker that is avoided": {
			reason: "PreferNoSchedule keeps nobody away",
			nodes:  []corev1.Node{node("a", "linux", hasTaint("x", corev1.TaintEffectPreferNoSchedule))},
		},
		"the control plane alone": {
			reason: "a first pool may be the only workers", nodes: []corev1.Node{controlPlane()}, tolerations: onControlPlane,
			note: "the Linux pods run on the control plane, and tolerate its taint: no other Linux Node takes pods",
		},
		"workers that take no pods": {
			reason: "a cordoned worker, or one of somebody else, is no worker for these pods",
			nodes: []corev1.Node{
				controlPlane(), node("a", "linux", isCordoned), node("b", "linux", hasTaint("gpu", corev1.TaintEffectNoSchedule)),
			},
			tolerations: onControlPlane,
			note:        "the Linux pods run on the control plane, and tolerate its taint: no other Linux Node takes pods",
		},
		"none": {
			reason: "each has its own reason",
			nodes: []corev1.Node{
				controlPlane(isCordoned), node("gpu", "linux", hasTaint("gpu", corev1.TaintEffectNoSchedule)),
			},
			err: "no Linux Node takes pods: cp is cordoned: kubectl uncordon cp; gpu has the taint gpu:NoSchedule",
		},
		"no Linux at all": {
			reason: "labels are missing in a cluster of other tools",
			nodes:  []corev1.Node{node("a", "windows")},
			err:    "the cluster has no Linux Node: none of its 1 Nodes has the label kubernetes.io/os=linux",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tolerations, note, err := chooseLinux(c.nodes)
			expect.Same(t, c.reason, c.tolerations, tolerations)
			expect.Same(t, c.reason, c.note, note)
			expect.Same(t, c.reason, c.err, text(err))
		})
	}
}

// TestNotReady: the kubelet's words for a missing pod network, in each of its versions, lead to the CNI, and others do not.
func TestNotReady(t *testing.T) {
	for message, cni := range map[string]bool{
		noCNI: true, "Network plugin returns error: CNI plugin not initialized": true, "reason:NetworkPluginNotReady": true,
		"Kubelet stopped posting node status.": false, "": false,
	} {
		expect.Same(t, message, cni, strings.Contains(helpNotReady(message), "the CNI does not run there yet"))
	}
	well := node("win", "windows", func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse,
		})
	})
	expect.Same(t, "another condition that is False", "", unfit(&well))
}
