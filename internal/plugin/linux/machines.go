package linux

import (
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
}

// Add adds what the workload cluster does not know. A Node that is there is as it says.
func (c *Cluster) Add(machines Machines) {
	c.ProxyRuns = machines.ProxyRuns
	for _, node := range machines.Nodes {
		if !slices.ContainsFunc(c.Windows, func(n placement.Node) bool { return n.Name == node.Name }) {
			c.Windows = append(c.Windows, node)
		}
	}
}
