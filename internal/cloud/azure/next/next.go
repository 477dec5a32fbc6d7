// Package next decides what to do for a machine in Azure: it takes the known facts and returns the next step. No other code
// decides this.
//
// Azure's lists and looks lag behind: a new VM may be missing in them for minutes, and a removed one may linger. A VM that is
// shown is therefore believed at once. That there is none is believed only after two looks, long after our own request.
package next

import (
	"time"

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

// Act is what the account does next; none means that the caller gets the answer.
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

// Apart is the least time between two looks that together prove something.
const Apart = 30 * time.Second

// How long Azure may take to show what it accepted, and to finish what we wait for.
const (
	lag       = 10 * time.Minute
	retry     = 2 * time.Minute // after an accepted deletion whose VM is still there
	remnant   = 10 * time.Minute
	groupGone = 10 * time.Minute
)

// Decide returns the next step. The first case that holds counts.
func Decide(m cloud.Machine, s Survey, want Goal) Step {
	switch {
	case m.Spec.Azure == nil:
		return missing(want)
	case s.Listed.IsZero() && s.Seen == nil, s.PowersAwaited:
		return Step{Act: List}
	case want == Gone:
		return toRemove(m, s)
	case s.owner() == cloud.Ours:
		return withVM(m, s, want)
	}
	return withoutVM(m, s, want)
}

// owner is the owner of the VM that Azure shows; Unseen if it shows none.
func (s Survey) owner() cloud.Whose {
	if s.Seen == nil {
		return cloud.Unseen
	}
	return s.Seen.Owner
}

// withoutVM handles a machine that has no VM that is proved to be its own.
func withoutVM(m cloud.Machine, s Survey, want Goal) Step {
	switch wanted := want == Running && !m.Settled; {
	case s.owner() == cloud.Unproved:
		return fail(s.notProved(m))
	case s.owner() == cloud.Foreign && wanted:
		return fail(cloud.NameTaken("the resource group", "VM", m.Name, "remove it"))
	case s.aboutToShow():
		return await("Azure has accepted the VM and does not show it yet")
	case s.wasThere(m) && !s.proven():
		return s.prove(s.doubt())
	case !wanted:
		return fail(cloud.ErrNotFound)
	}
	return toMake(s)
}

// noRoom is the message while Azure removes a VM that it could not place.
const noRoom = "Azure had no room for the VM and is removing it"

// doubt is the message while we check whether there is a VM. The VM of a machine that stays is removed only if Azure has no room
// for it.
func (s Survey) doubt() string {
	if s.removedSince(s.Put.Sent) {
		return "Azure had no room for the VM; making sure that it is gone before another size or zone is tried"
	}
	return "checking whether the VM exists"
}

func missing(want Goal) Step {
	if want == Gone {
		return fail(cloud.ErrNotFound)
	}
	return fail(cloud.NoSpec("spec.azure"))
}

// withVM handles a machine that has a VM. A VM that Azure could not place never ran, so it is removed to try elsewhere; any other
// is left alone.
func withVM(m cloud.Machine, s Survey, want Goal) Step {
	vm := s.Seen
	switch {
	case vm.State == Deleting:
		return s.going()
	case s.unsized():
		return Step{Act: Sizes}
	case vm.State == Failed && s.View == nil:
		return Step{Act: View}
	case vm.State == Failed && s.View.AllowsFallback() && s.neverRan():
		if want == Running && !m.Settled {
			return s.retreat()
		}
		return fail(s.View.Error)
	case vm.Power == PoweredOn:
		return s.running()
	case vm.Power == Deallocated:
		return deallocated(vm)
	case vm.Power == Stopped:
		return describe(vm, cloud.Stopped, "the VM is stopped: start it, or delete the Machine to get another one")
	case vm.State == Failed:
		return fail(s.View.Error)
	case vm.State == Creating:
		return describe(vm, cloud.Creating, s.making())
	}
	return s.silence()
}

// going reports a VM that Azure is removing: because it had no room for it, or because somebody else deleted it.
func (s Survey) going() Step {
	if s.removedSince(s.Put.Sent) {
		return await(noRoom)
	}
	return await(removing)
}

// deallocated reports why a VM has no place. Azure's model of a VM does not distinguish an eviction from a deallocation by hand.
// But spot VMs are evicted, and people who deallocate one by hand know it.
func deallocated(vm *Sight) Step {
	step := describe(vm, cloud.Stopped, "the VM is deallocated: start it, or delete the Machine to get another one")
	step.VM.Why = cloud.Deallocated
	if vm.Evictable {
		step = describe(vm, cloud.Stopped,
			"Azure took the place of the spot VM for others: delete the Machine to get another VM, or start it later")
		step.VM.Why = cloud.Evicted
	}
	return step
}

// silence reports a VM whose power state is unknown.
func (s Survey) silence() Step {
	if s.Refused == nil {
		return describe(s.Seen, cloud.Creating, "Azure does not report whether the VM runs")
	}
	step := describe(s.Seen, cloud.Creating, "the manager cannot check whether the VM runs: "+s.Refused.Message)
	step.VM.Doubt = step.VM.Detail
	return step
}

// unsized reports whether the size of the VM is unknown and may be asked for.
func (s Survey) unsized() bool { return s.SizesDue && s.Seen.VM.Size == (cloud.Size{}) }

// neverRan reports whether the VM has not started since it was made. A VM that an earlier process made may have: if Azure has no
// room for it then, it is deallocated, and a VM that Azure never had room for is not.
func (s Survey) neverRan() bool {
	return !s.Ran && s.Seen.Power != PoweredOn && (s.Put.Answer == Accepted || s.Seen.Power != Deallocated)
}

// running reports a VM that runs, with the report of its guest to Azure's host agent.
func (s Survey) running() Step {
	step := describe(s.Seen, cloud.Running, s.complaint())
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
		return "the VM runs, but its disks and adapters cannot be checked: " + s.Refused.Message
	}
	return ""
}

// toMake sends a request. The request demands that no VM of the name exists, so that Azure refuses a second one.
func toMake(s Survey) Step {
	switch {
	case s.Put.Took && s.Looked.Before(s.Put.Sent):
		return Step{Act: Look}
	case s.VMID != "":
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

// making is the message while the VM is on its way, with what is unknown meanwhile.
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

// look looks at the VM by its ID, but not more often than a look proves something.
func (s Survey) look(detail string) Step {
	if s.Now.Sub(s.Looked) < Apart {
		return await(detail)
	}
	return Step{Act: Look, VM: await(detail).VM}
}

// aboutToShow reports whether Azure accepted our request and may not show the VM yet.
func (s Survey) aboutToShow() bool {
	return s.Put.Answer == Accepted && s.Now.Before(s.Put.Sent.Add(lag)) && !s.removedSince(s.Put.Sent)
}

// Counts reports whether a look at this time proves something if it finds no VM: by then Azure shows what it accepted, or it has
// accepted a deletion since.
func (s Survey) Counts(m cloud.Machine, looked time.Time) bool {
	sent := s.Put.Sent
	if sent.IsZero() && s.earlier(m) {
		sent = s.Opened
	}
	return s.removedSince(sent) || !looked.Before(sent.Add(lag))
}

// removedSince reports whether Azure accepted a deletion after a request.
func (s Survey) removedSince(request time.Time) bool {
	return s.Delete.Accepted && s.Delete.Sent.After(request)
}

func fail(err error) Step { return Step{Err: err} }

func await(detail string) Step { return Step{VM: cloud.VM{State: cloud.Creating, Detail: detail}} }

func describe(sight *Sight, state cloud.State, detail string) Step {
	vm := sight.VM
	vm.State, vm.Detail = state, detail
	return Step{VM: vm}
}
