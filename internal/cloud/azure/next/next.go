// Package next decides what to do for a machine in Azure, from what is known to the next step. It is the only code that does.
//
// Azure's lists and looks lag behind: a new VM may be missing in them for minutes, and a removed one may linger. So that a VM is
// there is believed at once, and that it is not there only after two looks, long after our own request.
package next

import (
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// Goal is what the caller wants of a machine's VM.
type Goal string

// The goals.
const (
	Report  Goal = "a report"
	Running Goal = "running"
	Gone    Goal = "gone"
)

// Act is what comes next; none means that the caller gets the answer.
type Act string

// The acts. All but Create, Remove, Retreat and Sweep only read, or change what is remembered.
const (
	List    Act = "list the VMs"   // the list that all machines of the group share
	Sizes   Act = "list the sizes" // the list that all machines of the region share
	Look    Act = "look at the VM"
	View    Act = "ask why the VM failed"
	Create  Act = "create the VM"
	Remove  Act = "remove the VM"
	Retreat Act = "remove the VM that has no room" // another one of its name may follow
	Forget  Act = "forget the VM that is gone"     // so that another one of its name may follow
	Seek    Act = "look at VMs of its name in other groups"
	Search  Act = "search for what a deletion left" // by lists that all machines of the group share
	Check   Act = "look whether a deletion left it"
	Sweep   Act = "remove what a deletion left"
)

// Step is what comes next, or the answer to the caller.
type Step struct {
	Act    Act
	Choice request.Choice // for Create
	ID     string         // for Check and Sweep
	VM     cloud.VM
	Err    error
}

// Apart is how long after a look another one proves something.
const Apart = 30 * time.Second

// How long Azure may take to show what it accepted, and to do what is waited for.
const (
	lag       = 10 * time.Minute
	again     = 2 * time.Minute // after an accepted deletion whose VM is still there
	remnant   = 10 * time.Minute
	groupGone = 10 * time.Minute
)

// Decide says what comes next. The first case that holds counts.
func Decide(m cloud.Machine, s Survey, want Goal) Step {
	switch {
	case m.Spec.Azure == nil:
		return missing(want)
	case s.Listed.IsZero() && s.Seen == nil, s.PowersAwaited:
		return Step{Act: List}
	case want == Gone:
		return toRemove(m, s)
	case s.whose() == cloud.Ours:
		return withVM(m, s, want)
	}
	return withoutVM(m, s, want)
}

// whose says whose the VM is that Azure shows; Unseen if it shows none.
func (s Survey) whose() cloud.Whose {
	if s.Seen == nil {
		return cloud.Unseen
	}
	return s.Seen.Whose
}

// withoutVM is about a machine that has no VM that is proved to be its own.
func withoutVM(m cloud.Machine, s Survey, want Goal) Step {
	switch wanted := want == Running && !m.Settled; {
	case s.whose() == cloud.Unproved:
		return fail(s.notProved(m))
	case s.whose() == cloud.Foreign && wanted:
		return fail(nameTaken(m))
	case s.aboutToShow():
		return await("Azure has accepted the VM and does not show it yet")
	case s.wasThere(m) && !s.proven():
		return s.prove(s.doubt())
	case !wanted:
		return fail(cloud.ErrNotFound)
	}
	return toMake(s)
}

// noRoom is told while Azure removes a VM that it could not place.
const noRoom = "Azure had no room for the VM and is removing it"

// doubt is told while we look whether there is a VM. We remove that of a machine which stays only if there is no room for it.
func (s Survey) doubt() string {
	if s.removedSince(s.Put.At) {
		return "Azure had no room for the VM; making sure that it is gone before another size or zone is tried"
	}
	return "looking whether the VM exists"
}

func missing(want Goal) Step {
	if want == Gone {
		return fail(cloud.ErrNotFound)
	}
	return fail(cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
		"spec.azure is missing: add it to say where and how to make the VM"))
}

// withVM tells of a VM. One that Azure could not place never ran, so it is removed to try elsewhere; any other is left alone.
func withVM(m cloud.Machine, s Survey, want Goal) Step {
	vm := s.Seen
	switch {
	case vm.State == Deleting:
		return s.going()
	case s.unsized():
		return Step{Act: Sizes}
	case vm.State == Failed && s.View == nil:
		return Step{Act: View}
	case vm.State == Failed && s.View.Another() && s.neverRan():
		if want == Running && !m.Settled {
			return s.retreat()
		}
		return fail(s.View.Error)
	case vm.Power == On:
		return s.running()
	case vm.Power == Deallocated:
		return deallocated(vm)
	case vm.Power == Stopped:
		return tell(vm, cloud.Stopped, "the VM is stopped: start it, or delete the Machine to get another one")
	case vm.State == Failed:
		return fail(s.View.Error)
	case vm.State == Creating:
		return tell(vm, cloud.Creating, s.making())
	}
	return s.silence()
}

// going tells of a VM that Azure is removing: because it had no room for it, or for somebody else.
func (s Survey) going() Step {
	if s.removedSince(s.Put.At) {
		return await(noRoom)
	}
	return await(removing)
}

// deallocated tells why a VM has no place. Of an eviction, Azure's model of a VM says no more than of a deallocation by hand. But
// spot VMs are evicted, and whoever deallocates one by hand knows it.
func deallocated(vm *Sight) Step {
	step := tell(vm, cloud.Stopped, "the VM is deallocated: start it, or delete the Machine to get another one")
	step.VM.Why = cloud.Deallocated
	if vm.Evictable {
		step = tell(vm, cloud.Stopped,
			"Azure took the place of the spot VM for others: delete the Machine to get another VM, or start it later")
		step.VM.Why = cloud.Evicted
	}
	return step
}

// silence tells of a VM whose power state is not known.
func (s Survey) silence() Step {
	if s.Refused == nil {
		return tell(s.Seen, cloud.Creating, "Azure does not say whether the VM runs")
	}
	step := tell(s.Seen, cloud.Creating, "it is not known whether the VM runs: "+s.Refused.Message)
	step.VM.Doubt = step.VM.Detail
	return step
}

// unsized says that the size of the VM is not known and may be asked for.
func (s Survey) unsized() bool { return s.SizesDue && s.Seen.VM.Size == (cloud.Size{}) }

// neverRan says that the VM did not start since it was made. One that an earlier process made may have: then, without room, it is
// deallocated, and one that Azure never had room for is not.
func (s Survey) neverRan() bool {
	return !s.Ran && s.Seen.Power != On && (s.Put.Answer == Accepted || s.Seen.Power != Deallocated)
}

// running tells of a VM that runs, and what its guest told Azure's host agent.
func (s Survey) running() Step {
	step := tell(s.Seen, cloud.Running, s.complaint())
	if s.View != nil {
		step.VM.Report = s.View.Word
	}
	return step
}

// complaint is what is wrong with a VM that runs.
func (s Survey) complaint() string {
	if s.Seen.State == Failed {
		return s.View.Error.Message
	}
	if !s.Seen.Marked {
		return untagged
	}
	if s.Refused != nil {
		return "the VM runs, but what belongs to it cannot be looked after: " + s.Refused.Message
	}
	return ""
}

// toMake sends a request. It says that no VM of the name may exist, so that one too many is refused.
func toMake(s Survey) Step {
	switch {
	case s.Put.Took && s.Looked.Before(s.Put.At):
		return Step{Act: Look}
	case s.Known != "":
		return Step{Act: Forget, VM: await(s.making()).VM}
	case s.Now.Before(s.Put.NotBefore):
		return fail(s.Put.Err)
	case s.SizesDue:
		return Step{Act: Sizes}
	case s.Choice == nil && s.Closed != nil:
		return fail(s.Closed)
	case s.Choice == nil:
		return await("waiting until a size and zone are open")
	}
	return Step{Act: Create, Choice: *s.Choice, VM: await(s.making()).VM}
}

// making tells that the VM is on its way, and what is missing meanwhile.
func (s Survey) making() string {
	if s.SizesUnknown == nil {
		return "Azure is making the VM"
	}
	return "Azure is making the VM; CPUs and memory of its size are unknown: " + s.SizesUnknown.Message
}

// retreat removes a VM that Azure could not place.
func (s Survey) retreat() Step {
	step := s.remove()
	step.VM.Detail = noRoom
	if step.Act == Remove {
		step.Act = Retreat
	}
	return step
}

// look looks at the VM by its ID, not more often than proves something.
func (s Survey) look(meanwhile string) Step {
	if s.Now.Sub(s.Looked) < Apart {
		return await(meanwhile)
	}
	return Step{Act: Look, VM: await(meanwhile).VM}
}

// aboutToShow says that Azure accepted our request and may not show the VM yet.
func (s Survey) aboutToShow() bool {
	return s.Put.Answer == Accepted && s.Now.Before(s.Put.At.Add(lag)) && !s.removedSince(s.Put.At)
}

// Counts says that a look at this time proves something if it finds no VM: Azure shows by then what it accepted, or has accepted
// a deletion since.
func (s Survey) Counts(m cloud.Machine, at time.Time) bool {
	last := s.Put.At
	if last.IsZero() && s.earlier(m) {
		last = s.Opened
	}
	return s.removedSince(last) || !at.Before(last.Add(lag))
}

// removedSince says that Azure accepted a deletion after a request.
func (s Survey) removedSince(request time.Time) bool {
	return s.Delete.Accepted && s.Delete.At.After(request)
}

func fail(err error) Step { return Step{Err: err} }

func await(detail string) Step { return Step{VM: cloud.VM{State: cloud.Creating, Detail: detail}} }

func tell(of *Sight, state cloud.State, detail string) Step {
	vm := of.VM
	vm.State, vm.Detail = state, detail
	return Step{VM: vm}
}

func nameTaken(m cloud.Machine) error {
	return cloud.Errorf(cloud.Invalid, infrav1.NameTakenReason,
		"the resource group already has a VM named %q that does not belong to this machine: remove it, or delete the Machine so that "+
			"a new one gets another name", m.Name)
}
