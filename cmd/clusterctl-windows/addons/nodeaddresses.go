package addons

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/placement"
)

// NodeAddresses is how many pods the Windows Nodes of a cluster take, and which pools Calico has for them.
type NodeAddresses struct {
	Pools []bootstrap.IPPool
	// Hidden is set if this user may not list them.
	Hidden bool
	// MaxPods is how many pods each Windows Node takes, by its name. Without one, a first Node is meant.
	MaxPods map[string]int
}

// Add adds the Nodes of machines. A Node that exists keeps its own number of pods. With a CNI other than Calico, a Node takes
// none of Calico's addresses.
func (a *NodeAddresses) Add(joins []placement.Join) {
	for _, j := range joins {
		_, found := a.MaxPods[j.Node.Name]
		switch cni := j.Config.Spec.Network.CNI; {
		case cni != "" && cni != bootstrapv1.CNICalico:
			a.MaxPods[j.Node.Name] = 0
		case !found:
			a.MaxPods[j.Node.Name] = bootstrap.MaxPods(j.Config.Spec)
		}
	}
}

// Findings compares pods with addresses. Without pools there is nothing to compare.
func (a *NodeAddresses) Findings() []cloud.Finding {
	found := cloud.Finding{Check: "addresses of pods"}
	block := bootstrap.SmallestBlock(a.Pools)
	gives := fmt.Sprintf("Calico gives a Windows Node %s", block)
	switch crowded := a.crowded(block); {
	case a.Hidden:
		found.Result, found.Text = cloud.CheckSkipped, "the user of this kubeconfig may not list Calico's ippools, so the number of "+
			"pods of a Windows Node that get an address is not known"
	case len(a.Pools) == 0:
		return nil
	case block.Size == 0:
		found.Result, found.Text = cloud.CheckWarning, "no pool of Calico gives Windows Nodes addresses: each is disabled, for other "+
			"Nodes, for IPv6, or has a blockSize above 29; if these Nodes have Calico, none of their pods starts"
	case crowded == "":
		found.Result, found.Text = cloud.CheckOK, gives+", and no Windows Node takes more pods"
	default:
		found.Result, found.Text = cloud.CheckWarning, fmt.Sprintf("%s, and %s: a pod without an address does not start; set "+
			"spec.kubelet.maxPods of the config to %d for new machines", gives, crowded, block.Pods())
	}
	return []cloud.Finding{found}
}

// crowded lists the first Nodes that take more pods than a block has addresses for.
func (a *NodeAddresses) crowded(block bootstrap.Block) string {
	maxPods := a.MaxPods
	if len(maxPods) == 0 {
		maxPods = map[string]int{placement.FirstNode: bootstrap.MaxPods(bootstrapv1.WindowsBootstrapConfigSpec{})}
	}
	var crowded []string
	for _, name := range slices.Sorted(maps.Keys(maxPods)) {
		if maxPods[name] > block.Pods() {
			crowded = append(crowded, fmt.Sprintf("%s takes %d pods", placement.Named(name), maxPods[name]))
		}
	}
	const limit = 3
	if len(crowded) <= limit {
		return strings.Join(crowded, ", ")
	}
	return fmt.Sprintf("%s, and others (%d)", strings.Join(crowded[:limit], ", "), len(crowded)-limit)
}
