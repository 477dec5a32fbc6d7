package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Proof is what is known of a machine besides its marks that can prove that a VM is the machine's, or that it has none. It is of
// one machine. The zero value proves nothing.
type Proof struct {
	// Asked is what is known of requests for the machine's VM.
	Asked Asked

	// Record is what the cloud itself calls the machine's VM and what belongs to it, as VM.Record returned it. With it they are the
	// machine's whatever their marks are, but only at the server that gave it.
	Record Record

	// Own is true if the identity follows from the machine's own name and UID, which no user chooses.
	Own bool

	// Vouched: the owning Machine has the identity, too. Users may write that, so with all marks it proves only a VM that was made
	// before VMs had a digest of their user data, and in Azure what a refused request of this process left.
	Vouched bool

	// Digest is that of the user data in the machine's bootstrap Secret, which moves with its objects; empty if there is none.
	Digest string

	// TookOver are the UIDs of management clusters whose machines this one has taken over, by its operator's word.
	TookOver []types.UID
}

// Asked is what is known of requests for a machine's VM.
type Asked string

// What is known of requests.
const (
	// MaybeAsked: an earlier process may have asked for the VM, and its request may still be under way.
	MaybeAsked Asked = ""
	// NeverAsked: nobody can have asked for the VM but this account in this process. It is never written down.
	NeverAsked Asked = "never"
	// Existed: the VM was there once. If it is not found now, it may still be there.
	Existed Asked = "existed"
)

// Whose is whose a VM is that has the name or the ID of a machine's VM.
type Whose string

// Whose VMs are.
const (
	// Unseen: there is none, or the cloud does not show enough of it.
	Unseen Whose = ""
	// Ours: it is proved to be the machine's.
	Ours Whose = "ours"
	// Unproved: it may be the machine's, but its marks or IDs are not all there. It is left alone, and its machine is held.
	Unproved Whose = "unproved"
	// Foreign: it is not the machine's.
	Foreign Whose = "foreign"
)

// Proves reports whether a VM with all marks of the machine is the machine's. Another management cluster may have a machine with
// the same marks, and a user may write any identity into the spec of a machine. So the VM must have been made for this object,
// by its UID; or with the user data that the machine still has; or by a management cluster that the operator names. The digest
// of a VM that was made by an earlier release is empty; its machine is proved as that release did it.
func (m Machine) Proves(madeFor ClusterMark, digest string) bool {
	switch {
	case m.Own, digest != "" && digest == m.Digest, slices.Contains(m.TookOver, madeFor.Manager):
		return true
	case digest == "" && (madeFor.Manager == "" || madeFor.Manager == m.Cluster.Manager):
		return m.Vouched
	}
	return false
}

// DigestOf is the digest of user data that the VM of an identity carries. It reveals nothing of data that nobody knows.
func DigestOf(providerID string, data UserData) string {
	if len(data) == 0 {
		return ""
	}
	sum := sha256.Sum256(append(fmt.Appendf(nil, "capwin user data of %q\n", providerID), data...))
	return hex.EncodeToString(sum[:])
}

// Record is what a cloud calls what it made.
type Record = infrav1.VMRecord

// MachineID names the machine that something is remembered of. An identity alone does not: a user may write that of another
// machine into a new object.
type MachineID struct {
	Key        Key
	UID        types.UID
	ProviderID string
}

// ID is what is to be remembered of the machine by.
func (m Machine) ID() MachineID { return MachineID{Key: m.Key, UID: m.UID, ProviderID: m.ProviderID} }
