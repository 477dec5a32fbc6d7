package next

import (
	"path"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// The messages while a VM is removed. They are few, because each new message is a write to the API server.
const (
	removing  = "Azure is removing the VM"
	searching = "the VM is gone; checking whether Azure left disks or adapters of it"
)

// toRemove makes sure that there is no VM, that none can appear, and that nothing of one is left.
func toRemove(m cloud.Machine, s Survey) Step {
	if s.groupGone() {
		return s.withoutGroup(m)
	}
	switch s.owner() {
	case cloud.Ours:
		return s.remove()
	case cloud.Unproved:
		return fail(s.notProvedGone(m))
	case cloud.Unseen:
		if s.Put.Answer == Accepted && !s.Hides && !s.Counts(m, s.Now) {
			return s.remove() // Azure does not show it yet, and nothing but our VM can have the name
		}
	}
	switch {
	case s.mayExist(m) && !s.proven():
		return s.prove(removing)
	case s.Left != nil:
		return s.clear(*s.Left)
	case s.mayExist(m) && s.Seen == nil && !s.searched():
		return s.search()
	}
	return fail(cloud.ErrNotFound)
}

// withoutGroup handles a machine whose group is gone with everything in it. Its VM may have been moved to another group before.
func (s Survey) withoutGroup(m cloud.Machine) Step {
	if s.mayExist(m) && !s.sought() {
		return s.prove(removing)
	}
	return fail(cloud.ErrNotFound)
}

// searched reports whether the lists would have shown what the deletion left: those of adapters and disks are newer than the
// first look that found no VM. Some leftovers have no tags, so that nobody could match them to the machine once it is gone.
// Leftovers that the lists show as still in use are waited for as long as a list may lag.
func (s Survey) searched() bool {
	return s.Swept.After(s.Missed.First) && (!s.Used || s.Now.Sub(s.Missed.First) >= lag)
}

func (s Survey) search() Step {
	if s.Hidden != nil {
		return fail(s.Hidden)
	}
	return Step{Act: Search, VM: await(searching).VM}
}

// clear waits for what Azure may still remove by itself, and then removes it.
func (s Survey) clear(left Remnant) Step {
	step := await("the VM is gone, but Azure left " + path.Base(left.ID) + "; it is removed when nothing has used it for 10 minutes")
	if s.Now.Sub(left.FirstSeen) >= remnant {
		return Step{Act: Sweep, ID: left.ID, VM: step.VM}
	}
	if !s.Now.Before(left.LookAt()) {
		step.Act, step.ID = Check, left.ID
	}
	return step
}

// remove deletes the VM, and repeats the deletion only after a pause. A VM that was requested after the last deletion is a new
// one. A VM that Azure does not show yet is deleted, too.
func (s Survey) remove() Step {
	step := await(removing)
	pause := retry
	if s.Delete.Err != nil {
		pause = max(s.Delete.Err.After, Apart)
	}
	switch recent := s.Delete.Sent.After(s.Put.Sent) && s.Now.Sub(s.Delete.Sent) < pause; {
	case s.Seen != nil && s.Seen.State == Deleting && s.Delete.Accepted:
		return step
	case recent && s.Delete.Err != nil:
		return fail(s.Delete.Err)
	case recent:
		return step
	}
	step.Act = Remove
	return step
}
