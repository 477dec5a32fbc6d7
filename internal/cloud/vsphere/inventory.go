package vsphere

import (
	"reflect"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// What an inventory holds, in bytes. A VM that finds no room is left out: the vCenter is asked for it when it is one of ours.
// Others' VMs, of which only name, id and state are kept, may take half of the room: that is enough for 10,000 of them.
const (
	maxInventory = 8 << 20
	perVM        = 256 // besides its texts
)

// inventory holds what the watch has seen of all VMs. VMs without our marks are in it too, because a VM can appear before its
// marks do. It can prove that a VM exists; absence.go says what it is worth that a VM is not in it.
type inventory struct {
	mu     sync.Mutex
	synced bool // up to date, but for the time that a change takes to arrive
	vms    map[types.ManagedObjectReference]*sighting
	ours   map[string]types.ManagedObjectReference // by provider id
	size   int                                     // in bytes
	part   bool                                    // a VM found no room, or the account may not see all VMs
}

// begin empties the inventory for a new snapshot and returns the keys that it knew.
func (i *inventory) begin() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	keys := i.keys()
	i.synced, i.size, i.part = false, 0, false
	i.vms = map[types.ManagedObjectReference]*sighting{}
	i.ours = map[string]types.ManagedObjectReference{}
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
	i.part = true
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

// update applies a change and returns the keys of the machines that it concerns: by the marks before and after the change.
func (i *inventory) update(u types.ObjectUpdate) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.vms[u.Obj]
	if s == nil {
		s = &sighting{ref: u.Obj, partial: u.Kind != types.ObjectUpdateKindEnter}
	} else {
		i.drop(s)
	}
	keys := appendOwner(nil, s)
	if u.Kind == types.ObjectUpdateKindLeave {
		return keys
	}
	before := *s
	for _, c := range u.ChangeSet {
		s.set(c.Name, c.Val)
	}
	if !s.partial && reflect.DeepEqual(before, *s) {
		keys = nil // nothing that we keep has changed
	}
	i.keep(s)
	if s.owner != before.owner {
		keys = appendOwner(keys, s)
	}
	return keys
}

func (i *inventory) keep(s *sighting) {
	room := maxInventory
	if s.owner == "" && s.providerID == "" {
		room = maxInventory / 2
		s.partial = s.partial || s.address != "" || len(s.nics) > 0 || s.report != ""
		s.address, s.nics, s.report = "", nil, ""
	}
	if i.size+s.size() > room {
		i.part = true
		return
	}
	i.size += s.size()
	i.vms[s.ref] = s
	if s.providerID != "" && (scheme+s.id == s.providerID || i.ours[s.providerID].Value == "") {
		// If a person clones our VM, the copy has our marks but not our id.
		i.ours[s.providerID] = s.ref
	}
}

func (i *inventory) drop(s *sighting) {
	i.size -= s.size()
	delete(i.vms, s.ref)
	if i.ours[s.providerID] == s.ref {
		delete(i.ours, s.providerID)
	}
}

// size is what the VM takes in the inventory, in bytes.
func (s *sighting) size() int {
	size := perVM + len(s.ref.Value) + len(s.ref.ServerGUID) + len(s.parent) + len(s.name) + len(s.id) + len(s.owner) +
		len(s.providerID) + len(s.cluster) + len(s.power) + len(s.connection) + len(s.address)
	if len(s.report) <= cloud.MaxReport { // the one that is longer is a constant
		size += len(s.report)
	}
	for _, ip := range s.nics {
		size += len(ip) + 16
	}
	return size
}

// find returns m's VM if the inventory is up to date and has it.
func (i *inventory) find(m cloud.Machine) found {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.vms[i.ours[m.ProviderID]]
	if s == nil || !i.synced || s.partial || s.whose(m, byItsID) != cloud.Ours {
		return found{}
	}
	return found{cloud.Ours, new(*s)}
}

func (i *inventory) keys() []cloud.Key {
	var keys []cloud.Key
	for _, s := range i.vms {
		keys = appendOwner(keys, s)
	}
	return keys
}

func appendOwner(keys []cloud.Key, s *sighting) []cloud.Key {
	namespace, name, ok := strings.Cut(s.owner, "/")
	if !ok {
		return keys
	}
	return append(keys, cloud.Key{Namespace: namespace, Name: name})
}
