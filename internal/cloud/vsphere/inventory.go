package vsphere

import (
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// inventory holds what the watch has seen of all VMs; also of those that are not ours, since a VM may show its marks
// later than itself. It may say that a VM is there. That one is not there is never taken from here.
type inventory struct {
	mu     sync.Mutex
	synced bool // is what vCenter has, but for the moment that a change takes to get here
	vms    map[types.ManagedObjectReference]*sighting
	ours   map[string]types.ManagedObjectReference // by provider id
}

// begin empties the inventory for a new snapshot and returns the keys that it knew.
func (i *inventory) begin() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	keys := i.keys()
	i.synced = false
	i.vms = map[types.ManagedObjectReference]*sighting{}
	i.ours = map[string]types.ManagedObjectReference{}
	return keys
}

// complete says that the snapshot is, and returns the keys of all VMs in it.
func (i *inventory) complete() []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
	return i.keys()
}

// lose says that changes no longer get here.
func (i *inventory) lose() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = false
}

// update takes over a change and says which machines it concerns: that of the marks before and after it.
func (i *inventory) update(u types.ObjectUpdate) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.vms[u.Obj]
	if s == nil {
		s = &sighting{ref: u.Obj}
		i.vms[u.Obj] = s
	}
	keys := appendOwner(nil, s)
	if u.Kind == types.ObjectUpdateKindLeave {
		i.drop(s)
		return keys
	}
	before := s.owner
	for _, c := range u.ChangeSet {
		s.set(c.Name, c.Val)
	}
	if s.providerID != "" && (s.readable() && scheme+s.id == s.providerID || i.ours[s.providerID].Value == "") {
		// A clone that somebody made of our VM has our marks, but not our id.
		i.ours[s.providerID] = s.ref
	}
	if s.owner != before {
		keys = appendOwner(keys, s)
	}
	return keys
}

func (i *inventory) drop(s *sighting) {
	delete(i.vms, s.ref)
	if i.ours[s.providerID] == s.ref {
		delete(i.ours, s.providerID)
	}
}

// find returns m's VM, or nothing seen where the inventory does not know.
func (i *inventory) find(m cloud.Machine) found {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.vms[i.ours[m.ProviderID]]
	// The id decides: in another folder a copy may have the name and the marks as well.
	if s == nil || !i.synced || s.id != idOf(m) || !s.belongsTo(m) {
		return found{}
	}
	return found{ours, new(*s)}
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
