package vsphere

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// goal is what the caller wants of a machine's VM.
type goal string

const (
	wantReport  goal = "a report"
	wantRunning goal = "running"
	wantErased  goal = "erased"
	wantGone    goal = "gone"
)

// looks says that no VM is made or switched on for it.
func (g goal) looks() bool { return g == wantReport || g == wantErased }

// question is one for the vCenter. It costs a call, so it is asked only when the answer decides.
type question string

const (
	whatIsThere   question = "what is there"
	whetherItRan  question = "whether it ran"
	earlierClones question = "earlier clones"
	rivalClones   question = "rival clones"
)

// step is what comes next: a question, a task or, without these, the answer to the caller.
type step struct {
	ask   question
	start act                          // the caller gets vm at once
	with  types.ManagedObjectReference // the VM that the task works on
	vm    cloud.VM
	err   error
}

func ask(q question) step      { return step{ask: q} }
func await(detail string) step { return step{vm: cloud.VM{State: cloud.Creating, Detail: detail}} }
func fail(err error) step      { return step{err: err} }

// next decides what to do; no other code does. The first case that holds counts.
func next(m cloud.Machine, s survey, want goal) step {
	switch unknown := s.vm == nil && s.asked[whatIsThere] == 0; {
	case m.Spec.VSphere == nil:
		return fail(specMissing(want))
	case s.busy(want):
		return await(string(s.job.act))
	case want == wantGone:
		return nextToRemove(m, s)
	case s.jobErr != nil && s.job.act != erasing:
		return fail(s.jobErr)
	case unknown && s.aboutToShow():
		return await(string(cloning))
	case unknown && (want != wantRunning || s.doubtful()):
		return ask(whatIsThere)
	}
	return nextWith(m, s, want)
}

// nextWith decides by whose the VM is that was found. One that is not the machine's may be in the way of a new one.
func nextWith(m cloud.Machine, s survey, want goal) step {
	switch s.whose {
	case cloud.Ours:
		return nextWithVM(m, s, want)
	case cloud.Unseen:
		if s.vm != nil {
			return nextUnread(s)
		}
	case cloud.Unproved:
		if want.looks() {
			return fail(notProved(m, s.vm))
		}
	case cloud.Foreign:
		if s.kept() {
			return fail(usedAgain(m, s.vm))
		}
	}
	if want.looks() {
		return fail(cloud.ErrNotFound)
	}
	return nextToMake(m, s)
}

// kept says that the VM that was found is what the machine's record names.
func (s survey) kept() bool { return s.vm != nil && s.vm.ref == s.memory.object }

// unread says that there is a VM that the vCenter does not show enough of.
func (s survey) unread() bool { return s.vm != nil && s.whose == cloud.Unseen }

// nextUnread waits for the marks of a VM that has the machine's name. Those of one that is known were there before.
func nextUnread(s survey) step {
	if s.kept() {
		return fail(reached(s.vm))
	}
	return await("the vCenter does not yet say which machine the VM of this name belongs to")
}

// specMissing is the answer for a machine without the part of its spec that is ours. Nothing was ever made of it.
func specMissing(want goal) error {
	if want == wantGone {
		return cloud.ErrNotFound
	}
	return cloud.Errorf(cloud.Invalid, infrav1.SpecInvalidReason,
		"spec.vsphere is missing: add it to say where and how to make the VM")
}

// busy says that a job has to end first. Erasing changes nothing that is told.
func (s survey) busy(want goal) bool {
	return s.job.underWay() && (s.job.act != erasing || !want.looks())
}

// pushTime is how long the vCenter may take to tell of a change.
const pushTime = 30 * time.Second

// aboutToShow says that our clone has made the VM, and that the watch has yet to tell of it.
func (s survey) aboutToShow() bool {
	return s.synced && !s.memory.made.IsZero() && s.now.Before(s.memory.made.Add(pushTime))
}

// doubtful says that the machine may have a VM, although the inventory has none. Where it has not, the name guards: it is unique
// in a folder, so that a clone too many fails.
func (s survey) doubtful() bool {
	return !s.free || s.memory.unsure || s.memory.object.Value != "" || !s.memory.made.IsZero()
}

// nextWithVM switches on a VM that never ran: its clone succeeded, but switching it on failed. The clone, or DRS in a task of its
// own, gets some time to do it. A VM that ran before and was stopped is left alone.
func nextWithVM(m cloud.Machine, s survey, want goal) step {
	told := step{vm: describe(m, s.vm, s.ran)}
	switch {
	case !s.ran && want == wantRunning && s.now.Before(s.memory.idle.Add(pushTime)):
		return told
	case !s.ran && !s.memory.neverRan && s.asked[whetherItRan] == 0:
		return ask(whetherItRan)
	case want == wantErased:
		return nextToErase(m, s)
	case s.ran || want == wantReport:
		return told
	case s.asked[rivalClones] == 0:
		return ask(rivalClones)
	case s.rivals: // the VM's own clone may be one of them, and will switch it on
		return told
	}
	return actOn(switchingOn, s.vm)
}

// nextToErase takes user data out of a VM that was given them. After each try, also one that succeeded, it waits until the watch
// has had time to tell of it.
func nextToErase(m cloud.Machine, s survey) step {
	told := step{vm: describe(m, s.vm, s.ran)}
	switch early := s.now.Before(s.memory.notBefore); {
	case !s.vm.userData, s.job.underWay(), early && s.memory.failed == nil:
		return told
	case early:
		return fail(s.memory.failed)
	case reached(s.vm) != nil:
		return fail(reached(s.vm))
	}
	return step{start: erasing, with: s.vm.ref, vm: told.vm}
}

// nextToMake clones the template once no other clone can make the VM. If the name is taken, we look twice, because a VM gets
// its marks a moment after its name.
func nextToMake(m cloud.Machine, s survey) step {
	switch {
	case m.Asked != cloud.NeverAsked && s.asked[earlierClones] == 0:
		return ask(earlierClones)
	case !s.earlier && !s.memory.answerLost.IsZero() && s.asked[rivalClones] == 0:
		return ask(rivalClones)
	case s.earlier || s.rivals:
		return await("waiting for clones that were started earlier")
	case s.vm != nil && s.asked[whatIsThere] < 2:
		return ask(whatIsThere)
	case s.whose == cloud.Unproved:
		return fail(notProved(m, s.vm))
	case s.whose == cloud.Foreign:
		return fail(nameTaken(m))
	case s.memory.failed != nil && s.now.Before(s.memory.notBefore):
		return fail(s.memory.failed)
	}
	return step{start: cloning, vm: await(string(cloning)).vm}
}

// nextToRemove makes sure that there is no VM and that none can appear. A VM that ran is the only one, because its name was taken
// since its clone had begun. Without it we ask about clones before we look, to see the VM of one that ends in between.
func nextToRemove(m cloud.Machine, s survey) step {
	switch {
	case s.jobErr != nil && s.job.act != cloning && s.job.act != erasing: // it is fine now that these failed
		return fail(s.jobErr)
	case s.job.did(switchingOff):
		return step{start: destroying, with: s.job.vm, vm: await(string(destroying)).vm}
	case s.job.did(destroying) && s.ran:
		return fail(cloud.ErrNotFound)
	case s.whose == cloud.Ours && !s.vm.off():
		return actOn(switchingOff, s.vm)
	case s.whose == cloud.Ours && s.ran:
		return actOn(destroying, s.vm)
	case s.unread() && s.kept():
		return nextUnread(s)
	}
	return nextToLetGo(m, s)
}

// nextToLetGo is about a VM that never ran, or is not there.
func nextToLetGo(m cloud.Machine, s survey) step {
	switch {
	case !s.ran && (!s.unasked || s.whose == cloud.Ours) && s.asked[rivalClones] == 0:
		return ask(rivalClones)
	case s.asked[whatIsThere] == 0:
		return ask(whatIsThere)
	case s.whose == cloud.Ours && s.rivals: // it may still be being cloned, and then the vCenter refuses to destroy it
		return await("waiting for the clone to end")
	case s.whose == cloud.Ours:
		return actOn(destroying, s.vm)
	case s.rivals, s.requestMayArrive(), s.unread():
		return await("waiting for requests that could still make a VM")
	}
	return nextToHold(m, s)
}

// nextToHold is about a machine of which no VM is known to be there, and none can appear. A person has to help while a VM may be
// the machine's without a proof, or has the name or the reference of the machine's, which may be elsewhere.
func nextToHold(m cloud.Machine, s survey) step {
	switch {
	case s.whose == cloud.Unproved:
		return fail(withWayOut(notProved(m, s.vm)))
	case s.whose == cloud.Foreign && s.kept():
		return fail(withWayOut(usedAgain(m, s.vm)))
	case s.whose == cloud.Foreign && (s.ran || s.memory.object.Value != ""):
		return fail(withWayOut(inItsPlace(m, s.vm)))
	}
	return fail(cloud.ErrNotFound)
}

// actOn starts a task with a VM if the vCenter reaches the VM.
func actOn(what act, vm *sighting) step {
	if err := reached(vm); err != nil {
		return fail(err)
	}
	return step{start: what, with: vm.ref, vm: await(string(what)).vm}
}

// lateRequest is how long a request whose answer was lost may take to appear in the vCenter's list of tasks.
const lateRequest = 30 * time.Second

func (s survey) requestMayArrive() bool { return s.now.Before(s.arrives()) }

// arrives is until when a request for the VM may arrive; zero if there can be none.
func (s survey) arrives() time.Time {
	lost := s.memory.answerLost
	if !lost.IsZero() {
		lost = lost.Add(lateRequest)
	}
	if lost.Before(s.lateUntil) {
		return s.lateUntil
	}
	return lost
}

// allArrived is since when no more requests arrive. Before that it is zero: what is known of the clones will not do later.
func (s survey) allArrived() time.Time {
	if s.requestMayArrive() {
		return time.Time{}
	}
	return s.arrives()
}

// maxState is longer than all states of a connection.
const maxState = 32

func reached(vm *sighting) error {
	if vm.readable() && vm.connection == types.VirtualMachineConnectionStateConnected {
		return nil
	}
	return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason,
		"the vCenter cannot reach the VM (%s): bring its host or datastore back", cloud.Clean(string(vm.connection), maxState))
}

// inItsPlace is why it is not known that a VM is gone while its name is taken.
func inItsPlace(m cloud.Machine, there *sighting) error {
	marks := fmt.Sprintf("give it the instance UUID %s, %s=%s and %s=%s if it is the machine's VM, or ",
		idOf(m), markOwner, m.Key, markProviderID, m.ProviderID)
	if there.unlike(m) || there.ref.Type != "VirtualMachine" {
		marks = ""
	}
	return cloud.Errorf(cloud.Denied, infrav1.NameTakenReason,
		"the folder has a VM or folder named %q without the marks of this machine, so that nothing proves that the machine's VM is "+
			"gone: %srename it, and look for a VM with the instance UUID %s", m.Name, marks, idOf(m))
}

func nameTaken(m cloud.Machine) error {
	return cloud.Errorf(cloud.Invalid, infrav1.NameTakenReason,
		"the folder already has a VM or folder named %q that does not belong to this machine: rename or remove it, "+
			"or delete the Machine so that a new one gets another name", m.Name)
}

// nameHidden is why a clone is not tried again at once when the name is taken by something that we do not find.
func nameHidden(m cloud.Machine) error {
	return cloud.Errorf(cloud.Transient, infrav1.NameTakenReason,
		"the vCenter says that the name %q is taken in the folder, but shows the account no such object: give the account the right "+
			"to see it, or delete the Machine so that a new one gets another name", m.Name)
}
