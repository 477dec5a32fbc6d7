package next

import (
	"fmt"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// notProved is why a VM that may be the machine's is left alone, and what helps. The name of a VM that has only the machine's id
// or reference is not shown, because the VM may be another tenant's.
func notProved(m cloud.Machine, vm *seen.VM) *cloud.Error {
	subject := fmt.Sprintf("the VM %q (%s)", cloud.Clean(vm.Name, seen.MaxName), cloud.Clean(vm.Ref.Value, seen.MaxReference))
	switch {
	case vm.ID == seen.IDOf(m):
		subject = "the VM with the instance UUID " + vm.ID
	case vm.Blank():
		subject = "the VM " + cloud.Clean(vm.Ref.Value, seen.MaxReference) + ", which the status of this machine names,"
	}
	lacks, remedy := proofOf(vm, m)
	return cloud.Errorf(cloud.Denied, infrav1.VMNotProvedReason,
		"%s may be this machine's, but it %s, so it is left alone: %s", subject, lacks, remedy)
}

// proofOf returns what of a proof a VM lacks, which may be the machine's, and what a person can do about that. It never proposes
// to give the machine's id to a VM that has no mark: if the VM is another's, it would be deleted with the machine.
func proofOf(s *seen.VM, m cloud.Machine) (lacks, remedy string) {
	id, otherID := seen.IDOf(m), cloud.Clean(s.ID, seen.MaxMark)
	marks := fmt.Sprintf("%s=%s and %s=%s in its advanced configuration", seen.MarkOwner, m.Key, seen.MarkProviderID, m.ProviderID)
	switch maker := s.Maker(); {
	case s.BelongsTo(m) && maker != "" && maker != string(m.Cluster.Manager):
		return "was made by another management cluster, with the UID " + maker,
			"restore the machine's bootstrap Secret, or let the operator start the manager with --took-over-from=" + maker
	case s.BelongsTo(m):
		return "was made for another object, or with other user data than those in the machine's bootstrap Secret",
			"restore the bootstrap Secret that the VM was made with, or delete the VM"
	case s.ID == id && s.Unlike(m):
		return "has the marks of another machine", "if it is this machine's, set " + marks
	case s.ID == id:
		return "does not have all of its marks", "if it is this machine's, set " + marks
	case s.Marked(m):
		return "has the instance UUID " + otherID + " and not " + id,
			"if it is this machine's, as after a restore from a backup, set its instance UUID to " + id
	case s.Blank():
		return "has another instance UUID, and no marks",
			"look for a VM with the instance UUID " + id + ", and ask who manages the vCenter whose VM this one is"
	}
	return "has the instance UUID " + otherID + " and not " + id + ", and does not have all of its marks",
		"if it is this machine's, set its instance UUID to " + id + ", and " + marks
}

// usedAgain is why it is not known that a VM is gone while its reference names the VM of another machine.
func usedAgain(m cloud.Machine, vm *seen.VM) *cloud.Error {
	return cloud.Errorf(cloud.Denied, infrav1.VMNotProvedReason,
		"the object %s, which the status of this machine names, is another machine's VM now, as after a restore of the vCenter, so it "+
			"is left alone, and nothing proves that this machine's VM is gone: look for a VM with the instance UUID %s",
		cloud.Clean(vm.Ref.Value, seen.MaxReference), seen.IDOf(m))
}

// inItsPlace is why it is not known that a VM is gone while its name is taken.
func inItsPlace(m cloud.Machine, vm *seen.VM) *cloud.Error {
	marks := fmt.Sprintf("give it the instance UUID %s, %s=%s and %s=%s if it is the machine's VM, or ",
		seen.IDOf(m), seen.MarkOwner, m.Key, seen.MarkProviderID, m.ProviderID)
	if vm.Unlike(m) || vm.Ref.Type != "VirtualMachine" {
		marks = ""
	}
	return cloud.Errorf(cloud.Denied, infrav1.NameTakenReason,
		"the folder has a VM or folder named %q without the marks of this machine, so that nothing proves that the machine's VM is "+
			"gone: %srename it, and look for a VM with the instance UUID %s", m.Name, marks, seen.IDOf(m))
}

// NameHidden is why a clone is not tried again at once when the name is taken by something that we do not find.
func NameHidden(m cloud.Machine) error {
	return cloud.Errorf(cloud.Transient, infrav1.NameTakenReason,
		"the vCenter reports that the name %q is taken in the folder, but shows the account no such object: give the account the "+
			"right "+
			"to see it, or delete the Machine so that a new one gets another name", m.Name)
}

// specMissing is the answer for a machine without the part of its spec that is ours. Nothing was ever made of it.
func specMissing(want Goal) error {
	if want == Gone {
		return cloud.ErrNotFound
	}
	return cloud.NoSpec("spec.vsphere")
}

// WayOut adds to the error of a deletion that cannot end what a person can do.
func WayOut(err *cloud.Error) error {
	full := *err
	full.Message += "; if the VM is gone for certain, remove the finalizer " + infrav1.MachineFinalizer + " from the WindowsMachine"
	return &full
}
