package next

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// wasThere says that there was a VM, or may have been.
func (s Survey) wasThere(m cloud.Machine) bool {
	return m.Asked == cloud.Existed || s.Known != "" || s.Put.Answer == Accepted
}

// mayExist says that a request for the VM may have been accepted, by this process or an earlier one.
func (s Survey) mayExist(m cloud.Machine) bool {
	return s.wasThere(m) || s.earlier(m) || s.Put.Answer == Lost || s.Put.Took || s.AnswerLost
}

// earlier says that an earlier process may have sent a request.
func (s Survey) earlier(m cloud.Machine) bool { return m.Asked != cloud.NeverAsked }

// proven says that the VM does not exist: two looks that count, apart, and a list since that does not have it. Without a list,
// Azure may be answering so to everything. And Azure accepted our deletion of it, or a list of the whole subscription, begun
// since, does not have it elsewhere. A look that shows another VM in its place is one that did not find it.
func (s Survey) proven() bool {
	return s.Missed.Last.Sub(s.Missed.First) >= Apart && s.Listed.After(s.Missed.First) && s.sought()
}

// sought says that the VM is in no other group, since a look at its ID found none. One whose deletion Azure accepted cannot be
// moved, because Azure moves nothing that is not in the state Succeeded.
func (s Survey) sought() bool {
	early := s.Sought.IsZero() || s.Sought.Before(s.Missed.First) || s.Sought.Before(s.GroupMissed.First)
	return s.Removed || !early && s.Elsewhere.Group == ""
}

// prove goes one step on in the proof that there is no VM. The list of the subscription is asked for by the watch, for all
// machines.
func (s Survey) prove(meanwhile string) Step {
	missed := s.Missed.Times > 0 || s.GroupMissed.Times > 0
	switch step := s.look(meanwhile); {
	case s.Removed || !missed || s.Elsewhere.Group == "" && s.sought():
		return step
	case s.Elsewhere.Group != "" && (!s.Candidates || s.Now.Sub(s.Sought) < again):
		return fail(moved(s.Elsewhere))
	case s.Candidates:
		return Step{Act: Seek, VM: await(meanwhile).VM}
	case step.Act == "" && s.Unsearched != nil:
		return fail(s.Unsearched)
	default:
		return step
	}
}

// moved is told of a VM that somebody moved to another group, or that may be such a one.
func moved(to Elsewhere) *cloud.Error {
	says := "the VM was moved to the resource group %q, where the controller does not touch it: move it back, with its disks and " +
		"network interfaces, or delete it there"
	if to.Unproved {
		says = "the resource group %q has a VM of the machine's name with all of the machine's tags, and nothing proves that it is " +
			"the machine's, so that the controller does not touch it: restore the bootstrap Secret with which the machine was made " +
			"and move the VM back, with its disks and network interfaces, or delete it there"
	}
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason, says, cloud.Clean(to.Group, 90))
	err.After = again
	return err
}

// groupGone says that the resource group does not exist, for long enough.
func (s Survey) groupGone() bool {
	return s.GroupMissed.Times >= 3 && s.GroupMissed.Last.Sub(s.GroupMissed.First) >= groupGone
}
