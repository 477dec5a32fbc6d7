package lists

import (
	"regexp"
	"slices"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
)

// What a record takes besides its texts, in bytes, with what maps and the allocator round up.
const (
	perVM       = 900
	perResource = 500
	perAddress  = 100
	perID       = 24
	perPower    = 500
)

// computerName is what a machine's VM may be named: no other name is asked for.
var computerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,14}$`)

// isName reports whether a VM may be a machine's by its name.
func isName(vm arm.ID) bool { return computerName.MatchString(strings.ToLower(vm.Name())) }

// clip shortens texts that are longer than any of Azure's.
func clip(texts ...*string) {
	for _, text := range texts {
		if len(*text) > maxText {
			*text = strings.Clone((*text)[:maxText])
		}
	}
}

// maxText is more than is shown of a text, so that people see that it was longer. No ID of Azure's is longer than maxID.
const (
	maxText = 80
	maxID   = 1024
)

// trimmed are our marks among tags, and how many bytes they take.
func trimmed(tags map[string]string) (marks map[string]string, bytes int) {
	for name, value := range tags {
		if arm.IsMark(name, value) {
			if marks == nil {
				marks = map[string]string{}
			}
			marks[name] = value
			bytes += len(name) + len(value)
		}
	}
	return marks, bytes
}

// first are the first items, without the room of the others.
func first[T any](items []T, count int) []T {
	if len(items) <= count {
		return items
	}
	return slices.Clone(items[:count])
}

// KeepVM keeps of a VM what its record has, if it is in the group and may be a machine's by its name. Marks decide nothing here:
// what else may write tags may have changed them.
func (s *Scope) KeepVM(vm *calls.VM) int {
	id, ok := arm.Parse(vm.ID)
	if !ok || !isName(id) || id.Parent().Key() != s.Key {
		return 0
	}
	marks, bytes := trimmed(vm.Tags)
	vm.Tags, vm.Zones = marks, first(vm.Zones, 1)
	for i := range vm.Zones {
		clip(&vm.Zones[i])
	}
	bytes += perVM + 2*len(vm.ID)
	if p := vm.Properties; p != nil {
		p.InstanceView = nil
		clip(&p.VMID, &p.ProvisioningState, &p.Priority, &p.EvictionPolicy, &p.HardwareProfile.VMSize)
		clip(&p.StorageProfile.ImageReference.ExactVersion)
		adapters, disks := &p.NetworkProfile.NetworkInterfaces, &p.StorageProfile.DataDisks
		*adapters, *disks = first(*adapters, maxAdapters), first(*disks, belongings.MaxDisks)
		for i := range *adapters {
			bytes += dropOdd(&(*adapters)[i].ID)
		}
		for i := range *disks {
			bytes += dropOdd(&(*disks)[i].ManagedDisk.ID)
		}
		bytes += dropOdd(&p.StorageProfile.OSDisk.ManagedDisk.ID)
	}
	return bytes
}

// dropOdd drops what is no ID of Azure's, and returns how many bytes it takes.
func dropOdd(id *string) int {
	if _, ok := arm.Parse(*id); !ok {
		*id = ""
	}
	return perID + len(*id)
}

// KeepPower returns what keeps of a VM with its power state the state, if it is in a group of a scope or has the name of a
// machine's VM, which may have been moved. The names are asked for once the list has begun: it proves something of all of them.
func (l *Lists) KeepPower(names func() map[string]bool) func(*calls.VM) int {
	groups := map[string]bool{}
	for _, s := range l.AllScopes() {
		groups[s.Key] = true
	}
	return func(vm *calls.VM) int {
		id, ok := arm.Parse(vm.ID)
		wanted := ok && isName(id) && (groups[id.Parent().Key()] || names()[strings.ToLower(id.Name())])
		if !wanted {
			return 0
		}
		p := vm.Properties
		*vm = calls.VM{ID: vm.ID}
		if p != nil && p.InstanceView != nil {
			view := &calls.View{}
			if power := powerOf(p.InstanceView.Statuses); power != "" {
				view.Statuses = []calls.Status{{Code: powerCode + string(power)}}
			}
			*p = *zero(p)
			p.InstanceView, vm.Properties = view, p
		}
		return perPower + 2*len(vm.ID)
	}
}

func zero[T any](*T) *T { return new(T) }

// KeepResource keeps what is read of an adapter, disk or public IP, unless it belongs to what cannot be a machine's VM.
func KeepResource(resource *calls.Resource) int {
	user := resource.User()
	vm, isID := arm.Parse(user)
	if _, ok := arm.Parse(resource.ID); !ok || user != "" && (!isID || !isName(vm)) {
		return 0
	}
	p := &resource.Properties
	marks, bytes := trimmed(resource.Tags)
	resource.Tags = marks
	bytes += perResource + 2*len(resource.ID) + len(user) + dropLong(&p.IPConfiguration.ID)
	clip(&resource.Name, &p.DiskState, &p.UniqueID, &p.ResourceGUID, &p.ProvisioningState)
	for i := range p.IPConfigurations {
		config := &p.IPConfigurations[i].Properties
		clip(&config.PrivateIPAddress, &config.PublicIPAddress.ID)
		bytes += perAddress + len(config.PrivateIPAddress) + len(config.PublicIPAddress.ID)
	}
	return bytes
}

// dropLong shortens what is longer than any ID of Azure's, and so none, and returns how many bytes it takes.
func dropLong(id *string) int {
	if len(*id) > maxID {
		*id = strings.Clone((*id)[:maxID])
	}
	return len(*id)
}

// Held is how many bytes are kept of a list.
func (s *Scope) Held(list List) (bytes int) {
	s.Do(func(state *State) { bytes = state.held[list] })
	return bytes
}

// HoldAddresses notes how many bytes are kept of the list of addresses now.
func (s *Scope) HoldAddresses(bytes int) {
	s.Do(func(state *State) { state.hold(Addresses, bytes) })
}

// hold notes how many bytes are kept of a list now, for which room was taken.
func (s *State) hold(list List, bytes int) {
	s.kept.Give(s.Namespace, s.held[list])
	if s.held[list] = bytes; s.forgotten {
		s.kept.Give(s.Namespace, bytes)
		s.held[list] = 0
	}
}

// forget gives back what the scope keeps. A caller that still has it keeps what it reads for a moment.
func (s *Scope) forget() {
	s.Do(func(state *State) {
		state.forgotten = true
		for list := range state.held {
			state.hold(List(list), 0)
		}
		state.dropSweep()
	})
}

func (s *State) dropSweep() {
	s.kept.Give(s.Namespace, s.Sweeping.Kept)
	s.Sweeping = Sweeping{}
}
