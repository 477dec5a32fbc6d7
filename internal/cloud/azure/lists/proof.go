package lists

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// Remnant is an adapter or disk that no VM uses, or a public IP that no adapter has.
type Remnant struct {
	next.Remnant
	ID       arm.ID
	Mark     cloud.Marked
	UniqueID string // Azure's own
}

// resembles says that a machine may have left it.
func (r Remnant) resembles(m cloud.Machine) bool {
	return belongings.Fits(r.ID, m) || r.Mark.Key == m.Key && r.Mark.ProviderID == m.ProviderID
}

// isProved says that it was made for a machine: it has a name that fits and all marks, and it is in the machine's record by
// Azure's own ID. An adapter or public IP may instead have the mark of our management cluster, and have been seen with the VM.
func (s *State) isProved(r Remnant, m cloud.Machine, record infrav1.AzureRecord) bool {
	if !belongings.Fits(r.ID, m) || !arm.Belongs(m, r.Mark) {
		return false
	}
	vm, _ := arm.ReadProviderID(m.ProviderID)
	seen := belongings.KindOf(r.ID) != belongings.Disk && s.IsOf(r, vm) && IsOurs(r.Mark, m.Cluster.Manager)
	return seen || belongings.Recorded(record, r.ID, r.UniqueID)
}

// IsOf says that this process has seen a remnant with a VM, which was proved to be that of the machine whose marks the remnant
// has.
func (s *State) IsOf(r Remnant, vm arm.ID) bool {
	return s.seenWith[r.ID.Key()] == seenVM{vm.Key(), Mark{r.Mark.Key, r.Mark.ProviderID}}
}

// Mark is what the tags of a resource say of its machine. They have no UID.
type Mark struct {
	Key        cloud.Key
	ProviderID string
}

// seenVM is a VM by its key, and the machine whose it was.
type seenVM struct {
	key string
	of  Mark
}

// IsOurs says that the management cluster of a mark is ours.
func IsOurs(mark cloud.Marked, manager types.UID) bool {
	return manager != "" && mark.Cluster.Manager == manager
}

// Left is the remnant of a machine that is to be looked at first. One that is not proved to be the machine's is only waited for:
// it is no longer listed soon, or it stays.
func (s *State) Left(m cloud.Machine, record infrav1.AzureRecord, now time.Time) (first *next.Remnant) {
	for _, r := range s.Remnants {
		if !r.resembles(m) || !s.isProved(r, m, record) && now.Sub(r.Since) >= OldEnough {
			continue
		}
		if first == nil || r.LookAt().Before(first.LookAt()) {
			first = &r.Remnant
		}
	}
	return first
}

// Orphans are the remnants that a machine leaves because they are not proved to be its own.
func (s *Scope) Orphans(m cloud.Machine, record infrav1.AzureRecord) (all []string) {
	s.Do(func(state *State) {
		for _, r := range state.Remnants {
			if r.resembles(m) && !state.isProved(r, m, record) {
				all = append(all, belongings.KindOf(r.ID)+" "+r.ID.Name())
			}
		}
	})
	slices.Sort(all)
	return all
}

// Marked are the VMs with our marks, and the remnants with all marks of a VM of this group, which nothing has used for long.
// Their machines may be gone.
func (s *Scope) Marked(now time.Time) (all []cloud.Marked) {
	s.Do(func(state *State) {
		for _, r := range state.VMs {
			if r.Original {
				all = append(all, r.Mark)
			}
		}
		for _, r := range state.Remnants {
			if _, ok := state.VMOf(r); ok && now.Sub(r.Since) >= OldEnough {
				r.Mark.Kind, r.Mark.Name = belongings.KindOf(r.ID), r.ID.Name()
				all = append(all, r.Mark)
			}
		}
	})
	return all
}

// VMOf is the VM of this group that the marks and the name of a remnant say it was made with.
func (s *State) VMOf(r Remnant) (vm arm.ID, ok bool) {
	vm, ok = arm.ReadProviderID(r.Mark.ProviderID)
	return vm, ok && vm.Parent().Key() == s.Group.Key() && arm.Complete(r.Mark) &&
		strings.HasPrefix(strings.ToLower(r.ID.Name()), strings.ToLower(vm.Name())+"-")
}

// Part is what a list shows as a VM's.
type Part struct {
	ID       arm.ID
	UniqueID string
}

// takeParts takes over what lists show as belonging to VMs, by the VM's key.
func (s *State) takeParts(at Sweeping) {
	s.Parts = map[string][]Part{}
	vmOf := map[string]string{} // of adapters
	for _, one := range slices.Concat(at.Adapters, at.Disks) {
		vm, ok := arm.Parse(one.User())
		if ok {
			vmOf[strings.ToLower(one.ID)] = vm.Key()
			s.takePart(one, vm.Key())
		}
	}
	for _, one := range at.Public {
		if at, ok := arm.Parse(one.Properties.IPConfiguration.ID); ok && len(at.Names) > 1 {
			if vm := vmOf[at.Parent().Adapter(at.Names[0]).Key()]; vm != "" {
				s.takePart(one, vm)
			}
		}
	}
}

func (s *State) takePart(one calls.Resource, vm string) {
	id, ok := arm.Parse(one.ID)
	if !ok || one.UniqueID() == "" {
		return
	}
	s.Parts[vm] = append(s.Parts[vm], Part{id, one.UniqueID()})
}

// Remember keeps what belongs to a VM that is proved to be a machine's. What belongs to any other VM is nobody's to sweep:
// whoever may write tags can give it our marks.
func (s *State) Remember(r Record, m cloud.Machine) {
	if s.seenWith == nil || len(s.seenWith) >= manyParts {
		s.seenWith = map[string]seenVM{}
	}
	vm := seenVM{r.Key, Mark{m.Key, m.ProviderID}}
	for _, key := range r.Adapters {
		s.seenWith[key] = vm
	}
	for _, one := range s.Parts[r.Key] {
		if belongings.KindOf(one.ID) != belongings.Disk {
			s.seenWith[one.ID.Key()] = vm
		}
	}
}

// manyParts is how many adapters and public IPs are remembered with their VMs.
const manyParts = 80_000
