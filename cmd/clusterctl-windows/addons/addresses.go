package addons

import (
	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
)

// hostLocal gives pods addresses of the Node's pod CIDR, not of a block.
const hostLocal = "HostLocal"

// Addresses has a sentence for each pool whose nodes take more pods than Calico has addresses for. Of a cluster that was not
// asked, only Calico's default is known.
func Addresses(pools []Pool, calico *Calico) (notes []string) {
	block, ok := calico.block()
	if !ok {
		return nil
	}
	if calico != nil && calico.PoolsHidden {
		notes = append(notes, "the user of this kubeconfig may not list Calico's ippools, so only its default blockSize is known")
	}
	for _, p := range pools {
		if p.Network.CNI != bootstrapv1.CNICalico {
			continue
		}
		if lack := block.Lack(p.MaxPods); lack != "" {
			notes = append(notes, p.name()+": "+lack)
		}
	}
	return notes
}

// block is the smallest that a Windows node may get. It is not counted where pods do not get their addresses of one.
func (c *Calico) block() (block bootstrap.Block, counts bool) {
	if c == nil || c.Installation == nil {
		return block, true
	}
	if c.Installation.CNI.IPAM.Type == hostLocal {
		return block, false
	}
	pools := c.IPPools
	if len(pools) == 0 { // the operator makes them of these
		for _, ipPool := range c.Installation.CalicoNetwork.IPPools {
			pool := bootstrap.IPPool{Name: ipPool.CIDR}
			pool.Spec.CIDR, pool.Spec.BlockSize, pool.Spec.NodeSelector = ipPool.CIDR, ipPool.BlockSize, ipPool.NodeSelector
			pools = append(pools, pool)
		}
	}
	return bootstrap.SmallestBlock(pools), true
}
