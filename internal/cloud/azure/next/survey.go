package next

import (
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// Survey is what a decision is made from: what this process remembers of a machine, and what Azure has said since.
type Survey struct {
	Now time.Time
	// Opened is when this process, or its account, began. An earlier one may have sent requests until then.
	Opened time.Time
	// Listed is when the last list of the group's VMs began; zero if there is none yet. Lists are positive evidence only.
	Listed time.Time

	// PowersAwaited says that Azure has not answered yet which VMs run.
	PowersAwaited bool

	// Seen is the VM of the machine's name, from a list or a look, the later of the two; nil if neither has it.
	Seen *Sight
	// Hides says that Azure shows a VM of the name with another ID than the machine's, too early to tell whether it follows the
	// machine's or was there before. Then Seen is nil.
	Hides bool
	// Ran says that the VM was ever seen running.
	Ran bool
	// Looked is when we last looked at the VM by its ID, whatever came of it.
	Looked time.Time
	// Missed are the looks that Azure answered with 404 since the VM was last seen; only those that Counts.
	Missed Missed
	// View is why the VM failed, once Azure was asked; nil before.
	View *fault.Verdict

	Put    Put
	Delete Delete

	// Left is the adapter or disk with the machine's mark, among those that no VM uses, that is to be looked at first; nil if the
	// lists have none.
	Left *Remnant
	// Swept is when the lists of adapters and disks last began, and Used says that they show one as the VM's. Hidden says that the
	// identity lacks the right to them; nil if it has it.
	Swept  time.Time
	Used   bool
	Hidden *cloud.Error
	// Known is Azure's own ID of the machine's VM; empty if it is not known.
	Known string
	// AnswerLost says that Azure may have taken a request of this process whose answer did not come.
	AnswerLost bool
	// Removed says that Azure accepted our deletion of the VM, and that nothing was asked for since that may have made another.
	Removed bool

	// Sought is when the list of the subscription began that was last searched for the VM, and Elsewhere is where it found the VM;
	// zero if it did not. Candidates says that a later list has VMs of its name in other groups, which were not looked
	// at. Unsearched is why there is no list: the identity lacks the right to it; nil if it has it.
	Sought     time.Time
	Elsewhere  Elsewhere
	Candidates bool
	Unsearched *cloud.Error
	// GroupMissed are the answers that the group does not exist, while the subscription answers.
	GroupMissed Missed

	// Refused says which right is missing for the lists of power states, adapters and disks, or for removing what a deletion left;
	// nil if none.
	Refused *cloud.Error

	// Choice is the next size and zone that is open; nil if all are closed. Closed is why.
	Choice *request.Choice
	Closed *cloud.Error
	// SizesDue says that the list of the region's sizes is to be asked for before a request. SizesUnknown is why it could not be
	// had, which stops nothing.
	SizesDue     bool
	SizesUnknown *cloud.Error
}

// Elsewhere is another group that has a VM of the machine's name, which is the machine's or may be.
type Elsewhere struct {
	Group string
	// Unproved says that the VM has all marks of the machine, and that nothing proves them.
	Unproved bool
}

// Sight is a VM as Azure shows it.
type Sight struct {
	// Shown is what says whose it is, and Whose is that.
	Shown
	Whose cloud.Whose

	State ProvisioningState
	Power Power
	// Evictable says that it is a spot VM that an eviction leaves deallocated.
	Evictable bool
	VM        cloud.VM // what is told of it besides state and detail
}

// ProvisioningState is how far Azure is with a VM.
type ProvisioningState string

// The states that decide. Updating and what is not known are treated as Succeeded.
const (
	Creating  ProvisioningState = "Creating"
	Succeeded ProvisioningState = "Succeeded"
	Failed    ProvisioningState = "Failed"
	Deleting  ProvisioningState = "Deleting"
)

// Power is the power state of a VM; empty if Azure does not say.
type Power string

// The power states that decide.
const (
	On          Power = "running"
	Stopped     Power = "stopped"
	Deallocated Power = "deallocated"
)

// Missed are looks that found nothing.
type Missed struct {
	Times       int
	First, Last time.Time
}

// Again counts one more of them.
func (m Missed) Again(at time.Time) Missed {
	if m.Times == 0 {
		m.First = at
	}
	m.Times++
	m.Last = at
	return m
}

// Put is the last request for the VM of this process.
type Put struct {
	At     time.Time // zero if there was none
	Answer Answer
	// Err is why it was refused, and NotBefore when the next may be sent; both are zero if it was not refused.
	Err       *cloud.Error
	NotBefore time.Time
	// Took says that Azure refused it because a VM of the name exists.
	Took bool
}

// Answer is what became of a request.
type Answer string

// The answers to requests.
const (
	Accepted Answer = "Accepted"
	Refused  Answer = "Refused"
	Lost     Answer = "Lost" // it may have been accepted
)

// Delete is the last deletion of this process.
type Delete struct {
	At       time.Time // zero if there was none
	Accepted bool      // with 202; a 204 or 404 is none, because the front end may not know the VM yet
	Err      *cloud.Error
}

// Remnant is an adapter or disk that a deletion left.
type Remnant struct {
	ID    string
	Since time.Time // when it was first seen without a VM
	// Looked is when we last looked at it by its ID; zero if we did not.
	Looked time.Time
}

// LookAt is when to look whether it is still there, because lists show for minutes what is gone: soon, and then ever more rarely.
func (r Remnant) LookAt() time.Time {
	return r.Since.Add(max(Apart, 2*r.Looked.Sub(r.Since)))
}
