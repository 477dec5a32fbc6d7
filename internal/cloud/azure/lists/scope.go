package lists

import (
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// Scope is a resource group with machines of ours, as the lists show it. Lists lag: they are evidence of what is there only. Its
// methods lock it; those of its State need Do.
type Scope struct {
	Where
	guarded[State]
}

// Where is the group, and its subscription. It never changes.
type Where struct {
	Group arm.ID
	Key   string // of the group
	Power *Powers
}

// State is what is known of a group.
type State struct {
	Where
	Listing   bool
	Powered   bool                // Azure has answered whether VMs run since we know the group, whatever it said
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
	// When the last sweep began, and the last one whose lists were read.
	SweepBegan, Swept time.Time
	// The watch: when each list is due, and whether all machines are to be woken because one failed.
	Due              [3]time.Time
	Failed, Reported bool
	// Refused is why adapters and disks cannot be listed or removed: the identity lacks a right.
	Refused map[string]*cloud.Error
}

// List is one of the lists of a group that a watch asks for.
type List int

// The lists: of VMs, of the addresses of adapters, and of all that deletions may leave.
const (
	VMs List = iota
	Addresses
	Remnants
)

// How often lists are asked for while a machine's VM is expected to change, and how old the first one may be to be used.
const (
	WhileBusy  = 15 * time.Second
	IdlePowers = time.Minute
)

func newScope(at Where) *Scope {
	s := &Scope{Where: at}
	s.value = State{
		Where: at, VMs: map[string]Record{}, Addresses: map[string][]string{}, Remnants: map[string]Remnant{},
		Refused: map[string]*cloud.Error{},
	}
	return s
}

// AwaitsPowers says that it is not known yet of any VM of the group whether it runs.
func (s *Scope) AwaitsPowers() (awaits bool) {
	s.Do(func(state *State) { awaits = !state.Powered })
	return awaits
}

// NotePowers notes that Azure has answered which VMs of a subscription run.
func (s *Scope) NotePowers(of *Powers) {
	s.Do(func(state *State) { state.Powered = state.Powered || s.Power == of })
}

// Unlisted says that there was no good list yet.
func (s *Scope) Unlisted() (unlisted bool) {
	s.Do(func(state *State) { unlisted = state.Listed.IsZero() })
	return unlisted
}

// Begin says whether who asks may list the VMs; if not, another one does.
func (s *Scope) Begin() (may bool) {
	s.Do(func(state *State) { may, state.Listing = !state.Listing, true })
	return may
}

// End takes over the list that began, or why there is none, and returns the keys of the machines whose VMs changed.
func (s *Scope) End(vms []calls.VM, answer calls.Answer, began time.Time, keysOf KeysOf) (changed []cloud.Key, err error) {
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
		}
	})
	return changed, err
}

// MayMiss says that an answer that the group does not exist is the first one, or not at once with the last.
func (s *Scope) MayMiss(now time.Time) (may bool) {
	s.Do(func(state *State) { may = now.Sub(state.Missed.Last) >= WhileBusy })
	return may
}

// Miss counts an answer that the group does not exist.
func (s *Scope) Miss(now time.Time) {
	s.Do(func(state *State) { state.Missed = state.Missed.Again(now) })
}

// take takes over a list, and returns the keys of the machines whose VMs changed.
func (s *State) take(vms []calls.VM, began time.Time, keysOf KeysOf) (changed []cloud.Key) {
	now := map[string]Record{}
	for _, vm := range vms {
		if r, ok := RecordOf(vm); ok && r.ID.Parent().Key() == s.Key {
			now[r.Name] = r
			if was, known := s.VMs[r.Name]; !known || !was.same(r) {
				changed = append(changed, keysOf(r)...)
			}
		}
	}
	for name, was := range s.VMs {
		if _, there := now[name]; !there {
			changed = append(changed, keysOf(was)...)
		}
	}
	s.VMs, s.Listed = now, began
	return changed
}

// TakeAddresses takes over the addresses of adapters, and returns the keys of the machines that have others now.
func (s *Scope) TakeAddresses(adapters []calls.Resource, keysOf KeysOf) (changed []cloud.Key) {
	s.Do(func(state *State) { changed = state.takeAddresses(adapters, keysOf) })
	return changed
}

func (s *State) takeAddresses(adapters []calls.Resource, keysOf KeysOf) (changed []cloud.Key) {
	now := map[string][]string{}
	for _, one := range adapters {
		for _, ip := range one.Properties.IPConfigurations {
			if address := ip.Properties.PrivateIPAddress; address != "" {
				key := strings.ToLower(one.ID)
				now[key] = append(now[key], cloud.Clean(address, 64))
			}
		}
	}
	before := s.Addresses
	s.Addresses = now
	for _, r := range s.VMs {
		if !slices.Equal(r.Addresses(before), r.Addresses(now)) {
			changed = append(changed, keysOf(r)...)
		}
	}
	return changed
}

// LacksAddress says that a VM of ours runs and its address is not known.
func (s *Scope) LacksAddress(keysOf KeysOf) (lacks bool) {
	s.Do(func(state *State) {
		for _, r := range state.VMs {
			lacks = lacks || !r.addressed(state.Addresses) && s.Power.Get(r.Key) == next.On && len(keysOf(r)) > 0
		}
	})
	return lacks
}

// Changes says that a VM of ours is being made or removed.
func (s *Scope) Changes(keysOf KeysOf) (changes bool) {
	s.Do(func(state *State) {
		for _, r := range state.VMs {
			changes = changes || (r.State == next.Creating || r.State == next.Deleting) && len(keysOf(r)) > 0
		}
	})
	return changes
}

// Known are the machines whose VMs the lists have.
func (s *Scope) Known(keysOf KeysOf) (keys []cloud.Key) {
	s.Do(func(state *State) {
		for _, r := range state.VMs {
			keys = append(keys, keysOf(r)...)
		}
	})
	return keys
}

// Latest is the VM as the later of list and look has it.
func (s *Scope) Latest(name string, of Look) (r *Record) {
	s.Do(func(state *State) { r = state.Latest(name, of) })
	return r
}

// Latest is the VM as the later of list and look has it.
func (s *State) Latest(name string, of Look) *Record {
	if of.At.After(s.Listed) {
		return of.Record
	}
	if r, ok := s.VMs[name]; ok {
		return &r
	}
	return nil
}

// IsDue says whether a list is due, and has it due again after a pause. Of a busy group it is due before a longer pause ends.
func (s *Scope) IsDue(of List, now time.Time, pause time.Duration, busy bool) (due bool) {
	s.Do(func(state *State) {
		if busy && state.Due[of].After(now.Add(2*WhileBusy)) {
			state.Due[of] = now
		}
		if due = !now.Before(state.Due[of]); due {
			state.Due[of] = now.Add(pause)
		}
	})
	return due
}

// Postpone has a list due at another time.
func (s *Scope) Postpone(of List, until time.Time) {
	s.Do(func(state *State) { state.Due[of] = until })
}

// IsReportable says that the list which the first machine asked for is good enough to tell of all VMs.
func (s *Scope) IsReportable(now time.Time) (tellable bool) {
	s.Do(func(state *State) {
		tellable = !state.Reported && !state.Failed && !state.Listed.IsZero() && now.Sub(state.Listed) < IdlePowers
	})
	return tellable
}

// Report notes that the watch reports this list, and returns whether it has to report all VMs: it is the first list, or the first
// good one.
func (s *Scope) Report() (all bool) {
	s.Do(func(state *State) { all, state.Reported, state.Failed = !state.Reported || state.Failed, true, false })
	return all
}

// IsReported says that the watch has reported all VMs.
func (s *Scope) IsReported() (told bool) {
	s.Do(func(state *State) { told = state.Reported })
	return told
}

// Restart has a new watch report all VMs.
func (s *Scope) Restart() {
	s.Do(func(state *State) { state.Reported = false })
}
