// Package inventory holds what the watch of an account has seen of all VMs, of ours and of others, in so many bytes at most. It
// asks nothing.
//
//	inventory.go  take changes of VMs, and keep those that find room
//	find.go       find a machine's VM, or prove that there is none
//	guests.go     which VMs the vCenter is to report the guests of: those of ours
//	room.go       what others' VMs take, and what found no room
package inventory

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Limits of an inventory, in bytes. Others' VMs and the reports of ours have limits of their own, so that neither takes the room
// of the rest: there is room for 10,000 VMs of others, and for 5,000 of ours with a report of 1 KiB each. All inventories of a
// namespace have its share. A VM or a report that finds no room is left out, and read by a call.
const (
	maxOthers    = 4 << 20
	maxInventory = 6 << 20 // of ours, without their reports
	maxReports   = 6 << 20

	perVM    = 512 // of ours, besides its texts
	perOther = 192
)

// Inventory is that of one account. VMs without our marks are in it too, because a VM can appear before its marks do. It can
// prove that a VM exists; the account decides what the absence of a VM proves.
type Inventory struct {
	// Share is what the namespace of the account has for this and all else. Set it before use.
	Share tenants.Share

	mu           sync.Mutex
	synced       bool                                      // up to date, but for the time that a change takes to arrive
	vms          map[types.ManagedObjectReference]*seen.VM // with one of our marks, or ours by their reference
	byProviderID map[string]types.ManagedObjectReference   // by provider id
	otherVMs     map[string]otherVM                        // by the value of their reference
	size         int                                       // of vms, without their reports
	reports      int                                       // bytes
	foreign      int                                       // size of others
	missing      missing
	guests       guests
}

// Begin empties the inventory for a new snapshot and returns the keys that it knew.
func (i *Inventory) Begin() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	keys := i.keys()
	i.Share.Give(i.size + i.reports + i.foreign)
	i.synced, i.size, i.reports, i.foreign, i.missing = false, 0, 0, 0, missing{}
	i.vms = map[types.ManagedObjectReference]*seen.VM{}
	i.byProviderID = map[string]types.ManagedObjectReference{}
	i.otherVMs = map[string]otherVM{}
	i.guests.listed = map[types.ManagedObjectReference]bool{}
	if i.guests.added == nil {
		i.guests.added = make(chan struct{}, 1)
	}
	return keys
}

// Complete notes that the snapshot is complete, of all VMs or of those in some folders, and returns the keys of all VMs in it.
func (i *Inventory) Complete(ofFolders bool) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced, i.missing.elsewhere = true, ofFolders
	return i.keys()
}

// Machines returns the keys of the machines in the inventory, also when changes no longer arrive.
func (i *Inventory) Machines() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys()
}

// Lose notes that changes no longer arrive.
func (i *Inventory) Lose() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = false
}

// IsSynced reports whether changes arrive, and all VMs have been listed.
func (i *Inventory) IsSynced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}

// Update applies a change of a property that is watched of all VMs. It returns the keys of the machines that it concerns: those
// whose record names the VM, and that of its marks before and after the change.
func (i *Inventory) Update(u types.ObjectUpdate, byRecord ...cloud.Key) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.take(u.Obj)
	counted := i.missing.note(s, u.Kind)
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(i.guests.listed, seen.RefOf(u.Obj.Value))
		return appendOwner(byRecord, s)
	}
	if s == nil {
		s = &seen.VM{Ref: seen.RefOf(strings.Clone(u.Obj.Value)), Partial: counted}
		if i.synced {
			s.Came = time.Now()
		}
	}
	s.Partial, s.ByRecord = counted, len(byRecord) > 0
	keys := change(*s, s, u, byRecord)
	if !i.keep(s) && !counted {
		i.missing.vms++
	}
	return keys
}

// change applies a change to a VM. It returns no keys when it is still as it was before, in all that we keep.
func change(old seen.VM, s *seen.VM, u types.ObjectUpdate, byRecord []cloud.Key) []cloud.Key {
	for _, c := range u.ChangeSet {
		s.Set(c.Name, c.Val)
	}
	if !s.Partial && reflect.DeepEqual(old, *s) {
		return nil
	}
	keys := appendOwner(byRecord, &old)
	if s.Owner != old.Owner {
		keys = appendOwner(keys, s)
	}
	return keys
}

// take removes a VM, to be changed or dropped; nil if it is not there.
func (i *Inventory) take(ref types.ManagedObjectReference) *seen.VM {
	ref = seen.RefOf(ref.Value)
	if o, ok := i.otherVMs[ref.Value]; ok {
		i.foreign -= o.size(ref.Value)
		i.Share.Give(o.size(ref.Value))
		delete(i.otherVMs, ref.Value)
		return o.sighting(ref)
	}
	s := i.vms[ref]
	if s == nil {
		return nil
	}
	i.size -= sizeOf(s)
	i.reports -= reported(s)
	i.Share.Give(sizeOf(s) + reported(s))
	i.missing.reports -= s.Withheld
	delete(i.vms, ref)
	if i.byProviderID[s.ProviderID] == ref {
		delete(i.byProviderID, s.ProviderID)
	}
	return s
}

// keep adds a VM if there is room. One that is in the list of ours remains among them until it is taken off that.
func (i *Inventory) keep(s *seen.VM) bool {
	if !isOurs(s) && s.Cluster == "" && !i.guests.listed[s.Ref] {
		return i.keepOther(s)
	}
	if i.size+sizeOf(s) > maxInventory || !i.Share.Take(sizeOf(s)) {
		return false
	}
	if i.reports+reported(s) > maxReports || !i.Share.Take(reported(s)) {
		s.Report, s.Withheld = "", reported(s)
	}
	i.size += sizeOf(s)
	i.reports += reported(s)
	i.missing.reports += s.Withheld
	i.vms[s.Ref] = s
	if s.ProviderID != "" && (seen.Scheme+s.ID == s.ProviderID || i.byProviderID[s.ProviderID].Value == "") {
		// If a person clones our VM, the copy has our marks but not our id.
		i.byProviderID[s.ProviderID] = s.Ref
	}
	if isOurs(s) && !i.guests.listed[s.Ref] {
		i.guests.wake()
	}
	return true
}

// isOurs reports whether the VM has a mark of ours, or a machine's record names it.
func isOurs(s *seen.VM) bool { return s.Owner != "" || s.ProviderID != "" || s.ByRecord }

// size is what the VM takes in the inventory without its report, in bytes.
func sizeOf(s *seen.VM) int {
	size := perVM + len(s.Ref.Value) + len(s.Parent) + len(s.Name) + len(s.ID) + len(s.Owner) +
		len(s.ProviderID) + len(s.Cluster) + len(s.Digest) + len(s.Power) + len(s.Connection) + len(s.Address)
	for _, ip := range s.NICs {
		size += len(ip) + 16
	}
	return size
}

// reported is the size of the report. A report above the limit has none, as it is replaced by a constant.
func reported(s *seen.VM) int {
	if len(s.Report) > cloud.MaxReport {
		return 0
	}
	return len(s.Report)
}

func (i *Inventory) keys() []cloud.Key {
	var keys []cloud.Key
	for _, s := range i.vms {
		keys = appendOwner(keys, s)
	}
	return keys
}

func appendOwner(keys []cloud.Key, s *seen.VM) []cloud.Key {
	if s == nil {
		return keys
	}
	namespace, name, ok := strings.Cut(s.Owner, "/")
	if !ok {
		return keys
	}
	return append(keys, cloud.Key{Namespace: namespace, Name: name})
}
