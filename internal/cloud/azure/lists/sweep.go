package lists

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// OldEnough is how long an adapter, disk or public IP must have been of no use before it is removed, and how long nobody must
// have asked for a machine that is to be removed before it counts as let go by hand.
const OldEnough = 10 * time.Minute

// Sweeping is what a sweep has read already while it waits for its next list. A list that was read is not nil.
type Sweeping struct {
	Began                   time.Time
	Adapters, Disks, Public []calls.Resource
}

// SearchEvery is how often machines that are removed may have the lists asked for.
const SearchEvery = 30 * time.Second

// SweepSoon has the watch ask for the lists, for all machines that wait for them.
func (s *Scope) SweepSoon() {
	s.Do(func(state *State) {
		if at := state.SweepBegan.Add(SearchEvery); state.Due[Remnants].After(at) {
			state.Due[Remnants] = at
		}
	})
}

// BeginSweep goes on with the sweep that waits for its next list, or begins one.
func (s *Scope) BeginSweep(now time.Time) (at Sweeping) {
	s.Do(func(state *State) {
		at, state.Sweeping = state.Sweeping, Sweeping{}
		if at.Adapters == nil {
			at.Began, state.SweepBegan = now, now
		}
	})
	return at
}

// KeepSweep keeps what a sweep has read until its next list can be had.
func (s *Scope) KeepSweep(at Sweeping) {
	s.Do(func(state *State) { state.Sweeping = at })
}

// EndSweep notes that all lists of a sweep were read.
func (s *Scope) EndSweep(at Sweeping) {
	s.Do(func(state *State) { state.Swept = at.Began })
}

// HasPublic says that public IPs may be there which belong to machines: one wants one, or an adapter with marks has one. No other
// group is asked for them, so nobody else needs the right.
func (s *Scope) HasPublic(adapters []calls.Resource) (has bool) {
	s.Do(func(state *State) {
		state.Public = state.Public || slices.ContainsFunc(adapters, func(one calls.Resource) bool {
			return one.Public() && arm.ReadMark(one.Tags).ProviderID != ""
		})
		has = state.Public
	})
	return has
}

// TakeRemnants takes over what nothing uses, and what belongs to VMs.
func (s *Scope) TakeRemnants(at Sweeping, now time.Time) {
	s.Do(func(state *State) { state.takeRemnants(at, now) })
}

func (s *State) takeRemnants(at Sweeping, now time.Time) {
	s.takeParts(at)
	found, used := map[string]Remnant{}, map[string]bool{}
	for _, one := range slices.Concat(at.Adapters, at.Disks, at.Public) {
		if vm, ok := arm.Parse(one.User()); ok {
			used[strings.Clone(strings.ToLower(vm.Name()))] = true
		}
		id, ok := arm.Parse(one.ID)
		if !ok || one.Attached() {
			continue
		}
		r := Remnant{ID: id, Mark: arm.ReadMark(one.Tags), UniqueID: one.UniqueID(), Remnant: next.Remnant{ID: id.String(), Since: now}}
		if was, known := s.Remnants[id.Key()]; known && was.UniqueID == r.UniqueID {
			r.Since, r.Looked = was.Since, was.Looked
		}
		found[id.Key()] = r
	}
	s.Remnants, s.Used = found, used
}

// What is done for all machines of a group, so that none is told at once if the identity may not do it.
const (
	AdapterList = "list of adapters"
	DiskList    = "list of disks"
	PublicList  = "list of public IPs"
)

// RemovalOf is how the removal of a thing is named in State.Refused.
func RemovalOf(id arm.ID) string {
	switch {
	case id.Is("Microsoft.Compute/disks"):
		return "removal of disks"
	case id.Is("Microsoft.Network/publicIPAddresses"):
		return "removal of public IPs"
	}
	return "removal of adapters"
}

// NoteRefusal remembers that the identity lacks a right, until Azure says otherwise.
func (s *Scope) NoteRefusal(what string, of calls.Answer) {
	s.Do(func(state *State) {
		switch {
		case of.Verdict == nil:
			delete(state.Refused, what)
		case of.Verdict.Lacks != "":
			state.Refused[what] = of.Verdict.Error
		}
	})
}

// Refusal is the first of what the identity may not do.
func (s *State) Refusal() *cloud.Error {
	if err := s.Power.Refusal(); err != nil {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(s.Refused)) {
		return s.Refused[what]
	}
	return nil
}

// Hidden says that the identity may not list what a deletion may leave.
func (s *State) Hidden() *cloud.Error {
	return cmp.Or(s.Refused[AdapterList], s.Refused[DiskList], s.Refused[PublicList])
}

// IsRemnant says that a list, and no look since, showed it as of no use.
func (s *Scope) IsRemnant(id arm.ID) (known bool) {
	s.Do(func(state *State) { _, known = state.Remnants[id.Key()] })
	return known
}

// Checked takes over what a look showed of a remnant: the list may have been late. Another resource that has got its name is
// none, until a list shows it.
func (s *Scope) Checked(id arm.ID, found calls.Resource, gone bool, now time.Time) {
	s.Do(func(state *State) {
		r, known := state.Remnants[id.Key()]
		if known {
			r.Looked = now
			state.Remnants[id.Key()] = r
		}
		other := found.UniqueID() != "" && r.UniqueID != "" && found.UniqueID() != r.UniqueID
		if gone || other || found.Attached() {
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

// Attach forgets that adapters were seen without a VM, which has them now.
func (s *Scope) Attach(adapters []arm.ID) {
	s.Do(func(state *State) {
		for _, id := range adapters {
			delete(state.Remnants, id.Key())
		}
	})
}
