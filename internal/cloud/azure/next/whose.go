package next

import (
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Shown is the evidence of whose VM it is that Azure shows under the name of a machine's.
type Shown struct {
	// VMID is Azure's own ID of it; empty if Azure does not show it.
	VMID string
	// Marked is true if it has all marks of the machine, MadeFor is the Cluster in them, and Digest is that of the user data with
	// which it was made.
	Marked  bool
	MadeFor cloud.ClusterMark
	Digest  string
	// Early is true if the answer may be older than the machine's VM, or so young that Azure may not show that VM yet.
	Early bool
}

// OwnerOf decides whose a VM is that has the name of the machine's. Azure's own ID decides before all tags, because a copied or
// restored VM has the same tags. Tags alone prove a VM only together with what else is known of the machine. A VM that may be the
// machine's and is not proved is never taken and never let go.
func (s Survey) OwnerOf(m cloud.Machine, shown Shown) cloud.Whose {
	differs := s.VMID != "" && shown.VMID != "" && shown.VMID != s.VMID
	switch {
	case s.VMID != "" && shown.VMID == s.VMID:
		return cloud.Ours
	case differs && shown.Early:
		return cloud.Unseen
	case differs && shown.Marked:
		return cloud.Unproved
	case differs:
		return cloud.Foreign
	case shown.Marked && m.Proves(shown.MadeFor, shown.Digest):
		return cloud.Ours
	case shown.Marked, s.mayExist(m):
		return cloud.Unproved
	}
	return cloud.Foreign
}

// Messages about a VM whose marks are not as we wrote them.
const (
	untagged = "the VM runs, but its tags capwin-namespace, capwin-machine, capwin-cluster and capwin-providerid are not as the " +
		"controller wrote them: put them back, because without them nothing shows whose it is once its machine's status is lost"
	wayOut = ", or, if it is another VM, remove the finalizer " + infrav1.MachineFinalizer + " from the WindowsMachine"
)

// notProved is the error for a VM that has the machine's name and may be the machine's: what is missing, and what helps.
func (s Survey) notProved(m cloud.Machine) *cloud.Error {
	errorf := func(format string, args ...any) *cloud.Error {
		return cloud.Errorf(cloud.Invalid, infrav1.VMNotProvedReason, "the resource group has a VM named %q"+format,
			append([]any{m.Name}, args...)...)
	}
	shown := s.Seen.Shown
	switch manager := shown.MadeFor.Manager; {
	case !shown.Marked:
		return errorf(", but not all of the machine's tags are on it, and nothing else proves that it is the machine's: give it the "+
			"tags capwin-namespace=%s, capwin-machine=%s, capwin-providerid=%s and capwin-cluster=%s/UID, with the Cluster's UID, if it "+
			"is", m.Key.Namespace, m.Key.Name, m.ProviderID, m.Cluster.Name)
	case s.VMID != "" && shown.VMID != "":
		return errorf(" with all of the machine's tags, but Azure gave it the ID %s, and the machine's VM has the ID %s, so that it "+
			"may be a copy, such as one that was restored from a backup: delete it in Azure", shown.VMID, s.VMID)
	case manager != "" && manager != m.Cluster.Manager:
		return errorf(" with all of the machine's tags, but the management cluster with the UID %s made it: restore the bootstrap "+
			"Secret with which the machine was made, or have the operator start the manager with --took-over-from=%[2]s if this "+
			"management cluster has taken over the machines of that one", cloud.Clean(string(manager), maxUID))
	}
	return errorf(" with all of the machine's tags, but the machine's spec.providerID is neither what the controller chooses nor " +
		"that of its Machine, or the VM was made with other user data than the machine has, so that nothing proves that the VM is " +
		"the machine's: restore the bootstrap Secret with which the machine was made, or delete the VM in Azure")
}

// maxUID is longer than the UID of anything.
const maxUID = 64

// notProvedGone is that error while the machine is deleted: its VM may run on.
func (s Survey) notProvedGone(m cloud.Machine) *cloud.Error {
	err := s.notProved(m)
	err.Message += wayOut
	return err
}
