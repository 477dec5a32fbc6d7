package smoke

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	labelOS           = corev1.LabelOSStable
	labelBuild        = corev1.LabelWindowsBuild
	labelControlPlane = "node-role.kubernetes.io/control-plane"
)

// target is a Windows Node, and the address at which its node ports are tried.
type target struct {
	node, build, address string
}

// chooseWindows takes the Nodes of these names, or one of each build of Windows: nodes of a build run the same images, and a pool
// has the same network on each of them. The findings are of builds with no Node that takes pods.
func chooseWindows(nodes []corev1.Node, names []string) (targets []target, found []cloud.Finding, err error) {
	windows := nodesOf(nodes, "windows")
	if len(windows) == 0 {
		return nil, nil, fmt.Errorf("the cluster has no Windows Node: none of its %d Nodes has the label %s=windows; "+
			"kubectl get windowsmachines -A, in the management cluster, shows how far its machines are", len(nodes), labelOS)
	}
	if len(names) > 0 {
		targets, err = chooseNamed(windows, names)
		return targets, nil, err
	}
	builds := map[string][]*corev1.Node{}
	for _, node := range windows {
		build := node.Labels[labelBuild]
		builds[build] = append(builds[build], node)
	}
	for _, build := range slices.Sorted(maps.Keys(builds)) {
		fit := slices.IndexFunc(builds[build], func(node *corev1.Node) bool { return unfit(node) == "" && !foreign(node) })
		if fit < 0 { // an error that names the taint is better than none
			fit = slices.IndexFunc(builds[build], func(node *corev1.Node) bool { return unfit(node) == "" })
		}
		if fit < 0 {
			found = append(found, cloud.Finding{Check: "Windows " + build, Result: cloud.CheckFailed, Text: allUnfit(builds[build])})
			continue
		}
		targets = append(targets, targetOf(builds[build][fit]))
	}
	if len(targets) == 0 {
		return nil, nil, fmt.Errorf("no Windows Node takes pods: %s", allUnfit(windows))
	}
	return targets, found, nil
}

func chooseNamed(windows []*corev1.Node, names []string) (targets []target, err error) {
	for _, name := range names {
		i := slices.IndexFunc(windows, func(node *corev1.Node) bool { return node.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--node %s: there is no Windows Node of this name; there are %s", name, namesOf(windows))
		}
		if problem := unfit(windows[i]); problem != "" {
			return nil, fmt.Errorf("--node %s takes no pods: it %s", name, problem)
		}
		if target := targetOf(windows[i]); !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	return targets, nil
}

// chooseLinux returns what the Linux pods tolerate: nothing, or where no other Linux Node takes pods, the control plane's taint.
func chooseLinux(nodes []corev1.Node) (tolerations []corev1.Toleration, note string, err error) {
	linux := nodesOf(nodes, "linux")
	if len(linux) == 0 {
		return nil, "", fmt.Errorf("the cluster has no Linux Node: none of its %d Nodes has the label %s=linux", len(nodes), labelOS)
	}
	for _, node := range linux {
		if unfit(node) == "" && len(repelling(node)) == 0 {
			return nil, "", nil
		}
	}
	for _, node := range linux {
		taints := repelling(node)
		if unfit(node) == "" && !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key != labelControlPlane }) {
			return []corev1.Toleration{{Key: labelControlPlane, Operator: corev1.TolerationOpExists}},
				"the Linux pods run on the control plane, and tolerate its taint: no other Linux Node takes pods", nil
		}
	}
	return nil, "", fmt.Errorf("no Linux Node takes pods: %s", allUnfit(linux))
}

// nodesOf an operating system, by name.
func nodesOf(nodes []corev1.Node, system string) (found []*corev1.Node) {
	for i := range nodes {
		if nodes[i].Labels[labelOS] == system {
			found = append(found, &nodes[i])
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// unfit explains why no pod can start on a node; empty if one can.
func unfit(node *corev1.Node) string {
	switch {
	case node.DeletionTimestamp != nil:
		return "is being removed"
	case node.Spec.Unschedulable:
		return "is cordoned: kubectl uncordon " + node.Name
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return "is not Ready (" + strings.TrimSpace(condition.Message) + ")" + helpNotReady(condition.Message)
		}
	}
	return ""
}

// helpNotReady is what the kubelet's words for a missing pod network mean.
func helpNotReady(message string) string {
	if strings.Contains(strings.ToLower(message), "cni") || strings.Contains(message, "NetworkPluginNotReady") {
		return ": the CNI does not run there yet, see docs/networks.md, \"What you apply\""
	}
	return ": kubectl describe node shows more"
}

// allUnfit explains why each of the nodes takes no pod. If they are all cordoned, one command is enough.
func allUnfit(nodes []*corev1.Node) string {
	if !slices.ContainsFunc(nodes, func(node *corev1.Node) bool { return !node.Spec.Unschedulable }) {
		return fmt.Sprintf("all %d are cordoned: kubectl uncordon %s", len(nodes), strings.ReplaceAll(namesOf(nodes), ",", ""))
	}
	var problems []string
	for _, node := range nodes {
		problem := unfit(node)
		if problem == "" {
			problem = fmt.Sprintf("has the taint %s", repelling(node)[0].ToString())
		}
		problems = append(problems, node.Name+" "+problem)
	}
	return strings.Join(problems, "; ")
}

// foreign reports whether a node has taints that the Windows pods do not tolerate.
func foreign(node *corev1.Node) bool {
	return slices.ContainsFunc(repelling(node), func(t corev1.Taint) bool {
		return t.Key != windowsTaint.Key || t.Value != windowsTaint.Value || t.Effect != windowsTaint.Effect
	})
}

// repelling are the taints that keep pods from a node.
func repelling(node *corev1.Node) (taints []corev1.Taint) {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			taints = append(taints, taint)
		}
	}
	return taints
}

func namesOf(nodes []*corev1.Node) string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return strings.Join(names, ", ")
}

func targetOf(node *corev1.Node) target {
	t := target{node: node.Name, build: node.Labels[labelBuild]}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP && t.address == "" {
			t.address = address.Address
		}
	}
	return t
}
