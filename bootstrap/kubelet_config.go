package bootstrap

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
)

// kubeletPatch is merged by kubeadm into the cluster's kubelet configuration, which was written for Linux. It has JSON's
// form so that the node can fill in the reservations itself where nobody else knows its size.
func kubeletPatch(n *node) plan.Tree {
	patch := plan.Tree{
		"providerID":               n.providerID,
		"maxPods":                  n.kubelet.maxPods,
		"registerWithTaints":       taintTrees(n.taints),
		"containerRuntimeEndpoint": criSocket,
		// A kubelet on Windows exits when one of these is set at all.
		"defaultPodSysctls":    nil,
		"singleProcessOOMKill": nil,
		"userNamespaces":       nil,
		// There are no cgroups. An empty list would be lost on the way, and false alone is refused.
		"cgroupsPerQOS":                   false,
		"enforceNodeAllocatable":          []any{"none"},
		"shutdownGracePeriod":             shutdownGrace.String(),
		"shutdownGracePeriodCriticalPods": shutdownGraceCritical.String(),
	}
	if len(n.kubelet.gates) > 0 {
		patch["featureGates"] = gateTree(n.kubelet.gates)
	}
	maps.Copy(patch, n.kubelet.fields)
	return patch
}

func gateTree(gates map[string]bool) map[string]any {
	tree := make(map[string]any, len(gates))
	for name, enabled := range gates {
		tree[name] = enabled
	}
	return tree
}

func taintTrees(taints []corev1.Taint) []any {
	trees := make([]any, 0, len(taints))
	for _, taint := range taints {
		tree := map[string]any{"key": taint.Key, "effect": string(taint.Effect)}
		if taint.Value != "" {
			tree["value"] = taint.Value
		}
		trees = append(trees, tree)
	}
	return trees
}

// kubeletPatchStep writes the patch: as a file where the size of the VM is known, else by a table that the node looks
// itself up in.
func kubeletPatchStep(n *node) (plan.Step, error) {
	common := plan.Common{Name: "kubelet-patch", Reason: ReasonNodeFilesFailed}
	patch := kubeletPatch(n)
	rules := reserve(patch, n)
	if len(rules) > 0 {
		return &plan.Reservations{Common: common, Path: plan.Text(kubeletPatchFile), Patch: patch, Rules: rules}, nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("kubelet patch of %s: %w", n.machine.Name, err)
	}
	return &plan.File{Common: common, Path: plan.Text(kubeletPatchFile), Text: plan.Text(string(text))}, nil
}
