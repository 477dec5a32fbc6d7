package placement

import (
	"slices"

	verdict "github.com/capwin/cluster-api-provider-windows/internal/placement"
	"github.com/capwin/cluster-api-provider-windows/internal/policies"
)

// nextParams are the params that follow from what is known of a cluster, after those that it has. Spared stays. So do labels of
// Windows Nodes that are gone: their pool may only be scaled to zero, and pods that select it are for Windows all the same. A
// label goes when a Linux Node has it.
func nextParams(last policies.Params, v *view) policies.Params {
	windows, linux := v.nodes()
	joining, onLinux := v.joining(), plain(linux)
	all := slices.Concat(plain(windows), joining, remembered(last.WindowsLabels, onLinux))
	labels := policies.WindowsLabels(all, onLinux)
	return policies.Params{
		WindowsLabels: labels, RuntimeClasses: policies.WindowsClasses(v.classes(), labels), Spared: last.Spared,
	}
}

func plain(nodes []node) []verdict.Node {
	all := make([]verdict.Node, len(nodes))
	for i, n := range nodes {
		all[i] = n.Node
	}
	return all
}

// remembered are Nodes with the labels of earlier ones. Any value of a key is not remembered where Linux Nodes have the key by
// now, and not that there were too many labels.
func remembered(labels map[string][]string, linux []verdict.Node) (nodes []verdict.Node) {
	for key, values := range labels {
		for _, value := range values {
			switch {
			case value != policies.Any:
				nodes = append(nodes, verdict.Node{Labels: map[string]string{key: value}})
			case key != policies.Any && !slices.ContainsFunc(linux, func(n verdict.Node) bool { return hasKey(n, key) }):
				nodes = append(nodes, verdict.Node{Unknown: []string{key}})
			}
		}
	}
	return nodes
}

func hasKey(n verdict.Node, key string) bool {
	_, has := n.Labels[key]
	return has
}
