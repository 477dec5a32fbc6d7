package lists

import (
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// Powers are the power states of a subscription. Its methods lock it.
type Powers struct {
	Subscription string
	Held         *calls.Held
	guarded[PowerState]
}

// PowerState is what is known of the power states of a subscription.
type PowerState struct {
	States map[string]next.Power // by the VM's key
	Due    time.Time
	// began is when the list was last asked for.
	began time.Time
	// namesakes are the VMs of the subscription that have the names of machines' VMs, in any group, by name; and listed is when the
	// list of them began, zero if there is none yet.
	namesakes map[string][]arm.ID
	listed    time.Time
	// Answered is when the list last succeeded, and Refused is the error if the identity lacks the right to it.
	Answered time.Time
	Refused  *cloud.Error
}

// Refusal is why the identity may not list the power states; nil if it may.
func (p *Powers) Refusal() (err *cloud.Error) {
	p.Do(func(state *PowerState) { err = state.Refused })
	return err
}

// Postpone makes the list due at another time.
func (p *Powers) Postpone(due time.Time) {
	p.Do(func(state *PowerState) { state.Due = due })
}

// IsDue reports whether the list is due. If so, the caller asks for it, and it is due again after the pause. In a busy
// subscription, a list that waits for a longer pause was asked for before the VM was.
func (p *Powers) IsDue(now time.Time, pause time.Duration, busy bool) (due bool) {
	p.Do(func(state *PowerState) {
		if busy && state.Due.After(now.Add(2*WhileBusy)) {
			state.Due = now.Add(pause)
		}
		if due = !now.Before(state.Due); due {
			state.began, state.Due = now, now.Add(pause)
		}
	})
	return due
}

// Get is the power state of a VM by its key; empty if it is not known.
func (p *Powers) Get(key string) (power next.Power) {
	p.Do(func(state *PowerState) { power = state.States[key] })
	return power
}

// Fresh reports whether the list succeeded just now.
func (p *Powers) Fresh(now time.Time) (fresh bool) {
	p.Do(func(state *PowerState) { fresh = now.Sub(state.Answered) < WhileBusy })
	return fresh
}

// Refuse notes that the identity may not list the power states.
func (p *Powers) Refuse(refusal *cloud.Error) {
	p.Do(func(state *PowerState) { state.Refused = refusal })
}

// Take takes over a list, and returns the keys of the VMs whose states have changed. A VM that the list lacks keeps its state
// until the list of VMs lacks it, too. wanted are the names of machines' VMs.
func (p *Powers) Take(vms []Shown, began, now time.Time, wanted map[string]bool) map[string]bool {
	changed := map[string]bool{}
	p.Do(func(state *PowerState) {
		state.Answered, state.Refused, state.namesakes, state.listed = now, nil, map[string][]arm.ID{}, began
		for _, vm := range vms {
			name, key := strings.ToLower(vm.ID.Name()), vm.ID.Key()
			if wanted[name] && len(state.namesakes[name]) < MaxMoved+2 { // one is at its place, and one is too many
				state.namesakes[name] = append(state.namesakes[name], vm.ID)
			}
			if vm.Power != nil && state.States[key] != *vm.Power {
				state.States[key], changed[key] = *vm.Power, true
			}
		}
		if len(state.States) > 2*len(vms)+manyStates {
			state.trim(vms)
		}
	})
	return changed
}

// manyStates is how many VMs may be missing in a list that are in others.
const manyStates = 1000

// trim drops the states of VMs that a list lacks. These are too many to be VMs that the list is late for.
func (s *PowerState) trim(vms []Shown) {
	states := map[string]next.Power{}
	for _, vm := range vms {
		states[vm.ID.Key()] = s.States[vm.ID.Key()]
	}
	s.States = states
}

// MaxMoved is how many VMs of a machine's name in other groups a search looks at.
const MaxMoved = 5

// Namesakes are the VMs in other groups that have the name of a VM. home reports whether the list has that VM at its place, too,
// and listed is when the list began.
func (p *Powers) Namesakes(vm arm.ID) (found []arm.ID, home bool, listed time.Time) {
	p.Do(func(state *PowerState) {
		listed = state.listed
		for _, id := range state.namesakes[strings.ToLower(vm.Name())] {
			if id.Key() == vm.Key() {
				home = true
			} else {
				found = append(found, id)
			}
		}
	})
	return found, home, listed
}

// SearchSoon makes the watch ask for the list of the subscription, for all machines whose VMs are missing.
func (p *Powers) SearchSoon(now time.Time) {
	p.Do(func(state *PowerState) {
		due := state.began.Add(WhileBusy)
		if due.Before(now) {
			due = now
		}
		if state.Due.After(due) {
			state.Due = due
		}
	})
}
