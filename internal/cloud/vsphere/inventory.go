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

// What an inventory holds, in bytes. Others' VMs and the reports of ours have a room of their own, so that neither takes that of
// the rest: there is room for 10,000 VMs of others, and for 5,000 of ours with a report of 1 KiB each. A VM that finds no room is
// left out, and a report that finds none is: the vCenter is asked for them.
const (
	maxOthers    = 4 << 20
	maxInventory = 6 << 20 // of ours, without their reports
	maxReports   = 6 << 20

	perVM    = 512 // of ours, besides its texts
	perOther = 192
)

// inventory holds what the watch has seen of all VMs. VMs without our marks are in it too, because a VM can appear before its
// marks do. It can prove that a VM exists; absence.go says what it is worth that a VM is not in it.
type inventory struct {
	mu      sync.Mutex
	synced  bool                                      // up to date, but for the time that a change takes to arrive
	vms     map[types.ManagedObjectReference]*seen.VM // with one of our marks, or ours by their reference
	ours    map[string]types.ManagedObjectReference   // by provider id
	others  map[string]other                          // by the value of their reference
	size    int                                       // of vms, without their reports
	reports int                                       // bytes
	foreign int                                       // size of others
	missing missing
	guests  guests
}

// begin empties the inventory for a new snapshot and returns the keys that it knew.
func (i *inventory) begin() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	keys := i.keys()
	i.synced, i.size, i.reports, i.foreign, i.missing = false, 0, 0, 0, missing{}
	i.vms = map[types.ManagedObjectReference]*seen.VM{}
	i.ours = map[string]types.ManagedObjectReference{}
	i.others = map[string]other{}
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

// partly notes that only the VMs in some folders will be told.
func (i *inventory) partly() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.missing.elsewhere = true
}

// all returns the keys that it knows, also when changes no longer arrive.
func (i *inventory) all() []cloud.Key {
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

// update applies a change of what all VMs are asked for. It returns the keys of the machines that it concerns: those whose record
// names the VM, and that of its marks before and after the change.
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
func change(before seen.VM, s *seen.VM, u types.ObjectUpdate, byRecord []cloud.Key) []cloud.Key {
	for _, c := range u.ChangeSet {
		s.Set(c.Name, c.Val)
	}
	if !s.Partial && reflect.DeepEqual(before, *s) {
		return nil
	}
	keys := appendOwner(byRecord, &before)
	if s.Owner != before.Owner {
		keys = appendOwner(keys, s)
	}
	return keys
}

// vmRef is the reference to a VM. That of an answer may name a server too, which no other method of a vCenter does.
func vmRef(value string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: value}
}

// take takes a VM out, to be changed or dropped; nil if it is not there.
func (i *inventory) take(ref types.ManagedObjectReference) *seen.VM {
	ref = vmRef(ref.Value)
	if o, there := i.others[ref.Value]; there {
		i.foreign -= o.size(ref.Value)
		delete(i.others, ref.Value)
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
	if i.ours[s.ProviderID] == ref {
		delete(i.ours, s.ProviderID)
	}
	return s
}

// keep puts a VM in if there is room. One that is in the list of ours remains among them until it is taken off that.
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
	if s.ProviderID != "" && (seen.Scheme+s.ID == s.ProviderID || i.ours[s.ProviderID].Value == "") {
		// If a person clones our VM, the copy has our marks but not our id.
		i.ours[s.ProviderID] = s.Ref
	}
	if isOurs(s) && !i.guests.listed[s.Ref] {
		i.guests.wake()
	}
	return true
}

// isOurs says that the VM has a mark of ours, or that the record of a machine names it.
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

// reported is what the report takes. The one that is longer than a report can be is a constant.
func reported(s *seen.VM) int {
	if len(s.Report) > cloud.MaxReport {
		return 0
	}
	return len(s.Report)
}

// find returns m's VM if the inventory is up to date and has all of it: by its marks or, as a person may have changed them, by
// the reference in the machine's record. The id is m's in any case. The guest of a VM that is being made has nothing to report,
// so a machine that had none yet does not wait for that, nor does one whose VM has just come; its user data count as given until
// the vCenter has said so.
func (i *inventory) find(m cloud.Machine, recorded types.ManagedObjectReference) seen.Found {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.vms[i.ours[m.ProviderID]]
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

// hasJustCome says that the vCenter may yet report what its guest reports: VMs that come in the same seconds are listed together.
func hasJustCome(s *seen.VM) bool { return time.Since(s.Came) < guestsTime }

// recorded finds a VM by a machine's record. One that counted as a stranger's until now is asked for all that is known of ours.
func (i *inventory) recorded(m cloud.Machine, ref string) *seen.VM {
	if o, there := i.others[ref]; there && o.id == seen.IDOf(m) {
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

// mayHave says that a VM has m's marks, id or name.
func (i *inventory) mayHave(m cloud.Machine) bool {
	for _, s := range i.vms {
		if s.Name == m.Name || s.ID == seen.IDOf(m) || s.ProviderID == m.ProviderID {
			return true
		}
	}
	for _, o := range i.others {
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
