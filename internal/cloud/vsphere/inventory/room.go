package inventory

import (
	"unique"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// otherVM is a VM without a mark of ours, of which a vCenter may have tens of thousands. What many of them have alike is kept
// once.
type otherVM struct {
	name, id                  string
	power, connection, parent unique.Handle[string]
	partial                   bool
}

func (i *Inventory) keepOther(s *seen.VM) bool {
	o := otherVM{
		name: s.Name, id: s.ID, power: unique.Make(string(s.Power)), connection: unique.Make(string(s.Connection)),
		parent: unique.Make(s.Parent), partial: s.Partial,
	}
	size := o.size(s.Ref.Value)
	if i.foreign+size > maxOthers || !i.Share.Take(size) {
		return false
	}
	i.foreign += size
	i.otherVMs[s.Ref.Value] = o
	return true
}

// size is what the VM takes in the inventory, in bytes, with what a map and the allocator round up.
func (o otherVM) size(ref string) int { return perOther + len(ref) + len(o.name) + len(o.id) }

func (o otherVM) sighting(ref types.ManagedObjectReference) *seen.VM {
	return &seen.VM{
		Ref: ref, Name: o.name, ID: o.id, Parent: o.parent.Value(), Partial: o.partial,
		Power:      types.VirtualMachinePowerState(o.power.Value()),
		Connection: types.VirtualMachineConnectionState(o.connection.Value()),
	}
}

// missing counts what the inventory lacks. Which VMs it lacks would take room again; the vCenter reports the end of each.
type missing struct {
	vms       int  // of which not all is known
	reports   int  // bytes of reports that found no room
	elsewhere bool // the account may not see all VMs
}

// note counts a VM that is no longer missing, or is new to the count, because of a change. It reports whether, after the change,
// the VM counts as missing.
func (m *missing) note(s *seen.VM, kind types.ObjectUpdateKind) bool {
	switch enters := kind == types.ObjectUpdateKindEnter; {
	case s == nil && enters, s != nil && !s.Partial:
		return false
	case kind == types.ObjectUpdateKindModify:
		m.vms = max(m.vms, 1)
		return true
	}
	m.vms = max(m.vms-1, 0)
	return false
}

// HasRoomAgain reports whether VMs were left out for which there is ample room now.
func (i *Inventory) HasRoomAgain() bool {
	const large = 1 << 10 // more than most VMs take
	i.mu.Lock()
	defer i.mu.Unlock()
	left := i.missing.vms * large
	return left+i.missing.reports > 0 &&
		i.size+left <= maxInventory*7/8 && i.foreign+left <= maxOthers*7/8 && i.reports+i.missing.reports <= maxReports*7/8 &&
		i.Share.Fits(left+i.missing.reports)
}
