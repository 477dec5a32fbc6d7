package linux

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

// Calico is what a cluster has of Calico's pools.
type Calico struct {
	Pools []bootstrap.IPPool
	// Hidden says that this user may not list them.
	Hidden bool
}

const addressesOfPods = "addresses of pods"

// ofAddresses compares how many pods the Windows Nodes take with how many addresses Calico has for them. Without pools there is
// nothing to compare.
func (c *Cluster) ofAddresses() []entry {
	result, text := c.compareBlock()
	if text == "" {
		return nil
	}
	return []entry{{Finding: cloud.Finding{Check: addressesOfPods, Result: result, Text: text}}}
}

func (c *Cluster) compareBlock() (result cloud.Result, text string) {
	block := bootstrap.SmallestBlock(c.Calico.Pools)
	switch {
	case c.Calico.Hidden:
		return cloud.CheckSkipped, "the user of this kubeconfig may not list Calico's ippools, so nobody knows how many pods of a " +
			"Windows Node get an address"
	case len(c.Calico.Pools) == 0:
		return "", ""
	case block.Size == 0:
		return cloud.CheckWarning, "no pool of Calico gives Windows Nodes addresses: each is disabled, for other Nodes, for IPv6, or " +
			"has a blockSize above 29; if these Nodes have Calico, none of their pods starts"
	}
	gives := fmt.Sprintf("Calico gives a Windows Node %s", block)
	var above []string
	maxPods := c.maxPods()
	for _, name := range slices.Sorted(maps.Keys(maxPods)) {
		if maxPods[name] > block.Pods() {
			above = append(above, fmt.Sprintf("%s takes %d pods", placement.Named(name), maxPods[name]))
		}
	}
	if len(above) == 0 {
		return cloud.CheckOK, gives + ", and no Windows Node takes more pods"
	}
	return cloud.CheckWarning, fmt.Sprintf("%s, and %s: a pod without an address does not start; set spec.kubelet.maxPods of the "+
		"config to %d for new machines", gives, few(above), block.Pods())
}

// maxPods are those of the Windows Nodes; of a first one, where there is none.
func (c *Cluster) maxPods() map[string]int {
	if c.assumed == nil {
		return c.MaxPods
	}
	return map[string]int{placement.FirstNode: bootstrap.MaxPods(bootstrapv1.WindowsBootstrapConfigSpec{})}
}

// few names the first of many.
func few(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s, and others (%d)", strings.Join(all[:most], ", "), len(all)-most)
}
