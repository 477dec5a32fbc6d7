package seen

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// IDOf returns the UUID of a machine's VM.
func IDOf(m cloud.Machine) string { return strings.TrimPrefix(m.ProviderID, Scheme) }

// RefOf returns the reference to a VM. That of an answer may name a server too, which no other method of a vCenter does.
func RefOf(value string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: value}
}

// Scheme begins each providerID of ours.
const Scheme = "vsphere://"

// Found is the VM that was read for a machine, and whose it is. Without one there is none, as far as the account sees.
type Found struct {
	Whose cloud.Whose
	VM    *VM
}

// Way is how an object was found.
type Way string

// The ways in which a VM is found.
const (
	ByReference Way = "by the reference that was kept"
	ByID        Way = "by its id"
	ByName      Way = "by its name"
)

// Whose decides whose a VM is. A VM with the machine's reference, which the vCenter gives only once, and the machine's id is the
// machine's, whatever a person has done to its marks. All marks need a proof that they were written for this machine. A VM that
// has only some of these, and that no other machine has, may be the machine's: we must not touch it, and must not report it as
// gone.
func (s *VM) Whose(m cloud.Machine, way Way) cloud.Whose {
	sameID := s.ID == IDOf(m)
	switch {
	case !s.Readable():
		return cloud.Unseen
	case way == ByReference && sameID, s.BelongsTo(m) && m.Proves(cloud.ReadClusterMark(s.Cluster), s.Digest):
		return cloud.Ours
	case sameID:
		return cloud.Unproved
	case s.Unlike(m), way != ByReference && s.Blank():
		return cloud.Foreign
	}
	return cloud.Unproved
}

// Readable reports whether the vCenter shows the VM's configuration. While a VM is being cloned, and while its host or datastore
// is away, the vCenter may show only the name, and it is open which machine the VM belongs to.
func (s *VM) Readable() bool { return s.ID != "" }

// BelongsTo reports whether the VM has all marks of m. The two that are written on it are not enough: if a person clones our VM,
// the copy has them too, but the vCenter gives it an id of its own.
func (s *VM) BelongsTo(m cloud.Machine) bool { return s.ID == IDOf(m) && s.Marked(m) }

// Marked reports whether the VM has the marks that are written on it.
func (s *VM) Marked(m cloud.Machine) bool {
	return s.Owner == m.Key.String() && s.ProviderID == m.ProviderID
}

// Unlike reports whether the VM has a mark of another machine.
func (s *VM) Unlike(m cloud.Machine) bool {
	return s.Owner != "" && s.Owner != m.Key.String() || s.ProviderID != "" && s.ProviderID != m.ProviderID
}

// Blank reports whether no mark is written on the VM.
func (s *VM) Blank() bool { return s.Owner == "" && s.ProviderID == "" }

// Maker is the UID, in the VM's mark, of the management cluster that made the VM.
func (s *VM) Maker() string {
	return cloud.Clean(string(cloud.ReadClusterMark(s.Cluster).Manager), maxUID)
}

// maxUID is longer than a UID of Kubernetes.
const maxUID = 64
