package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// guests holds the VMs in the list of those whose guest properties are watched.
type guests struct {
	listed map[types.ManagedObjectReference]bool
	added  chan struct{} // there may be a VM to list
}

func (g *guests) wake() {
	select {
	case g.added <- struct{}{}:
	default: // the goroutine has yet to look
	}
}

// Added returns a channel that fires when there may be a VM to list. It is the same for all snapshots.
func (i *Inventory) Added() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.guests.added
}

// Unlisted returns the VMs to add to the list and, if there is one, those to take off it. They count as listed from now on: a VM
// that leaves meanwhile does not.
func (i *Inventory) Unlisted() (add, remove []types.ManagedObjectReference) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for ref, s := range i.vms {
		if isOurs(s) && !i.guests.listed[ref] {
			add = append(add, ref)
		}
	}
	if len(add) == 0 {
		return nil, nil
	}
	// A watch that begins again, because a page was too large, shall find the page where it was.
	slices.SortFunc(add, func(a, b types.ManagedObjectReference) int { return cmp.Compare(a.Value, b.Value) })
	for ref := range i.guests.listed {
		if s := i.vms[ref]; s == nil || !isOurs(s) {
			remove = append(remove, ref)
			delete(i.guests.listed, ref)
		}
	}
	for _, ref := range add {
		i.guests.listed[ref] = true
	}
	return add, remove
}

// NotListed takes VMs back that a request did not add to the list: those that the vCenter no longer knows, or all of one that
// failed. Then Added fires again.
func (i *Inventory) NotListed(refs []types.ManagedObjectReference, failed bool) {
	if failed {
		i.guests.wake()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, ref := range refs {
		delete(i.guests.listed, seen.RefOf(ref.Value))
	}
}

// AwaitsGuests reports whether a VM is listed without a report of its guest.
func (i *Inventory) AwaitsGuests() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for ref := range i.guests.listed {
		if s := i.vms[ref]; s != nil && !s.Guest {
			return true
		}
	}
	return false
}

// UpdateGuest applies a change of a property that is watched of our VMs only, and returns the keys of the machines that it
// concerns.
func (i *Inventory) UpdateGuest(u types.ObjectUpdate, byRecord ...cloud.Key) []cloud.Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(i.guests.listed, seen.RefOf(u.Obj.Value))
	}
	if i.vms[seen.RefOf(u.Obj.Value)] == nil {
		return nil
	}
	s := i.take(u.Obj)
	old := *s
	if u.Kind != types.ObjectUpdateKindModify {
		s.Guest, s.Came = u.Kind == types.ObjectUpdateKindEnter, time.Time{}
		s.Address, s.NICs, s.Report, s.Withheld, s.UserData = "", nil, "", 0, false
	}
	keys := change(old, s, u, byRecord)
	if !i.keep(s) && !s.Partial {
		i.missing.vms++
	}
	if !s.Guest {
		return nil
	}
	return keys
}
