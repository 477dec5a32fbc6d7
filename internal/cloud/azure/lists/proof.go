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
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// Remnant is an adapter or disk that no VM uses, or a public IP that no adapter has.
type Remnant struct {
	next.Remnant
	ID       arm.ID
	Mark     cloud.Marked
	UniqueID string // Azure's own
}

// resembles reports whether a machine may have left it.
func (r Remnant) resembles(m cloud.Machine) bool {
	return belongings.Fits(r.ID, m) || r.Mark.Of(m)
}

// isProved reports whether it was made for a machine: it has a name that fits and all marks, and it is in the machine's record by
// Azure's own ID. An adapter or public IP may instead have the mark of our management cluster, and have been seen with the VM.
func (s *State) isProved(r Remnant, m cloud.Machine, record infrav1.AzureRecord) bool {
	if !belongings.Fits(r.ID, m) || !arm.Belongs(m, r.Mark) {
		return false
	}
	vm, _ := arm.ReadProviderID(m.ProviderID)
	seen := belongings.KindOf(r.ID) != belongings.Disk && s.IsOf(r, vm) && IsOurs(r.Mark, m.Cluster.Manager)
	return seen || belongings.Recorded(record, r.ID, r.UniqueID)
}

// IsOf reports whether this process has seen a remnant with a VM that was proved to belong to the machine in the remnant's marks.
func (s *State) IsOf(r Remnant, vm arm.ID) bool {
	return s.seenWith[r.ID.Key()] == seenVM{vm.Key(), Mark{r.Mark.Key, r.Mark.ProviderID}}
}

// Mark identifies a machine in the tags of a resource. They have no UID.
type Mark struct {
	Key        cloud.Key
	ProviderID string
}

// seenVM is a VM by its key, and the machine whose it was.
type seenVM struct {
	key     string
	machine Mark
}

// IsOurs reports whether the management cluster of a mark is ours.
func IsOurs(mark cloud.Marked, manager types.UID) bool {
	return manager != "" && mark.Cluster.Manager == manager
}

// Left is the remnant of a machine to look at first. A remnant that is not proved to be the machine's is only waited for: either
// the lists soon drop it, or it stays.
func (s *State) Left(m cloud.Machine, record infrav1.AzureRecord, now time.Time) (first *next.Remnant) {
	for _, r := range s.Remnants {
		if !r.resembles(m) || !s.isProved(r, m, record) && now.Sub(r.FirstSeen) >= OldEnough {
			continue
		}
		if first == nil || r.LookAt().Before(first.LookAt()) {
			first = &r.Remnant
		}
	}
	return first
}

// Orphans are the remnants that a machine leaves because they are not proved to be its own.
func (s *Scope) Orphans(m cloud.Machine, record infrav1.AzureRecord) (orphans []string) {
	s.Do(func(state *State) {
		for _, r := range state.Remnants {
			if r.resembles(m) && !state.isProved(r, m, record) {
				orphans = append(orphans, belongings.KindOf(r.ID)+" "+r.ID.Name())
			}
		}
	})
	slices.Sort(orphans)
	return orphans
}

// Marked are the VMs with our marks, and the remnants with all marks of a VM of this group, which nothing has used for long.
// Their machines may be gone.
func (s *Scope) Marked(now time.Time) (marks []cloud.Marked) {
	s.Do(func(state *State) {
		for _, r := range state.VMs {
			if r.Original {
				marks = append(marks, r.Mark)
			}
		}
		for _, r := range state.Remnants {
			if _, ok := state.VMOf(r); ok && now.Sub(r.FirstSeen) >= OldEnough {
				r.Mark.Kind, r.Mark.Name = belongings.KindOf(r.ID), r.ID.Name()
				marks = append(marks, r.Mark)
			}
		}
	})
	return marks
}

// VMOf is the VM of this group that a remnant was made with, by the marks and the name of the remnant.
func (s *State) VMOf(r Remnant) (vm arm.ID, ok bool) {
	vm, ok = arm.ReadProviderID(r.Mark.ProviderID)
	return vm, ok && vm.Parent().Key() == s.Group.Key() && arm.Complete(r.Mark) &&
		strings.HasPrefix(strings.ToLower(r.ID.Name()), strings.ToLower(vm.Name())+"-")
}

// Part is a resource that a list shows as a VM's.
type Part struct {
	ID       arm.ID
	UniqueID string
}

// Remember keeps what belongs to a VM that is proved to be a machine's, if there is room. What belongs to another VM is not ours
// to sweep: anybody who may write tags can give it our marks.
func (s *State) Remember(r Record, m cloud.Machine) {
	if s.seenWith == nil || len(s.seenWith) >= manyParts {
		s.seenWith = map[string]seenVM{}
		s.Held[sightings].Hold(0)
	}
	keys := slices.Clone(r.Adapters)
	for _, part := range s.Parts[r.Key] {
		if belongings.KindOf(part.ID) != belongings.Disk {
			keys = append(keys, part.ID.Key())
		}
	}
	for _, key := range keys {
		_, found := s.seenWith[key]
		if found || s.Held[sightings].Grow(perSighting+len(key)+len(r.Key)) {
			s.seenWith[key] = seenVM{r.Key, Mark{m.Key, m.ProviderID}}
		}
	}
}

// manyParts is how many adapters and public IPs are remembered with their VMs, and maxParts more than a VM of Azure's has.
const (
	manyParts   = 80_000
	maxParts    = 128
	perSighting = 250
)
