package next

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// Survey is what a decision is made from: what this process remembers of a machine, and what it has found out since.
type Survey struct {
	Memory Memory
	Now    time.Time

	Job    Job   // the task that this process began for the machine, as it is now
	JobErr error // why that task failed

	Asked      map[Act]int // how often each question was asked; the fields below hold the answers
	seen.Found             // what is there; the inventory may know before the vCenter is asked
	Synced     bool        // the inventory is up to date
	Free       bool        // no VM was seen, and the inventory is up to date and has nothing that could be the machine's
	Ran        bool        // the VM was switched on before
	Earlier    bool        // clones that were begun before this process are under way and may make the VM
	Rivals     bool        // clones of any process are under way and may make the VM
	Unasked    bool        // the VM was never requested

	// LateUntil is until when a request of a process before us may arrive. It is zero when there can be none.
	LateUntil time.Time
}

// Memory is what this process remembers of a machine, and decides by.
type Memory struct {
	Object types.ManagedObjectReference // its VM, once it is proved; before that, the one in the machine's record
	Folder string                       // the reference to the VM's folder

	AnswerLost time.Time // when the answer to a clone request was lost; the request itself may have arrived
	Failed     error     // why the last clone, or try to erase, failed
	NotBefore  time.Time // when the next one may be started

	Unsure   bool      // there may be a VM that the inventory does not have: look before the next clone
	Made     time.Time // when our clone had ended; the inventory has its VM soon after
	Idle     time.Time // since when the VM is seen switched off, although it never ran
	NeverRan bool      // the vCenter has no event that it did
}

// kept reports whether the VM that was found is the one in the machine's record.
func (s Survey) kept() bool { return s.VM != nil && s.VM.Ref == s.Memory.Object }

// unread reports whether there is a VM of which the vCenter does not show enough.
func (s Survey) unread() bool { return s.VM != nil && s.Whose == cloud.Unseen }

// busy reports whether a job has to end first. Erasing changes nothing that is reported.
func (s Survey) busy(want Goal) bool {
	return s.Job.UnderWay() && (s.Job.Act != Erase || !want.looks())
}

// PushTime is how long a change may take to arrive from the vCenter.
const PushTime = 30 * time.Second

// aboutToShow reports whether our clone has made the VM, and the watch has yet to show it.
func (s Survey) aboutToShow() bool {
	return s.Synced && !s.Memory.Made.IsZero() && s.Now.Before(s.Memory.Made.Add(PushTime))
}

// doubtful reports whether the machine may have a VM, although the inventory has none. Otherwise the unique name prevents a
// second VM: a clone too many fails.
func (s Survey) doubtful() bool {
	return !s.Free || s.Memory.Unsure || s.Memory.Object.Value != "" || !s.Memory.Made.IsZero()
}

// LateRequest is how long a request whose answer was lost may take to appear in the vCenter's list of tasks.
const LateRequest = 30 * time.Second

func (s Survey) requestMayArrive() bool { return s.Now.Before(s.arrives()) }

// arrives is until when a request for the VM may arrive; zero if there can be none.
func (s Survey) arrives() time.Time {
	lost := s.Memory.AnswerLost
	if !lost.IsZero() {
		lost = lost.Add(LateRequest)
	}
	if lost.Before(s.LateUntil) {
		return s.LateUntil
	}
	return lost
}

// AllArrived is since when no more requests arrive. Before that it is zero: what is known of the clones will not do later.
func (s Survey) AllArrived() time.Time {
	if s.requestMayArrive() {
		return time.Time{}
	}
	return s.arrives()
}
