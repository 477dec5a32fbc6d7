package next

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// wasThere says that there was a VM, or may have been.
func (s Survey) wasThere(m cloud.Machine) bool {
	return m.Asked == cloud.Existed || s.Known || s.Put.Answer == Accepted
}

// mayExist says that a request for the VM may have been accepted, by this process or an earlier one.
func (s Survey) mayExist(m cloud.Machine) bool {
	return s.wasThere(m) || s.earlier(m) || s.Put.Answer == Lost || s.Put.Took
}

// earlier says that an earlier process may have sent a request.
func (s Survey) earlier(m cloud.Machine) bool { return m.Asked != cloud.NeverAsked }

// mayBeOurs says that a VM of the machine's name that nothing proves to be ours may be it nevertheless.
func (s Survey) mayBeOurs(m cloud.Machine) bool {
	return s.wasThere(m) || s.earlier(m) || s.Put.Answer == Lost || s.LostPut
}

// proven says that the VM does not exist: two looks that count, apart, and a list since that does not have it. Without a list,
// Azure may be answering so to everything. And a search of the whole subscription, begun since, that could have seen it
// elsewhere. If another VM has the name, ours has not.
func (s Survey) proven() bool {
	switch {
	case s.isStranger() && !s.isUnproved():
		return s.sought()
	case s.isStranger() && s.Put.Answer != Accepted:
		return true
	}
	return s.Missed.Last.Sub(s.Missed.First) >= Apart && s.Listed.After(s.Missed.First) && s.sought()
}

// sought says that a search of the subscription did not find the VM, since a look at its ID found none.
func (s Survey) sought() bool {
	early := s.Sought.IsZero() || s.Sought.Before(s.Missed.First) || s.Sought.Before(s.GroupMissed.First)
	return !early && s.Elsewhere == ""
}

// prove goes one step on in the proof that there is no VM.
func (s Survey) prove(meanwhile string) Step {
	missed := s.Missed.Times > 0 || s.GroupMissed.Times > 0 || s.isStranger()
	switch {
	case s.Elsewhere != "" && s.Now.Sub(s.Sought) < again:
		return fail(moved(s.Elsewhere))
	case missed && !s.sought():
		return Step{Act: Seek, VM: await(meanwhile).VM}
	}
	return s.look(meanwhile)
}

// What is told of a VM whose marks are not as we wrote them.
const (
	untagged = "the VM runs, but its tags capwin-namespace, capwin-machine, capwin-cluster and capwin-providerid are not as the " +
		"controller wrote them: put them back, because without them nobody can tell whose it is once its machine's status is lost"
	wayOut = ", or, if it is another VM, remove the finalizer " + infrav1.MachineFinalizer + " from the WindowsMachine"
)

// notProved is told of a VM that has the machine's name and may be the machine's.
func (s Survey) notProved(m cloud.Machine) *cloud.Error {
	if !s.Seen.Untagged {
		return cloud.Errorf(cloud.Invalid, infrav1.VMNotProvedReason,
			"the resource group has a VM named %q with all of the machine's tags, but the machine's spec.providerID is neither what the "+
				"controller chooses nor that of its Machine, so that nothing proves that the VM is the machine's: delete it in Azure if it "+
				"is", m.Name)
	}
	return cloud.Errorf(cloud.Invalid, infrav1.VMNotProvedReason,
		"the resource group has a VM named %q, but not all of the machine's tags are on it, and nothing else says that it is the "+
			"machine's: give it the tags capwin-namespace=%s, capwin-machine=%s, capwin-providerid=%s and capwin-cluster=%s/UID, with "+
			"the Cluster's UID, if it is", m.Name, m.Key.Namespace, m.Key.Name, m.ProviderID, m.Cluster.Name)
}

// notProvedGone is told while the machine is deleted: its VM may run on.
func (s Survey) notProvedGone(m cloud.Machine) *cloud.Error {
	err := s.notProved(m)
	err.Message += wayOut
	return err
}

// moved is told of a VM that somebody moved to another group.
func moved(group string) *cloud.Error {
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason,
		"the VM was moved to the resource group %q, where the controller does not touch it: move it back, with its disks and network "+
			"interfaces, or delete it there", cloud.Clean(group, 90))
	err.After = again
	return err
}

// groupGone says that the resource group does not exist, for long enough.
func (s Survey) groupGone() bool {
	return s.GroupMissed.Times >= 3 && s.GroupMissed.Last.Sub(s.GroupMissed.First) >= groupGone
}
