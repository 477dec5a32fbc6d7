package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/capwin/cluster-api-provider-windows/bootstrap/plan"
	"github.com/capwin/cluster-api-provider-windows/bootstrap/step"
)

// patchTree is what kubeadm merges into the cluster's kubelet configuration, which was written for Linux. It is a
// tree so that the node can fill in reservations that depend on its size.
func (k *Kubelet) patchTree() plan.Tree {
	patch := plan.Tree{
		"providerID":               k.providerID,
		"maxPods":                  k.MaxPods,
		"registerWithTaints":       taintTrees(k.Taints),
		"containerRuntimeEndpoint": step.CRISocket,
		// Windows has no cgroups, and false alone is refused.
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

// foreignFields are removed from the cluster's configuration, as are the fields for CPU and memory affinity: those
// are made for the CPUs and reservations of Linux nodes, and a kubelet on Windows exits at them if it has the gate. A
// user may set the latter again. Everything else for Linux stays: kubeadm empties resolvConf and gives staticPodPath
// and clientCAFile a drive, Linux signals are never observed, and settings of cgroups, sysctls, iptables, swap and
// seccomp are not used.
var foreignFields = []string{
	// A kubelet on Windows exits if one of these is set at all.
	"defaultPodSysctls", "singleProcessOOMKill", "userNamespaces",
	// It exits at a Unix socket, at swap without cgroups v2, at a certificate of Linux nodes, at grace periods of both
	// kinds, and at a version that fits the kubelets of the cluster but not itself.
	"imageServiceEndpoint", "memorySwap", "tlsCertFile", "tlsPrivateKeyFile", "shutdownGracePeriodByPodPriority",
	"showHiddenMetricsForVersion", "runOnce",
	// These change the reservations, or the number of pods that the reservations are for.
	"reservedSystemCPUs", "podsPerCore", "localStorageCapacityIsolation",
	// The node would not register, or would write logs where log collectors do not look.
	"registerNode", "podLogsDir",
}

// nothingEnforced is [none] where the kubelet accepts it: an empty list gets lost when a configuration is read and
// written again, and the kubelet then uses [pods]. The oldest versions accept only the empty list on Windows.
func nothingEnforced(minor uint64) []any {
	if minor < noneMinor {
		return []any{}
	}
	return []any{"none"}
}

// noneMinor is the first 1.x whose kubelet accepts [none] on Windows.
const noneMinor = 31

// shutdownGate is on by default; without it a kubelet exits at grace periods.
const shutdownGate = "GracefulNodeShutdown"

func shutdownFields(enabled bool) map[string]any {
	if !enabled {
		return map[string]any{"shutdownGracePeriod": nil, "shutdownGracePeriodCriticalPods": nil}
	}
	return map[string]any{
		"shutdownGracePeriod":             shutdownGrace.String(),
		"shutdownGracePeriodCriticalPods": shutdownGraceCritical.String(),
	}
}

// gateTree has the user's gates, and removes what the cluster's configuration has about the gate for our grace periods.
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

// patchStep writes the patch as a file if the size of the VM is known, else with a table in which the node finds its
// own row.
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
