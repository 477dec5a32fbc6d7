package next

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// wasThere reports whether there was a VM, or may have been.
func (s Survey) wasThere(m cloud.Machine) bool {
	return m.Asked == cloud.Existed || s.VMID != "" || s.Put.Answer == Accepted
}

// mayExist reports whether a request for the VM may have been accepted, by this process or an earlier one.
func (s Survey) mayExist(m cloud.Machine) bool {
	return s.wasThere(m) || s.earlier(m) || s.Put.Answer == Lost || s.Put.Took || !s.Lost.IsZero()
}

// earlier reports whether an earlier process may have sent a request.
func (s Survey) earlier(m cloud.Machine) bool { return m.Asked != cloud.NeverAsked }

// proven reports whether the VM is proved not to exist: two looks that count, apart from each other, found none, and a newer list
// does not have it. Without a list, Azure may be answering 404 to everything. In addition, Azure accepted our deletion of the VM,
// or a list of the whole subscription, begun since, does not have it elsewhere. A look that shows another VM in its place did not
// find the VM.
func (s Survey) proven() bool {
	return s.Missed.Latest.Sub(s.Missed.First) >= Apart && s.Listed.After(s.Missed.First) && s.sought()
}

// sought reports whether the VM is in no other group, since a look at its ID found none. A VM whose deletion Azure accepted
// cannot be moved, because Azure moves nothing that is not in the state Succeeded.
func (s Survey) sought() bool {
	early := s.Sought.IsZero() || s.Sought.Before(s.Missed.First) || s.Sought.Before(s.GroupMissed.First)
	return s.Removed || !early && s.Elsewhere.Group == ""
}

// prove takes the next step in the proof that there is no VM. The watch asks for the list of the subscription, for all machines.
func (s Survey) prove(detail string) Step {
	missed := s.Missed.Times > 0 || s.GroupMissed.Times > 0
	switch step := s.look(detail); {
	case s.Removed || !missed || s.Elsewhere.Group == "" && s.sought():
		return step
	case s.Elsewhere.Group != "" && (!s.Candidates || s.Now.Sub(s.Sought) < retry):
		return fail(moved(s.Elsewhere))
	case s.Candidates:
		return Step{Act: Seek, VM: await(detail).VM}
	case step.Act == "" && s.Unsearched != nil:
		return fail(s.Unsearched)
	default:
		return step
	}
}

// moved is the error for a VM that somebody moved to another group, or that may be such a VM.
func moved(found Elsewhere) *cloud.Error {
	text := "the VM was moved to the resource group %q, where the controller does not touch it: move it back, with its disks and " +
		"network interfaces, or delete it there"
	if found.Unproved {
		text = "the resource group %q has a VM of the machine's name with all of the machine's tags, and nothing proves that it is " +
			"the machine's, so that the controller does not touch it: restore the bootstrap Secret with which the machine was made " +
			"and move the VM back, with its disks and network interfaces, or delete it there"
	}
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason, text, cloud.Clean(found.Group, 90))
	err.After = retry
	return err
}

// groupGone reports whether the resource group has not existed for long enough.
func (s Survey) groupGone() bool {
	return s.GroupMissed.Times >= 3 && s.GroupMissed.Latest.Sub(s.GroupMissed.First) >= groupGone
}
