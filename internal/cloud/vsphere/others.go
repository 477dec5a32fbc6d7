package vsphere

import (
	"unique"

	"github.com/vmware/govmomi/vim25/types"
)

// other is a VM without a mark of ours, of which a vCenter may have tens of thousands. What many of them have alike is kept once.
type other struct {
	name, id                  string
	power, connection, parent unique.Handle[string]
	partial                   bool
}

func (i *inventory) keepOther(s *sighting) bool {
	o := other{
		name: s.name, id: s.id, power: unique.Make(string(s.power)), connection: unique.Make(string(s.connection)),
		parent: unique.Make(s.parent), partial: s.partial,
	}
	size := o.size(s.ref.Value)
	if i.foreign+size > maxOthers {
		return false
	}
	i.foreign += size
	i.others[s.ref.Value] = o
	return true
}

// size is what the VM takes in the inventory, in bytes, with what a map and the allocator round up.
func (o other) size(ref string) int { return perOther + len(ref) + len(o.name) + len(o.id) }

func (o other) sighting(ref types.ManagedObjectReference) *sighting {
	return &sighting{
		ref: ref, name: o.name, id: o.id, parent: o.parent.Value(), partial: o.partial,
		power:      types.VirtualMachinePowerState(o.power.Value()),
		connection: types.VirtualMachineConnectionState(o.connection.Value()),
	}
}
