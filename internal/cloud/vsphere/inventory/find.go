package inventory

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// Find returns m's VM if the inventory is up to date and has all of it: by its marks or, as a person may have changed them, by
// the reference in the machine's record. The id is m's in any case. The guest of a VM that is being made has nothing to report,
// so a machine without a VM so far does not wait for that, nor does one whose VM has just appeared; its user data count as given
// until the vCenter has reported them.
func (i *Inventory) Find(m cloud.Machine, recorded types.ManagedObjectReference) seen.Found {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.synced {
		return seen.Found{}
	}
	s := i.vms[i.byProviderID[m.ProviderID]]
	if s == nil || s.Whose(m, seen.ByID) != cloud.Ours {
		s = i.recorded(m, recorded.Value)
	}
	if s == nil || s.Partial || s.Withheld > 0 {
		return seen.Found{}
	}
	if !s.Guest && (m.Settled || m.Asked == cloud.Existed && !hasJustCome(s)) {
		return seen.Found{}
	}
	copied := *s
	copied.UserData = s.UserData || !s.Guest
	return seen.Found{Whose: cloud.Ours, VM: &copied}
}

// GuestsTime is how long the vCenter may take to report what our guests report, before the account counts as up to date. A VM of
// whose guest nothing is known by then is looked up by a call.
const GuestsTime = 10 * time.Second

// hasJustCome reports whether the guest's report of a VM may still be on its way: VMs that appear in the same seconds are listed
// together.
func hasJustCome(s *seen.VM) bool { return time.Since(s.Came) < GuestsTime }

// recorded finds a VM by a machine's record. If it counted as a stranger's until now, all properties of our VMs are read of it
// from now on.
func (i *Inventory) recorded(m cloud.Machine, ref string) *seen.VM {
	if o, ok := i.otherVMs[ref]; ok && o.id == seen.IDOf(m) {
		s := i.take(seen.RefOf(ref))
		s.ByRecord = true
		if !i.keep(s) && !s.Partial {
			i.missing.vms++
		}
	}
	if s := i.vms[seen.RefOf(ref)]; s != nil && s.Whose(m, seen.ByReference) == cloud.Ours {
		return s
	}
	return nil
}

// Lacks reports whether the inventory is up to date, holds all VMs, and has none that could be m's: with its marks, its id or
// its name. A VM that was made a moment ago may be missing from it. Before a clone that is enough, because names are unique in a
// folder: a second clone fails. Before a machine is let go it is one half of the proof.
func (i *Inventory) Lacks(m cloud.Machine) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced && !i.missing.elsewhere && i.missing.vms == 0 && !i.mayHave(m)
}

// mayHave reports whether a VM has m's marks, id or name.
func (i *Inventory) mayHave(m cloud.Machine) bool {
	for _, s := range i.vms {
		if s.Name == m.Name || s.ID == seen.IDOf(m) || s.ProviderID == m.ProviderID {
			return true
		}
	}
	for _, o := range i.otherVMs {
		if o.name == m.Name || o.id == seen.IDOf(m) {
			return true
		}
	}
	return false
}

// Marked returns the VMs with our marks, and whether the inventory is up to date.
func (i *Inventory) Marked() (vms []cloud.Marked, ok bool) {
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
