package vsphere

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// Limits of an inventory, in bytes. Others' VMs and the reports of ours have limits of their own, so that neither takes the room
// of the rest: there is room for 10,000 VMs of others, and for 5,000 of ours with a report of 1 KiB each. A VM or a report that
// finds no room is left out, and read by a call.
const (
	maxOthers    = 4 << 20
	maxInventory = 6 << 20 // of ours, without their reports
	maxReports   = 6 << 20

	perVM    = 512 // of ours, besides its texts
	perOther = 192
)

// inventory holds what the watch has seen of all VMs. VMs without our marks are in it too, because a VM can appear before its
// marks do. It can prove that a VM exists; absence.go decides what the absence of a VM proves.
type inventory struct {
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

// begin empties the inventory for a new snapshot and returns the keys that it knew.
func (i *inventory) begin() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	keys := i.keys()
	i.synced, i.size, i.reports, i.foreign, i.missing = false, 0, 0, 0, missing{}
	i.vms = map[types.ManagedObjectReference]*seen.VM{}
	i.byProviderID = map[string]types.ManagedObjectReference{}
	i.otherVMs = map[string]otherVM{}
	i.guests.begin()
	return keys
}

// complete notes that the snapshot is complete, and returns the keys of all VMs in it.
func (i *inventory) complete() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
	return i.keys()
}

// partly notes that the watch covers only the VMs in some folders.
func (i *inventory) partly() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.missing.elsewhere = true
}

// machines returns the keys of the machines in the inventory, also when changes no longer arrive.
func (i *inventory) machines() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys()
}

// lose notes that changes no longer arrive.
func (i *inventory) lose() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = false
}

func (i *inventory) isSynced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}

// update applies a change of a property that is watched of all VMs. It returns the keys of the machines that it concerns: those
// whose record names the VM, and that of its marks before and after the change.
func (i *inventory) update(u types.ObjectUpdate, byRecord ...cloud.Key) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.take(u.Obj)
	counted := i.missing.note(s, u.Kind)
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(i.guests.listed, vmRef(u.Obj.Value))
		return appendOwner(byRecord, s)
	}
	if s == nil {
		s = &seen.VM{Ref: vmRef(strings.Clone(u.Obj.Value)), Partial: counted}
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

// vmRef is the reference to a VM. That of an answer may name a server too, which no other method of a vCenter does.
func vmRef(value string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: value}
}

// take removes a VM, to be changed or dropped; nil if it is not there.
func (i *inventory) take(ref types.ManagedObjectReference) *seen.VM {
	ref = vmRef(ref.Value)
	if o, ok := i.otherVMs[ref.Value]; ok {
		i.foreign -= o.size(ref.Value)
		delete(i.otherVMs, ref.Value)
		return o.sighting(ref)
	}
	s := i.vms[ref]
	if s == nil {
		return nil
	}
	i.size -= sizeOf(s)
	i.reports -= reported(s)
	i.missing.reports -= s.Withheld
	delete(i.vms, ref)
	if i.byProviderID[s.ProviderID] == ref {
		delete(i.byProviderID, s.ProviderID)
	}
	return s
}

// keep adds a VM if there is room. One that is in the list of ours remains among them until it is taken off that.
func (i *inventory) keep(s *seen.VM) bool {
	if !isOurs(s) && s.Cluster == "" && !i.guests.listed[s.Ref] {
		return i.keepOther(s)
	}
	if i.size+sizeOf(s) > maxInventory {
		return false
	}
	if i.reports+reported(s) > maxReports {
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

// find returns m's VM if the inventory is up to date and has all of it: by its marks or, as a person may have changed them, by
// the reference in the machine's record. The id is m's in any case. The guest of a VM that is being made has nothing to report,
// so a machine without a VM so far does not wait for that, nor does one whose VM has just appeared; its user data count as given
// until the vCenter has reported them.
func (i *inventory) find(m cloud.Machine, recorded types.ManagedObjectReference) seen.Found {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.vms[i.byProviderID[m.ProviderID]]
	if s == nil || s.Whose(m, seen.ByID) != cloud.Ours {
		s = i.recorded(m, recorded.Value)
	}
	if s == nil || !i.synced || s.Partial || s.Withheld > 0 {
		return seen.Found{}
	}
	if !s.Guest && (m.Settled || m.Asked == cloud.Existed && !hasJustCome(s)) {
		return seen.Found{}
	}
	copied := *s
	copied.UserData = s.UserData || !s.Guest
	return seen.Found{Whose: cloud.Ours, VM: &copied}
}

// hasJustCome reports whether the guest's report of a VM may still be on its way: VMs that appear in the same seconds are listed
// together.
func hasJustCome(s *seen.VM) bool { return time.Since(s.Came) < guestsTime }

// recorded finds a VM by a machine's record. If it counted as a stranger's until now, all properties of our VMs are read of it
// from now on.
func (i *inventory) recorded(m cloud.Machine, ref string) *seen.VM {
	if o, ok := i.otherVMs[ref]; ok && o.id == seen.IDOf(m) {
		s := i.take(vmRef(ref))
		s.ByRecord = true
		if !i.keep(s) && !s.Partial {
			i.missing.vms++
		}
	}
	if s := i.vms[vmRef(ref)]; s != nil && s.Whose(m, seen.ByReference) == cloud.Ours {
		return s
	}
	return nil
}

// mayHave reports whether a VM has m's marks, id or name.
func (i *inventory) mayHave(m cloud.Machine) bool {
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

func (i *inventory) keys() []cloud.Key {
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
