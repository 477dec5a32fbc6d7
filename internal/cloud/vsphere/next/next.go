// Package next decides what to do for a machine in a vCenter, from what is known to the next step. It is the only code that does.
//
// A vCenter keeps names unique in a folder and gives a reference once; what it reports lags behind what it does by seconds. A
// task of ours, once begun, is waited for; a clone that another process began counts as ours until it has ended.
package next

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// Goal is what the caller wants of a machine's VM.
type Goal string

// The goals.
const (
	Report  Goal = "a report"
	Running Goal = "running"
	Erased  Goal = "erased"
	Gone    Goal = "gone"
)

// looks reports whether the goal makes no VM and switches none on.
func (g Goal) looks() bool { return g == Report || g == Erased }

// Act is what comes next; none means that the caller gets the answer.
type Act string

// The questions for the vCenter. Each costs a call, so it is asked only when the answer decides.
const (
	Look    Act = "what is there"
	Events  Act = "whether it ran"
	Earlier Act = "earlier clones"
	Rivals  Act = "rival clones"
)

// The tasks with a VM. The caller gets the answer at once.
const (
	Clone     Act = "cloning"
	SwitchOn  Act = "switching on"
	SwitchOff Act = "switching off"
	Destroy   Act = "destroying"
	Erase     Act = "erasing the user data"
)

// Asks is true for a question.
func (a Act) Asks() bool {
	return a == Look || a == Events || a == Earlier || a == Rivals
}

// Step is what comes next, or the answer to the caller.
type Step struct {
	Act    Act
	Target types.ManagedObjectReference // the VM that a task works on
	VM     cloud.VM
	Err    error
}

func ask(q Act) Step           { return Step{Act: q} }
func await(detail string) Step { return Step{VM: cloud.VM{State: cloud.Creating, Detail: detail}} }
func fail(err error) Step      { return Step{Err: err} }

// Decide returns what comes next; no other code decides it. The first case that holds counts.
func Decide(m cloud.Machine, s Survey, want Goal) Step {
	switch unknown := s.VM == nil && s.Asked[Look] == 0; {
	case m.Spec.VSphere == nil:
		return fail(specMissing(want))
	case s.busy(want):
		return await(string(s.Job.Act))
	case want == Gone:
		return toRemove(m, s)
	case s.JobErr != nil && s.Job.Act != Erase:
		return fail(s.JobErr)
	case unknown && s.aboutToShow():
		return await(string(Clone))
	case unknown && (want != Running || s.doubtful()):
		return ask(Look)
	}
	return withFound(m, s, want)
}

// withFound decides by whose the VM is that was found. One that is not the machine's may be in the way of a new one.
func withFound(m cloud.Machine, s Survey, want Goal) Step {
	switch s.Whose {
	case cloud.Ours:
		return withVM(m, s, want)
	case cloud.Unseen:
		if s.VM != nil {
			return unreadable(s)
		}
	case cloud.Unproved:
		if want.looks() {
			return fail(notProved(m, s.VM))
		}
	case cloud.Foreign:
		if s.kept() {
			return fail(usedAgain(m, s.VM))
		}
	}
	if want.looks() {
		return fail(cloud.ErrNotFound)
	}
	return toMake(m, s)
}

// unreadable waits for the marks of a VM that has the machine's name. Those of one that is known were there before.
func unreadable(s Survey) Step {
	if s.kept() {
		return fail(seen.Reached(s.VM))
	}
	return await("the vCenter does not yet show which machine the VM of this name belongs to")
}

// withVM switches on a VM that never ran: its clone succeeded, but switching it on failed. The clone, or DRS in a task of its
// own, gets some time to do it. A VM that ran before and was stopped is left alone.
func withVM(m cloud.Machine, s Survey, want Goal) Step {
	step := Step{VM: seen.Describe(m, s.VM, s.Ran)}
	switch {
	case !s.Ran && want == Running && s.Now.Before(s.Memory.Idle.Add(PushTime)):
		return step
	case !s.Ran && !s.Memory.NeverRan && s.Asked[Events] == 0:
		return ask(Events)
	case want == Erased:
		return toErase(m, s)
	case s.Ran || want == Report:
		return step
	case s.Asked[Rivals] == 0:
		return ask(Rivals)
	case s.Rivals: // the VM's own clone may be one of them, and will switch it on
		return step
	}
	return actOn(SwitchOn, s.VM)
}

// toErase takes user data out of a VM that was given them. After each try, also one that succeeded, it waits until the watch has
// had time to report it.
func toErase(m cloud.Machine, s Survey) Step {
	step := Step{VM: seen.Describe(m, s.VM, s.Ran)}
	switch early := s.Now.Before(s.Memory.NotBefore); {
	case !s.VM.UserData, s.Job.UnderWay(), early && s.Memory.Failed == nil:
		return step
	case early:
		return fail(s.Memory.Failed)
	case seen.Reached(s.VM) != nil:
		return fail(seen.Reached(s.VM))
	}
	return Step{Act: Erase, Target: s.VM.Ref, VM: step.VM}
}

// toMake clones the template once no other clone can make the VM. If the name is taken, we look twice, because a VM gets
// its marks a moment after its name.
func toMake(m cloud.Machine, s Survey) Step {
	switch {
	case m.Asked != cloud.NeverAsked && s.Asked[Earlier] == 0:
		return ask(Earlier)
	case !s.Earlier && !s.Memory.AnswerLost.IsZero() && s.Asked[Rivals] == 0:
		return ask(Rivals)
	case s.Earlier || s.Rivals:
		return await("waiting for clones that were started earlier")
	case s.VM != nil && s.Asked[Look] < 2:
		return ask(Look)
	case s.Whose == cloud.Unproved:
		return fail(notProved(m, s.VM))
	case s.Whose == cloud.Foreign:
		return fail(cloud.NameTaken("the folder", "VM or folder", m.Name, "rename or remove it"))
	case s.Memory.Failed != nil && s.Now.Before(s.Memory.NotBefore):
		return fail(s.Memory.Failed)
	}
	return Step{Act: Clone, VM: await(string(Clone)).VM}
}

// toRemove makes sure that there is no VM and that none can appear. A VM that ran is the only one, because its name was taken
// since its clone had begun. Without it we ask about clones before we look, to see the VM of one that ends in between.
func toRemove(m cloud.Machine, s Survey) Step {
	switch {
	case s.JobErr != nil && s.Job.Act != Clone && s.Job.Act != Erase: // it is fine now that these failed
		return fail(s.JobErr)
	case s.Job.Completed(SwitchOff):
		return Step{Act: Destroy, Target: s.Job.VM, VM: await(string(Destroy)).VM}
	case s.Job.Completed(Destroy) && s.Ran:
		return fail(cloud.ErrNotFound)
	case s.Whose == cloud.Ours && !s.VM.PoweredOff():
		return actOn(SwitchOff, s.VM)
	case s.Whose == cloud.Ours && s.Ran:
		return actOn(Destroy, s.VM)
	case s.unread() && s.kept():
		return unreadable(s)
	}
	return toLetGo(m, s)
}

// toLetGo is about a VM that never ran, or is not there.
func toLetGo(m cloud.Machine, s Survey) Step {
	switch {
	case !s.Ran && (!s.Unasked || s.Whose == cloud.Ours) && s.Asked[Rivals] == 0:
		return ask(Rivals)
	case s.Asked[Look] == 0:
		return ask(Look)
	case s.Whose == cloud.Ours && s.Rivals: // it may still be being cloned, and then the vCenter refuses to destroy it
		return await("waiting for the clone to end")
	case s.Whose == cloud.Ours:
		return actOn(Destroy, s.VM)
	case s.Rivals, s.requestMayArrive(), s.unread():
		return await("waiting for requests that could still make a VM")
	}
	return toHold(m, s)
}

// toHold is about a machine of which no VM is known to be there, and none can appear. A person has to help while a VM may be
// the machine's without a proof, or has the name or the reference of the machine's, which may be elsewhere.
func toHold(m cloud.Machine, s Survey) Step {
	switch {
	case s.Whose == cloud.Unproved:
		return fail(WayOut(notProved(m, s.VM)))
	case s.Whose == cloud.Foreign && s.kept():
		return fail(WayOut(usedAgain(m, s.VM)))
	case s.Whose == cloud.Foreign && (s.Ran || s.Memory.Object.Value != ""):
		return fail(WayOut(inItsPlace(m, s.VM)))
	}
	return fail(cloud.ErrNotFound)
}

// actOn starts a task with a VM if the vCenter reaches the VM.
func actOn(act Act, vm *seen.VM) Step {
	if err := seen.Reached(vm); err != nil {
		return fail(err)
	}
	return Step{Act: act, Target: vm.Ref, VM: await(string(act)).VM}
}
