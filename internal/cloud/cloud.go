// Package cloud is the seam between the controllers and the clouds: what a cloud must do, what it reports about a VM, and
// how it reports an error. Every cloud, and the fake one, passes the same contract test, which is in cloudtest.
package cloud

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Key names the WindowsMachine that a VM belongs to.
type Key = types.NamespacedName

// Cloud runs the VMs behind WindowsMachines of one account. Every method may be called again at any time with the same
// arguments, from several goroutines, and by a process that knows nothing of earlier calls. No method waits for the cloud to
// finish what was started. Errors are ErrNotFound or of type *Error; the controllers treat any other error as Transient.
type Cloud interface {
	Account

	// Observe reports the VM as it is now, or ErrNotFound. It changes nothing. A VM that has the machine's name but not
	// its mark does not belong to the machine: no method may report, change or delete it.
	Observe(ctx context.Context, m Machine) (VM, error)

	// Ensure starts what m still lacks and reports how far it got. It MUST NOT make a second VM, no matter what was lost or
	// is under way. It never edits a VM that exists, except to switch it on for the first time and to take its user data away,
	// once, when the machine is settled. A settled machine gets no VM, and its VM is not switched on.
	Ensure(ctx context.Context, m Machine) (VM, error)

	// Delete asks the cloud to remove the VM and everything that Ensure made for it. It reports how far it got while something
	// is left or may still appear, such as the VM of a request that is under way, and ErrNotFound once that is ruled out.
	Delete(ctx context.Context, m Machine) (VM, error)
}

// Account is a user at a server.
type Account interface {
	// Server identifies the server, equally for all its users and under all its addresses, so that a VM is never looked for
	// on another one; no other may get a call from then on. It MUST NOT answer before the server has accepted the credentials. A
	// call is cheap after the first. If none answers, the Watch sends the asker's key when one does.
	Server(ctx context.Context, asker Key) (string, error)

	// Watch sends the key of each machine that is worth another look, as a hint and never as a fact, until ctx ends; an error
	// before then means that it must be started again, or with ErrOtherServer that the account must be closed. After a lost
	// connection it MUST send the keys of all machines again. Changed returns at once, whatever locks the caller holds; a key
	// that a call names twice counts once.
	Watch(ctx context.Context, changed func(...Key)) error

	// Health returns the state of the account from memory: it asks the cloud nothing.
	Health() Health

	// Marked returns the VMs that carry the mark of a machine and are the one that was made for it: a copy of such a VM is not. It
	// takes them from the Watch and asks the cloud nothing. While it does not know them all, the second result is false.
	Marked() ([]Marked, bool)

	// Close ends the account's session; call it after Watch has returned. Later calls fail and MUST NOT open a new session.
	Close(ctx context.Context) error
}

// Console is a Cloud that keeps what a guest writes to its console.
type Console interface {
	// LastWords returns the last lines of it about Windows' start or its bootstrap; none if there are none. It asks the cloud, so
	// call it only when nothing else is to come from the guest. Do not trust what it returns.
	LastWords(ctx context.Context, m Machine) ([]string, error)
}

// Health is how an account fares.
type Health struct {
	// Server is the address in the credentials.
	Server string
	// Sessions are those that are open at the cloud.
	Sessions int
	// Synced is true once the Watch has listed all VMs and reports changes.
	Synced bool
	// Broken is true while calls fail at once, because the cloud did not answer or let the user in; it is tried now and then.
	Broken bool
	// Cause is why it is broken, for logs.
	Cause error
	// Heard is when the cloud last answered; zero if it never did.
	Heard time.Time
}

// Provider is one kind of cloud. Only main.go and the clusterctl plugin know all kinds by name.
type Provider interface {
	// Name is one of those in the API, and MUST be a constant.
	Name() string

	// Identify returns the identity of the machine's VM. It MUST be pure, and it MUST NOT give two machines the same answer. Once
	// spec.providerID holds the answer, it MUST always give that answer again.
	Identify(m *infrav1.WindowsMachine) (Identity, error)

	// Check returns, as an Invalid error, what the spec of a new VM lacks and the API allows to be left out, or names in a form
	// that leads nowhere. It MUST be pure.
	Check(m *infrav1.WindowsMachine) error

	// Principal names the server, the user and the proof that these credentials are, and nothing else that they may hold: equal
	// ones are the same account. It MUST be pure. The answer is a secret.
	Principal(credentials map[string][]byte) (string, error)

	// Connect returns the account of these credentials, whose memory counts for a namespace. It only checks their form: the first
	// call of a method logs in. The caller uses one Cloud for all machines of the account, runs its Watch for as long as it is in
	// use, and then closes it.
	Connect(namespace string, credentials map[string][]byte) (Cloud, error)
}

// Identity is who a VM is, known before it is made.
type Identity struct {
	// Name of the VM, of the computer in it and of its Node: [a-z0-9-], at most 15 characters, as Windows requires.
	Name string

	// ProviderID equals spec.providerID of the Node byte for byte.
	ProviderID string
}

// Machine is what a cloud gets of a WindowsMachine.
type Machine struct {
	Identity

	// Proof is what else is known that can prove that a VM is the machine's.
	Proof

	// Key and ProviderID are also the mark on the VM, which names the machine that the VM belongs to.
	Key Key

	// UID of the WindowsMachine. Reports that its guest brings by itself have it, so that those of another machine are ignored.
	UID types.UID

	// Cluster is written on the VM as well. Once the Cluster is gone, only its name may be known.
	Cluster ClusterMark

	// Spec has the part for this cloud set. Status has where the VM goes, in a cloud that inherits that; a machine that is deleted
	// may not have it.
	Spec   infrav1.WindowsMachineSpec
	Status infrav1.WindowsMachineStatus

	// FailureDomain is where the Machine wants the VM; empty leaves it to spec and cloud.
	FailureDomain string

	// NetworkInterfaces are the adapters with the MACs that they must get; one without gets any. Only Ensure needs them.
	NetworkInterfaces []infrav1.MachineNetworkInterface

	// Server is where the VM is, if that is known. If the account is at another one by now, each method MUST be a Transient error.
	Server string

	// UserData reads what the guest runs at its first start, by a request. Ensure calls it only when it is about to ask for the VM,
	// and returns its error as it is.
	UserData func(context.Context) (UserData, error) `json:"-"`

	// Settled is true if the Node has joined, or its bootstrap has failed for good: the guest needs its user data no more.
	Settled bool
}

// VM is what a cloud reports about a VM.
type VM struct {
	State State // whether it runs

	// Detail is what the cloud is doing, or what is wrong with a VM that runs, for people. It must not change while that lasts.
	// Doubt is why it is open whether the VM runs; people see it even if the guest reports that it does.
	Detail, Doubt string

	// AfterJoin is, for people and once the Node has joined, what keeps it from work, as far as that is seen of its VM.
	AfterJoin string

	// Addresses are the cloud's and the guest's, FailureDomain is where the VM runs, and ImageVersion is of what the cloud made it.
	Addresses                   []clusterv1.MachineAddress
	FailureDomain, ImageVersion string

	// Size is that of the VM, where the spec has none, and Why is the reason that a Stopped VM does not run.
	Size Size
	Why  Why

	// UserData is true while the VM still holds the user data that Ensure gave it, where its guest or a reader of the cloud finds
	// them. In a cloud that can erase none of them it is never true, and docs/bootstrap.md lists who can read them there.
	UserData bool

	// Record is what to keep of what the cloud itself calls the VM: of the answer to the cloud's own request, or of the first sight
	// of a VM with all marks of the machine. It replaces the machine's Record; nil leaves that as it is.
	Record *Record

	// Orphans names what Delete leaves, because it looks like the machine's and nothing proves it. It comes with ErrNotFound, too.
	Orphans []string

	// Left is, with ErrNotFound of Delete, what to look for by hand: the machine had a VM, or may have asked for one, and the cloud
	// did not accept a deletion of ours. It has the IDs and the last place of the VM. Empty if nothing can be left.
	Left string

	// Report is the guest's own, for plan.DecodeReport. Do not trust it. What is longer than MaxReport comes as MaxReport+1 bytes,
	// and of a shorter one may come what plan.Shorten leaves.
	Report string
}

// MaxReport is plan.MaxReportBytes: no guest of ours reports more.
const MaxReport = 16 << 10

// State of a VM. The zero value is a VM that is being made.
type State string

// The states of a VM.
const (
	Creating State = ""
	Running  State = "Running"
	Stopped  State = "Stopped"
)

// UserData holds secrets, so it prints as "[hidden]".
type UserData []byte

// Read returns the data themselves, for a caller that has them already.
func (d UserData) Read(context.Context) (UserData, error) { return d, nil }

// String hides the data from logs.
func (UserData) String() string { return "[hidden]" }

// GoString hides the data from logs.
func (UserData) GoString() string { return "[hidden]" }

// MarshalLog hides the data from logs.
func (UserData) MarshalLog() any { return "[hidden]" }

// MarshalText hides the data from logs in JSON, where it is part of something.
func (UserData) MarshalText() ([]byte, error) { return []byte("[hidden]"), nil }
