package vsphere

import "github.com/capwin/cluster-api-provider-windows/internal/cloud"

// Marked returns the VMs with our marks that the watch has seen.
func (a *account) Marked() ([]cloud.Marked, bool) { return a.inventory.marked() }

func (i *inventory) marked() (all []cloud.Marked, known bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.vms {
		keys := appendOwner(nil, s)
		if len(keys) == 1 && s.readable() && s.providerID == scheme+s.id {
			all = append(all, cloud.Marked{
				Name: s.name, Key: keys[0], ProviderID: s.providerID, Cluster: cloud.ReadClusterMark(s.cluster),
			})
		}
	}
	return all, i.synced
}
