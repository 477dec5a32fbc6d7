package cloud

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Placer is a Provider whose machines take from their Cluster's infrastructure object what their spec leaves out, and whose
// identities are kept in other objects than Secrets, too. All its methods are pure.
type Placer interface {
	Provider

	// Inherits names the kind of infrastructure object that Resolve understands.
	Inherits() schema.GroupKind

	// Resolve writes into the status where the machine's VM goes. The object is nil if the Cluster has none of that kind. The place
	// in spec.providerID holds over all else. A Transient error is about an object that lacks something yet. For a machine that is
	// being deleted it writes only the rights with which it is managed: identity and cloud.
	Resolve(m *infrav1.WindowsMachine, infrastructure *unstructured.Unstructured) error

	// Allow decides whose credentials a machine may use: those of an identity object, or the manager's own if identity is nil.
	Allow(by Asker, identity *unstructured.Unstructured) (Grant, error)

	// As is the provider with the rights of a grant: its Principal and Connect get what is in the Secret of the grant, or nothing.
	// A grant of a cloud alone, without a proof, is for a Secret of the machine's own namespace: it holds unless the Secret names
	// the cloud that it is for.
	As(grant Grant) Provider
}

// Asker is the user of an identity: a namespace, and its labels.
type Asker struct {
	Namespace string
	Labels    map[string]string
	// Unread is true if the manager may not read the labels.
	Unread bool
	// Holds is true if the machine may have a VM: an identity that is being deleted serves it until that is gone.
	Holds bool
	// Cloud is the one that the machine's place is in, if the place names one.
	Cloud string
}

// Grant is an identity that an asker may use.
type Grant struct {
	// Proof is how the identity proves to the cloud who it is, in the cloud's own words.
	Proof string
	// ClientID and TenantID identify it; empty for the manager's own.
	ClientID, TenantID string
	// Secret has the proof; empty if the manager has it.
	Secret Key
	// Cloud is the one to log in to; empty for the manager's usual one.
	Cloud string
	// AskedBy and AskedCloud are who asked for a proof of others, and for which cloud.
	AskedBy, AskedCloud string
}

// Tenanted is an account in a cloud with tenants.
type Tenanted interface {
	// ShowTenant writes the ID of the account's tenant into the place in a status, unless only a domain of it is known.
	ShowTenant(status *infrav1.WindowsMachineStatus)
}

// Size is that of a VM; zero if it is not known.
type Size struct{ CPUs, MemoryMiB int64 }

// Why a VM does not run. The zero value is unknown.
type Why string

// Why VMs do not run.
const (
	Evicted     Why = "Evicted"     // the cloud took a spot VM's place
	Deallocated Why = "Deallocated" // it is stopped and has no place in the cloud
)
