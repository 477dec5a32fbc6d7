// Package cloud is the seam between the controllers and the clouds: what a cloud must do, what it says of a VM, and how
// it says that something went wrong. Every cloud and the fake pass the same contract test, in cloudtest.
package cloud

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Key names the WindowsMachine that a VM belongs to.
type Key = types.NamespacedName

// Cloud runs the VMs behind WindowsMachines of one account. Every method may be called again at any time with the same
// arguments, from several goroutines and by a process that knows nothing of the calls before. None waits for the cloud
// to finish what it started. Errors are ErrNotFound or of type *Error; anything else is taken for Transient.
type Cloud interface {
	// Observe reports the VM as it is now, or ErrNotFound. It changes nothing. A VM that has the machine's name but not
	// its mark is not the machine's: it MUST NOT be reported, changed or deleted by any method.
	Observe(ctx context.Context, m Machine) (VM, error)

	// Ensure starts whatever m still lacks and reports how far it got. It MUST NOT make a second VM, whatever was lost
	// or is under way, and never edits a VM that exists but to switch it on for the first time.
	Ensure(ctx context.Context, m Machine) (VM, error)

	// Delete asks for the removal of the VM and of all that Ensure made for it. It returns nil while something is left or
	// may still appear, such as the VM of a request that is under way, and ErrNotFound once that is ruled out.
	Delete(ctx context.Context, m Machine) error

	// Watch sends the key of every machine worth looking at again, a hint and never a fact, until ctx ends; an error before
	// that means that it has to be started again. After a lost connection it MUST send the keys of all machines once more.
	Watch(ctx context.Context, changed chan<- Key) error

	// Close ends the account's session once Watch has returned. Later calls fail and MUST NOT open another one.
	Close(ctx context.Context) error
}

// Provider is one kind of cloud. Only main.go and the clusterctl plugin know all of them by name.
type Provider interface {
	// Identify says who the machine's VM is. It MUST be pure, MUST give the same answer for ever once spec.providerID
	// holds what it said, and two machines MUST NOT get the same answer.
	Identify(m *infrav1.WindowsMachine) (Identity, error)

	// CredentialsOf names the Secret, in the machine's namespace, with the credentials of its account.
	CredentialsOf(m *infrav1.WindowsMachine) string

	// Connect returns the account of these credentials. It only looks at them: the first call of a method logs in. The
	// caller keeps the Cloud for all machines of the account, runs its Watch for as long as it is in use, and then closes it.
	Connect(credentials map[string][]byte) (Cloud, error)
}

// Identity is who a VM is, known before it is made.
type Identity struct {
	// Name of the VM, of the computer in it and of its Node: [a-z0-9-], at most 15 characters, as Windows wants.
	Name string

	// ProviderID is byte-equal to spec.providerID of the Node.
	ProviderID string
}

// Machine is what a cloud gets to know of a WindowsMachine.
type Machine struct {
	Identity

	// Key is also the mark on the VM, with the ProviderID: it says whose it is.
	Key Key

	// Spec has the part of this cloud.
	Spec infrav1.WindowsMachineSpec

	// Networks are the adapters whose addresses are known before there is a VM, as status.networks has them. Needed by Ensure
	// alone.
	Networks []infrav1.MachineNetwork

	// Existed says that the VM was there once: that its place is not found then does not mean that it is gone.
	Existed bool

	// UserData is needed by Ensure alone.
	UserData UserData
}

// VM is what a cloud says of a VM.
type VM struct {
	// State of the VM.
	State State

	// Detail is what the cloud is doing, for people: "cloning". It must not change while that goes on.
	Detail string

	// Addresses that the cloud and the guest report.
	Addresses []clusterv1.MachineAddress

	// FailureDomain the VM runs in.
	FailureDomain string

	// Report is the guest's own word on its bootstrap, JSON of plan.Report. It is not to be trusted.
	Report string
}

// State of a VM. The zero value is a VM that is being made.
type State string

// What a VM can be.
const (
	Creating State = ""
	Running  State = "Running"
	Stopped  State = "Stopped"
)

// UserData holds secrets and prints as none.
type UserData []byte

// String hides the data from logs.
func (UserData) String() string { return "[hidden]" }

// GoString hides the data from logs.
func (UserData) GoString() string { return "[hidden]" }

// MarshalLog hides the data from logs.
func (UserData) MarshalLog() any { return "[hidden]" }
