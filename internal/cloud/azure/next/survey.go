package next

import (
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// Memory is what a process remembers of a machine, as far as decisions need it. It cannot be forged, and survives no restart.
type Memory struct {
	Put    Put
	Delete Delete
	// Lost is when a request was sent whose answer did not come: Azure may have accepted it. It is zero if there is none, and once
	// the VM was seen.
	Lost time.Time
	// Ran is true if the VM was ever seen running.
	Ran bool
	// Looked is when we last looked at the VM by its ID, whatever came of it.
	Looked time.Time
	// Missed are the looks that Azure answered with 404 since the VM was last seen; only those for which Counts is true.
	Missed Missed
	// View is why the VM failed, once Azure was asked; nil before.
	View *fault.Verdict
	// Sought is when the list of the subscription began that was last searched for the VM, and Elsewhere is where it found the VM;
	// zero if it did not.
	Sought    time.Time
	Elsewhere Elsewhere
}

// Survey has the facts for a decision: what this process remembers of a machine, and what Azure has answered since.
type Survey struct {
	Memory
	Now time.Time
	// Opened is when this process, or its account, began. An earlier process may have sent requests until then.
	Opened time.Time
	// Listed is when the last list of the group's VMs began; zero if there is none yet. Lists are positive evidence only.
	Listed time.Time

	// PowersAwaited is true until Azure has answered which VMs run.
	PowersAwaited bool

	// Seen is the VM of the machine's name, from a list or a look, the later of the two; nil if neither has it.
	Seen *Sight
	// Hides is true if Azure shows a VM of the name with another ID than the machine's, too early to decide whether it follows the
	// machine's or was there before. Then Seen is nil.
	Hides bool

	// Left is the adapter or disk to look at first, of those with the machine's mark that no VM uses; nil if the lists have none.
	Left *Remnant
	// Swept is when the lists of adapters and disks last began, and Used is true if they show one as the VM's. Hidden is the error
	// if the identity lacks the right to them; nil if it has it.
	Swept  time.Time
	Used   bool
	Hidden *cloud.Error
	// VMID is Azure's own ID of the machine's VM; empty if it is unknown.
	VMID string
	// Removed is true if Azure accepted our deletion of the VM, and no later request may have made another.
	Removed bool

	// Candidates is true if a later list of the subscription than the one that was Sought has VMs of the VM's name in other groups,
	// which were not looked at. Unsearched is why there is no list: the identity lacks the right to it; nil if it has it.
	Candidates bool
	Unsearched *cloud.Error
	// GroupMissed are the answers that the group does not exist, while the subscription answers.
	GroupMissed Missed

	// Refused is the error about the right that is missing for the lists of power states, adapters and disks, or for removing what a
	// deletion left; nil if none is.
	Refused *cloud.Error

	// Choice is the next size and zone that is open; nil if all are closed. Closed is why.
	Choice *request.Choice
	Closed *cloud.Error
	// SizesDue is true if the list of the region's sizes must be read before a request. SizesUnknown is why it could not be read,
	// which stops nothing.
	SizesDue     bool
	SizesUnknown *cloud.Error
}

// Elsewhere is another group that has a VM of the machine's name, which is the machine's or may be.
type Elsewhere struct {
	Group string
	// Unproved is true if the VM has all marks of the machine, and nothing proves them.
	Unproved bool
}

// Sight is a VM as Azure shows it.
type Sight struct {
	// Shown is the evidence of whose VM it is, and Owner is the conclusion.
	Shown
	Owner cloud.Whose

	State ProvisioningState
	Power Power
	// Evictable is true for a spot VM that an eviction leaves deallocated.
	Evictable bool
	VM        cloud.VM // what is reported of it besides state and detail
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

// Power is the power state of a VM; empty if Azure does not show it.
type Power string

// The power states that decide.
const (
	PoweredOn   Power = "running"
	Stopped     Power = "stopped"
	Deallocated Power = "deallocated"
)

// Missed are looks that found nothing.
type Missed struct {
	Times         int
	First, Latest time.Time
}

// Add counts another one.
func (m Missed) Add(looked time.Time) Missed {
	if m.Times == 0 {
		m.First = looked
	}
	m.Times++
	m.Latest = looked
	return m
}

// Put is the last request for the VM of this process.
type Put struct {
	Sent   time.Time // zero if there was none
	Answer Answer
	// Err is why it was refused, and NotBefore when the next may be sent; both are zero if it was not refused.
	Err       *cloud.Error
	NotBefore time.Time
	// Took is true if Azure refused it because a VM of the name exists.
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
	Sent     time.Time // zero if there was none
	Accepted bool      // with 202; a 204 or 404 is none, because the front end may not know the VM yet
	Err      *cloud.Error
}

// Remnant is an adapter or disk that a deletion left.
type Remnant struct {
	ID        string
	FirstSeen time.Time // when it was first seen without a VM
	// Looked is when we last looked at it by its ID; zero if we did not.
	Looked time.Time
}

// LookAt is when to look whether it is still there: soon, and then ever more rarely, because lists show for minutes what is gone.
func (r Remnant) LookAt() time.Time {
	return r.FirstSeen.Add(max(Apart, 2*r.Looked.Sub(r.FirstSeen)))
}
