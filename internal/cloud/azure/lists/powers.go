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
	names namesakes
	// Answered is when the list last succeeded, and Refused is the error if the identity lacks the right to it.
	Answered time.Time
	Refused  *cloud.Error
}

func newPowers(subscription string, held *calls.Held) *Powers {
	p := &Powers{Subscription: subscription, Held: held}
	p.value.States = map[string]next.Power{}
	return p
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

// IsDue reports whether the list is due. If so, the caller asks for it, and it is due again after the pause.
func (p *Powers) IsDue(now time.Time, pause time.Duration) (due bool) {
	p.Do(func(state *PowerState) {
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
		state.Answered, state.Refused, state.names = now, nil, namesakes{vms: map[string][]arm.ID{}, listed: began}
		for _, vm := range vms {
			state.names.take(vm.ID, wanted)
			if key := vm.ID.Key(); vm.Power != nil && state.States[key] != *vm.Power {
				state.States[key] = *vm.Power
				changed[key] = true
			}
		}
		state.trim(vms)
	})
	return changed
}

// manyStates is how many VMs may be missing in a list that are in others.
const manyStates = 1000

// trim drops the states of VMs that a list lacks, if these are too many to be VMs that the list is late for.
func (s *PowerState) trim(vms []Shown) {
	if len(s.States) <= 2*len(vms)+manyStates {
		return
	}
	states := map[string]next.Power{}
	for _, vm := range vms {
		states[vm.ID.Key()] = s.States[vm.ID.Key()]
	}
	s.States = states
}

// MaxMoved is how many VMs of a machine's name in other groups a search looks at.
const MaxMoved = 5

// namesakes are the VMs of a subscription that have the names of machines' VMs, in any group, as its list of states shows them.
type namesakes struct {
	vms    map[string][]arm.ID
	listed time.Time // when the list began; zero if there is none yet
}

// take takes over a VM of a list if a machine's VM has its name, up to as many as a search looks at.
func (n *namesakes) take(id arm.ID, wanted map[string]bool) {
	name := strings.ToLower(id.Name())
	if wanted[name] && len(n.vms[name]) < MaxMoved+2 { // one is at its place, and one is too many
		n.vms[name] = append(n.vms[name], id)
	}
}

// Namesakes are the VMs in other groups that have the name of a VM. home reports whether the list has that VM at its place, too,
// and listed is when the list began.
func (p *Powers) Namesakes(vm arm.ID) (found []arm.ID, home bool, listed time.Time) {
	p.Do(func(state *PowerState) {
		listed = state.names.listed
		for _, id := range state.names.vms[strings.ToLower(vm.Name())] {
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
