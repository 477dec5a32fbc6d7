package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// patchTree is merged by kubeadm into the cluster's kubelet configuration, which was written for Linux. It has JSON's
// form so that the node can fill in the reservations itself where nobody else knows its size.
func (k *Kubelet) patchTree() plan.Tree {
	patch := plan.Tree{
		"providerID":               k.providerID,
		"maxPods":                  k.MaxPods,
		"registerWithTaints":       taintTrees(k.Taints),
		"containerRuntimeEndpoint": step.CRISocket,
		// There are no cgroups, and false alone is refused.
		"cgroupsPerQOS":          false,
		"enforceNodeAllocatable": nothingEnforced(k.minor),
		"featureGates":           gateTree(k.gates),
	}
	for _, name := range foreignFields {
		patch[name] = nil
	}
	for name, gate := range neededGates {
		if gate == affinityGate {
			patch[name] = nil
		}
	}
	maps.Copy(patch, shutdownFields(GateOn(shutdownGate, k.gates, k.minor)))
	maps.Copy(patch, k.fields)
	return patch
}

// foreignFields are taken out of the cluster's configuration, besides those of the affinity, which is arranged for the
// cpus and the reservations of Linux nodes and at which a kubelet on Windows exits when it has the gate. Those of a group
// that a user may write are his then. All else that stands there for Linux stays: kubeadm empties resolvConf and gives
// staticPodPath and clientCAFile a drive, signals of Linux are never observed, and what is of cgroups, sysctls, iptables,
// swap or seccomp is read and not used.
var foreignFields = []string{
	// A kubelet on Windows exits when one of these is set at all.
	"defaultPodSysctls", "singleProcessOOMKill", "userNamespaces",
	// It exits at a Unix socket, at swap without cgroups v2, at a certificate that only Linux nodes have, at grace periods of
	// both kinds, and at a version that fits the cluster's kubelets and not its own.
	"imageServiceEndpoint", "memorySwap", "tlsCertFile", "tlsPrivateKeyFile", "shutdownGracePeriodByPodPriority",
	"showHiddenMetricsForVersion", "runOnce",
	// They change the reservations, or the number of Pods that they are made for.
	"reservedSystemCPUs", "podsPerCore", "localStorageCapacityIsolation",
	// The node would not register, or would write logs where nobody looks for them.
	"registerNode", "podLogsDir",
}

// nothingEnforced is a list that is not empty where that is taken: a configuration that is read and written again loses an
// empty one, and the kubelet then takes [pods]. The oldest refuses every other list on Windows.
func nothingEnforced(minor uint64) []any {
	if minor < noneMinor {
		return []any{}
	}
	return []any{"none"}
}

// noneMinor is the first whose kubelet takes [none] on Windows.
const noneMinor = 31

// shutdownGate is on unless somebody says otherwise; a kubelet without it exits at grace periods.
const shutdownGate = "GracefulNodeShutdown"

func shutdownFields(on bool) map[string]any {
	if !on {
		return map[string]any{"shutdownGracePeriod": nil, "shutdownGracePeriodCriticalPods": nil}
	}
	return map[string]any{
		"shutdownGracePeriod":             shutdownGrace.String(),
		"shutdownGracePeriodCriticalPods": shutdownGraceCritical.String(),
	}
}

// gateTree has the user's gates, and takes back what the cluster says of the one that our grace periods need.
func gateTree(gates map[string]bool) map[string]any {
	tree := map[string]any{shutdownGate: nil}
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

// patchStep writes the patch: as a file where the size of the VM is known, else by a table that the node looks itself up
// in.
func (k *Kubelet) patchStep() (plan.Step, error) {
	common := plan.Common{Name: "kubelet-patch", Reason: step.ReasonNodeFilesFailed}
	patch := k.patchTree()
	rules := k.reserve(patch)
	if len(rules) > 0 {
		return &plan.Reservations{Common: common, Path: plan.Text(step.KubeletPatchFile), Patch: patch, Rules: rules}, nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("kubelet patch of %s: %w", k.nodeName, err)
	}
	return &plan.File{Common: common, Path: plan.Text(step.KubeletPatchFile), Text: plan.Text(string(text))}, nil
}
