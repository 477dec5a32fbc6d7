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
	guarded[PowerState]
}

// PowerState is what is known of the power states of a subscription.
type PowerState struct {
	Of  map[string]next.Power // by the VM's key
	Due time.Time
	// began is when the list was last asked for.
	began time.Time
	names namesakes
	// Heard is when the list last succeeded, and refused says that the identity lacks the right to it.
	Heard   time.Time
	Refused *cloud.Error
}

func newPowers(subscription string) *Powers {
	p := &Powers{Subscription: subscription}
	p.value.Of = map[string]next.Power{}
	return p
}

// Refusal is why the identity may not list the power states; nil if it may.
func (p *Powers) Refusal() (err *cloud.Error) {
	p.Do(func(state *PowerState) { err = state.Refused })
	return err
}

func (p *Powers) askAgain() {
	p.Postpone(time.Time{})
}

// Postpone has the list due at another time.
func (p *Powers) Postpone(until time.Time) {
	p.Do(func(state *PowerState) { state.Due = until })
}

// IsDue says whether the list is due, and has it due again after a pause.
func (p *Powers) IsDue(now time.Time, pause time.Duration) (due bool) {
	p.Do(func(state *PowerState) {
		if due = !now.Before(state.Due); due {
			state.Due = now.Add(pause)
		}
	})
	return due
}

// Get is the power state of a VM by its key; empty if it is not known.
func (p *Powers) Get(key string) (power next.Power) {
	p.Do(func(state *PowerState) { power = state.Of[key] })
	return power
}

// Heard says that the list succeeded just now.
func (p *Powers) Heard(now time.Time) (lately bool) {
	p.Do(func(state *PowerState) { lately = now.Sub(state.Heard) < WhileBusy })
	return lately
}

// Begin notes that the list is asked for.
func (p *Powers) Begin(now time.Time) {
	p.Do(func(state *PowerState) { state.began = now })
}

// Refuse notes that the identity may not list the power states.
func (p *Powers) Refuse(why *cloud.Error) {
	p.Do(func(state *PowerState) { state.Refused = why })
}

// Take takes over a list, and returns the keys of the VMs that have other states now. A VM that the list lacks keeps its state
// until that of VMs lacks it, too. wanted are the names of machines' VMs.
func (p *Powers) Take(vms []calls.VM, began, now time.Time, wanted map[string]bool) map[string]bool {
	changed := map[string]bool{}
	p.Do(func(state *PowerState) {
		state.Heard, state.Refused, state.names = now, nil, namesakes{of: map[string][]arm.ID{}, listed: began}
		for _, vm := range vms {
			id, ok := arm.Parse(vm.ID)
			if ok {
				state.names.take(id, wanted)
			}
			if !ok || vm.Properties == nil || vm.Properties.InstanceView == nil {
				continue
			}
			key := id.Key()
			if power := powerOf(vm.Properties.InstanceView.Statuses); state.Of[key] != power {
				state.Of[key] = power
				changed[key] = true
			}
		}
	})
	return changed
}

// MaxMoved is how many VMs of a machine's name in other groups a search looks at.
const MaxMoved = 5

// namesakes are the VMs of a subscription that have the names of machines' VMs, in any group, as its list of states shows them.
type namesakes struct {
	of     map[string][]arm.ID
	listed time.Time // when the list began; zero if there is none yet
}

// take takes over a VM of a list, if a machine's has its name, and as many as a search looks at.
func (n *namesakes) take(id arm.ID, wanted map[string]bool) {
	name := strings.ToLower(id.Name())
	if wanted[name] && len(n.of[name]) < MaxMoved+2 { // one is at its place, and one is too many
		n.of[name] = append(n.of[name], id)
	}
}

// Others are the VMs of the name of one in other groups, whether the list has that one at its place, too, and when it began.
func (p *Powers) Others(vm arm.ID) (others []arm.ID, home bool, listed time.Time) {
	p.Do(func(state *PowerState) {
		listed = state.names.listed
		for _, id := range state.names.of[strings.ToLower(vm.Name())] {
			if id.Key() == vm.Key() {
				home = true
			} else {
				others = append(others, id)
			}
		}
	})
	return others, home, listed
}

// SearchSoon has the watch ask for the list of the subscription, for all machines whose VMs are missing.
func (p *Powers) SearchSoon(now time.Time) {
	p.Do(func(state *PowerState) {
		at := state.began.Add(WhileBusy)
		if at.Before(now) {
			at = now
		}
		if state.Due.After(at) {
			state.Due = at
		}
	})
}
