package linux

import (
	"maps"
	"slices"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// Machines is what a management cluster knows of the Windows Nodes of a Cluster.
type Machines struct {
	// Nodes are those that its machines have made or will make.
	Nodes []placement.Node
	// ProxyRuns say who is to run kube-proxy on a Node, by its name.
	ProxyRuns map[string]bootstrapv1.KubeProxyRun
	// MaxPods is how many pods the kubelet of a Node takes, by its name; none of a Node with another CNI than Calico.
	MaxPods map[string]int
}

// Add adds what the workload cluster does not know. A Node that is there is as it says.
func (c *Cluster) Add(machines Machines) {
	c.ProxyRuns = machines.ProxyRuns
	maxPods := map[string]int{}
	maps.Copy(maxPods, machines.MaxPods)
	maps.Copy(maxPods, c.MaxPods)
	for _, node := range machines.Nodes {
		if !slices.ContainsFunc(c.Windows, func(n placement.Node) bool { return n.Name == node.Name }) {
			c.Windows = append(c.Windows, node)
		}
		if machines.MaxPods[node.Name] == 0 {
			delete(maxPods, node.Name)
		}
	}
	c.MaxPods = maxPods
}
