package vsphere

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// Marked returns the VMs with our marks that the watch has seen.
func (a *account) Marked() ([]cloud.Marked, bool) { return a.inventory.marked() }

func (i *inventory) marked() (vms []cloud.Marked, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.vms {
		keys := appendOwner(nil, s)
		if len(keys) == 1 && s.Readable() && s.ProviderID == seen.Scheme+s.ID {
			vms = append(vms, cloud.Marked{
				Name: s.Name, Key: keys[0], ProviderID: s.ProviderID, Cluster: cloud.ReadClusterMark(s.Cluster),
			})
		}
	}
	return vms, i.synced
}

// owners are the machines whose record names a VM, by the value of its reference. It is one, unless a vCenter was restored and
// has given a reference again.
type owners map[string]map[*work]bool

// ownersOf returns the keys of the machines whose record names a VM.
func (l *ledger) ownersOf(ref types.ManagedObjectReference) (keys []cloud.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.owners[ref.Value] {
		keys = append(keys, w.key)
	}
	return keys
}

// move follows a machine from one VM to another; the empty one is none.
func (o *owners) move(w *work, oldRef, newRef types.ManagedObjectReference) {
	if oldRef == newRef {
		return
	}
	if delete((*o)[oldRef.Value], w); len((*o)[oldRef.Value]) == 0 {
		delete(*o, oldRef.Value)
	}
	if newRef.Value == "" {
		return
	}
	if *o == nil {
		*o = owners{}
	}
	if (*o)[newRef.Value] == nil {
		(*o)[newRef.Value] = map[*work]bool{}
	}
	(*o)[newRef.Value][w] = true
}
