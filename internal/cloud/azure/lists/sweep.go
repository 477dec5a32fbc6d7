package lists

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// OldEnough is how long an adapter, disk or public IP must have been of no use before it is removed. It is also how long a
// machine that is to be removed must not have been asked for before it counts as let go by hand.
const OldEnough = 10 * time.Minute

// Sweeping is what a sweep has read already while it waits for its next list. A list that was read is not nil.
type Sweeping struct {
	Began                   time.Time
	Adapters, Disks, Public []Resource
	Kept                    int // bytes of them
}

// SearchEvery is how often machines that are removed may have the lists asked for.
const SearchEvery = 30 * time.Second

// SweepSoon makes the watch ask for the lists, for all machines that wait for them.
func (s *Scope) SweepSoon() {
	s.Do(func(state *State) {
		if due := state.SweepBegan.Add(SearchEvery); state.Due[Remnants].After(due) {
			state.Due[Remnants] = due
		}
	})
}

// BeginSweep goes on with the sweep that waits for its next list, or begins one.
func (s *Scope) BeginSweep(now time.Time) (sweep Sweeping) {
	s.Do(func(state *State) {
		sweep, state.Sweeping = state.Sweeping, Sweeping{}
		if sweep.Adapters == nil {
			sweep.Began, state.SweepBegan = now, now
		}
	})
	return sweep
}

// KeepSweep keeps what a sweep has read until its next list can be had.
func (s *Scope) KeepSweep(sweep Sweeping) {
	s.Do(func(state *State) {
		if state.Sweeping = sweep; state.forgotten {
			state.dropSweep()
		}
	})
}

// HasPublic reports whether there may be public IPs of machines: a machine wants one, or an adapter with marks has one. No other
// group is asked for them, so that no other identity needs the right.
func (s *Scope) HasPublic(adapters []Resource) (found bool) {
	s.Do(func(state *State) {
		state.Public = state.Public || slices.ContainsFunc(adapters, func(adapter Resource) bool {
			return adapter.Public && adapter.Mark.ProviderID != ""
		})
		found = state.Public
	})
	return found
}

// TakeRemnants takes over what nothing uses, and what belongs to VMs, from a sweep that is complete if all lists were read.
func (s *Scope) TakeRemnants(sweep Sweeping, complete bool, now time.Time) {
	remnants, used, parts, vmOf := map[string]Remnant{}, map[string]bool{}, map[string][]Part{}, map[string]string{}
	s.Do(func(state *State) {
		for _, resource := range slices.Concat(sweep.Adapters, sweep.Disks, sweep.Public) {
			key, vm := resource.ID.Key(), cmp.Or(resource.VM, vmOf[resource.Adapter]) // a public IP's is that of its adapter
			vmOf[key] = vm
			if vm != "" {
				used[strings.Clone(path.Base(vm))] = true
			}
			if vm != "" && resource.UniqueID != "" && len(parts[vm]) < maxParts {
				parts[vm] = append(parts[vm], Part{resource.ID, resource.UniqueID})
			}
			if !resource.Attached {
				remnants[key] = state.remnantOf(resource, now)
			}
		}
		state.Remnants, state.Used, state.Parts = remnants, used, parts
		if complete {
			state.Swept = sweep.Began
		}
	})
	s.Held[Remnants].Hold(sweep.Kept)
}

// DropSweep forgets what a sweep has read that ends here.
func (s *Scope) DropSweep(sweep Sweeping) { s.Held[Remnants].Give(sweep.Kept) }

// remnantOf is what nothing uses, with what is known of it from before.
func (s *State) remnantOf(resource Resource, now time.Time) Remnant {
	r := Remnant{
		ID: resource.ID, Mark: resource.Mark, UniqueID: resource.UniqueID,
		Remnant: next.Remnant{ID: resource.ID.String(), FirstSeen: now},
	}
	if previous, ok := s.Remnants[resource.ID.Key()]; ok && previous.UniqueID == r.UniqueID {
		r.FirstSeen, r.Looked = previous.FirstSeen, previous.Looked
	}
	return r
}

// Actions for all machines of a group: if the identity may not do one, no machine reports it at once.
const (
	AdapterList = "list of adapters"
	DiskList    = "list of disks"
	PublicList  = "list of public IPs"
)

// RemovalOf is the name of a thing's removal in State.Refused.
func RemovalOf(id arm.ID) string {
	switch {
	case id.HasType(arm.DiskType):
		return "removal of disks"
	case id.HasType(arm.PublicIPType):
		return "removal of public IPs"
	}
	return "removal of adapters"
}

// NoteRefusal remembers that the identity lacks the right to an action, until Azure lets it.
func (s *Scope) NoteRefusal(action string, answer calls.Answer) {
	s.Do(func(state *State) {
		switch {
		case answer.Verdict == nil:
			delete(state.Refused, action)
		case answer.Verdict.Lacks != "":
			state.Refused[action] = answer.Verdict.Error
		}
	})
}

// Refusal is the first error about an action that the identity may not do.
func (s *State) Refusal() *cloud.Error {
	if err := s.Power.Refusal(); err != nil {
		return err
	}
	for _, action := range slices.Sorted(maps.Keys(s.Refused)) {
		return s.Refused[action]
	}
	return nil
}

// Hidden is the error if the identity may not list what a deletion may leave; nil if it may.
func (s *State) Hidden() *cloud.Error {
	return cmp.Or(s.Refused[AdapterList], s.Refused[DiskList], s.Refused[PublicList])
}

// HasRemnants reports whether the last sweep has found any.
func (s *Scope) HasRemnants() (found bool) {
	s.Do(func(state *State) { found = len(state.Remnants) > 0 })
	return found
}

// IsRemnant reports whether a list showed it as of no use, and no look since showed otherwise.
func (s *Scope) IsRemnant(id arm.ID) (found bool) {
	s.Do(func(state *State) { _, found = state.Remnants[id.Key()] })
	return found
}

// Checked takes over what a look showed of a remnant: the list may have been late. Another resource that has got its name is
// none, until a list shows it.
func (s *Scope) Checked(id arm.ID, found calls.Resource, gone bool, now time.Time) {
	s.Do(func(state *State) {
		r, ok := state.Remnants[id.Key()]
		if ok {
			r.Looked = now
			state.Remnants[id.Key()] = r
		}
		replaced := found.UniqueID() != "" && r.UniqueID != "" && found.UniqueID() != r.UniqueID
		if gone || replaced || found.Attached() {
			delete(state.Remnants, id.Key())
		}
	})
}

// Removed notes that Azure removes a remnant.
func (s *Scope) Removed(id arm.ID) {
	s.Do(func(state *State) {
		delete(state.Remnants, id.Key())
		state.Swept = time.Time{} // it may have had a public IP
	})
}

// Attach forgets that an adapter was seen without a VM, which has it now.
func (s *Scope) Attach(adapter arm.ID) {
	s.Do(func(state *State) { delete(state.Remnants, adapter.Key()) })
}
