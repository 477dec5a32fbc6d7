package lists

import (
	"slices"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Scope is a resource group with machines of ours, as the lists show it. Lists lag: they are evidence of what is there only. Its
// methods lock it; those of its State need Do.
type Scope struct {
	Place
	guarded[State]
}

// Place is the group, and its subscription. It never changes.
type Place struct {
	Group arm.ID
	Key   string // of the group
	Power *Powers
	// Namespace is that of the machine that came first. What is kept of each list, and of seenWith, counts for it.
	Namespace string
	Held      map[List]*calls.Held
}

// State is what is known of a group.
type State struct {
	Place
	Listing   bool                // a caller lists the VMs, for all
	Powered   bool                // Azure has answered whether VMs run since the group was added, even with an error
	VMs       map[string]Record   // by name
	Listed    time.Time           // when the last good list began
	Missed    next.Missed         // answers that the group does not exist
	Addresses map[string][]string // by the adapter's key
	Sweeping  Sweeping
	Public    bool // public IPs of machines may be there
	Remnants  map[string]Remnant
	Parts     map[string][]Part // of VMs, by their keys
	seenWith  map[string]seenVM // machines' VMs, by the keys of what this process saw with them
	Used      map[string]bool   // VMs that an adapter or disk belongs to, by name
	// When the last sweep began, and when the last one began whose lists were read.
	SweepBegan, Swept time.Time
	// For the watch: when each list is due, and whether all machines must be woken because one list failed.
	Due              [3]time.Time
	Failed, Reported bool
	// Refused is why adapters and disks cannot be listed or removed: the identity lacks a right.
	Refused map[string]*cloud.Error
	// forgotten is true once the scope keeps nothing any more.
	forgotten bool
}

// List is one of the lists of a group that a watch asks for.
type List int

// The lists: of VMs, of the addresses of adapters, and of all that deletions may leave.
const (
	VMs List = iota
	Addresses
	Remnants
	sightings // with VMs; no list
)

// How often lists are asked for while a machine's VM is expected to change, and how old the first one may be to be used.
const (
	WhileBusy  = 15 * time.Second
	IdlePowers = time.Minute
)

func newScope(place Place, kept *tenants.Bytes) *Scope {
	place.Held = map[List]*calls.Held{}
	for _, list := range []List{VMs, Addresses, Remnants, sightings} {
		place.Held[list] = &calls.Held{Namespace: place.Namespace, Kept: kept}
	}
	s := &Scope{Place: place}
	s.value = State{
		Place: place, VMs: map[string]Record{}, Addresses: map[string][]string{}, Remnants: map[string]Remnant{},
		Refused: map[string]*cloud.Error{},
	}
	return s
}

// Unlisted reports whether there was no good list yet.
func (s *Scope) Unlisted() (unlisted bool) {
	s.Do(func(state *State) { unlisted = state.Listed.IsZero() })
	return unlisted
}

// End takes over the list that began, or why there is none, and returns the keys of the machines whose VMs changed.
func (s *Scope) End(vms []Record, answer calls.Answer, began time.Time, keysOf KeysOf) (changed []cloud.Key, err error) {
	s.Do(func(state *State) {
		state.Listing = false
		switch {
		case answer.Effect() == fault.GroupGone:
			state.Failed = true
			if state.Listed.IsZero() {
				state.Listed = began // a group that is not there has no VMs
			}
		case answer.Verdict != nil:
			state.Failed, err = true, answer.Err()
		default:
			state.Missed = next.Missed{}
			changed = state.take(vms, answer.Began, keysOf)
			s.Held[VMs].Hold(answer.Kept)
		}
	})
	return changed, err
}

// MayMiss reports whether an answer that the group does not exist is the first one, or comes long enough after the last.
func (s *Scope) MayMiss(now time.Time) (ok bool) {
	s.Do(func(state *State) { ok = now.Sub(state.Missed.Latest) >= WhileBusy })
	return ok
}

// Miss counts an answer that the group does not exist.
func (s *Scope) Miss(now time.Time) {
	s.Do(func(state *State) { state.Missed = state.Missed.Add(now) })
}

// take takes over a list, and returns the keys of the machines whose VMs changed.
func (s *State) take(vms []Record, began time.Time, keysOf KeysOf) (changed []cloud.Key) {
	current := map[string]Record{}
	for _, r := range vms {
		current[r.Name] = r
		if previous, found := s.VMs[r.Name]; !found || !previous.equal(r) {
			changed = append(changed, keysOf(r)...)
		}
	}
	for name, previous := range s.VMs {
		if _, found := current[name]; !found {
			changed = append(changed, keysOf(previous)...)
		}
	}
	s.VMs, s.Listed = current, began
	return changed
}

// TakeAddresses takes over the addresses of adapters, and returns the keys of the machines that have others now.
func (s *Scope) TakeAddresses(adapters []Resource, keysOf KeysOf) []cloud.Key {
	current := map[string][]string{}
	for _, adapter := range adapters {
		if len(adapter.Addresses) > 0 {
			current[adapter.ID.Key()] = adapter.Addresses
		}
	}
	changed := s.Machines(keysOf, func(state *State, r Record) bool {
		return !slices.Equal(r.Addresses(state.Addresses), r.Addresses(current))
	})
	s.Do(func(state *State) { state.Addresses = current })
	return changed
}

// Machines are the machines whose VMs the lists have, and of these VMs something holds.
func (s *Scope) Machines(keysOf KeysOf, holds func(*State, Record) bool) (keys []cloud.Key) {
	s.Do(func(state *State) {
		for _, r := range state.VMs {
			if holds(state, r) {
				keys = append(keys, keysOf(r)...)
			}
		}
	})
	return keys
}

// IsListed holds of each VM.
func IsListed(*State, Record) bool { return true }

// Changes reports whether a VM is being made or removed.
func Changes(_ *State, r Record) bool { return r.State == next.Creating || r.State == next.Deleting }

// LacksAddress reports whether a VM runs and its address is unknown.
func LacksAddress(s *State, r Record) bool {
	addressed := slices.ContainsFunc(r.Adapters, func(adapter string) bool { return len(s.Addresses[adapter]) > 0 })
	return !addressed && s.Power.Get(r.Key) == next.PoweredOn
}

// Latest is the VM as the later of list and look has it.
func (s *Scope) Latest(name string, look Look) (r *Record) {
	s.Do(func(state *State) { r = state.Latest(name, look) })
	return r
}

// Latest is the VM as the later of list and look has it.
func (s *State) Latest(name string, look Look) *Record {
	if look.Began.After(s.Listed) {
		return look.Record
	}
	if r, ok := s.VMs[name]; ok {
		return &r
	}
	return nil
}

// IsDue reports whether a list is due. If so, it is due again after the pause. In a busy group, a list that waits for a longer
// pause is due at once.
func (s *Scope) IsDue(list List, now time.Time, pause time.Duration, busy bool) (due bool) {
	s.Do(func(state *State) {
		if busy && state.Due[list].After(now.Add(2*WhileBusy)) {
			state.Due[list] = now
		}
		if due = !now.Before(state.Due[list]); due {
			state.Due[list] = now.Add(pause)
		}
	})
	return due
}

// Postpone makes a list due at another time.
func (s *Scope) Postpone(list List, due time.Time) {
	s.Do(func(state *State) { state.Due[list] = due })
}

// IsReportable reports whether the list that the first machine asked for is good enough to report all VMs from it.
func (s *Scope) IsReportable(now time.Time) (reportable bool) {
	s.Do(func(state *State) {
		reportable = !state.Reported && !state.Failed && !state.Listed.IsZero() && now.Sub(state.Listed) < IdlePowers
	})
	return reportable
}

// Report notes that the watch reports this list, and returns whether it must report all VMs: it is the first list, or the first
// good one.
func (s *Scope) Report() (complete bool) {
	s.Do(func(state *State) {
		complete, state.Reported, state.Failed = !state.Reported || state.Failed, true, false
	})
	return complete
}

// IsReported reports whether the watch has reported all VMs.
func (s *Scope) IsReported() (reported bool) {
	s.Do(func(state *State) { reported = state.Reported })
	return reported
}

// Restart makes a new watch report all VMs.
func (s *Scope) Restart() {
	s.Do(func(state *State) { state.Reported = false })
}
