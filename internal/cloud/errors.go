package cloud

import (
	"errors"
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// ErrNotFound means that the machine has no VM.
var ErrNotFound = errors.New("the VM does not exist")

// ErrOtherServer means that the address of an account leads to another server than before. The account does nothing there, and
// is of no use any more: close it and connect again.
var ErrOtherServer = errors.New("another server answers at the address of the account")

// Kind is what can help against an error.
type Kind string

// The kinds of errors.
const (
	// Transient errors go away by themselves: back off and try again.
	Transient Kind = "Transient"
	// Throttled: the whole account waits as long as the cloud asked.
	Throttled Kind = "Throttled"
	// Exhausted quota or capacity: try again, slowly.
	Exhausted Kind = "Exhausted"
	// Denied: only other credentials help.
	Denied Kind = "Denied"
	// Invalid: only another spec helps.
	Invalid Kind = "Invalid"
	// Later: the cloud was not asked, because others are asking it, or because it is about to list all VMs. There is no new
	// knowledge, so nothing is reported. The Watch sends the key when it is time, and After is when to look without.
	Later Kind = "Later"
)

// Error is what a cloud returns when it does not do what was asked. Only the package of that cloud makes one.
type Error struct {
	Kind Kind
	// Reason is that of the condition, one of the API's reasons.
	Reason string
	// Message states what is wrong and then what to do. Nothing in it changes from one try to the next.
	Message string
	// After is how long a Throttled cloud asked us to wait, and when to look again if no key comes first; zero if no key will.
	After time.Duration
	// Err is the cause, for logs.
	Err error
}

// Missing is the error about a field that the API allows to be left out and a VM needs.
func Missing(field string) *Error {
	return Errorf(Invalid, infrav1.SpecInvalidReason,
		"%s is not set, but a VM needs it; set it in a new WindowsMachineTemplate, or in a patch of the ClusterClass, "+
			"and use that in the MachineDeployment, which then replaces its machines", field)
}

// NoSpec is the error about a machine without the part of its spec for a cloud, which may have been taken out of it.
func NoSpec(field string) *Error {
	return Errorf(Invalid, infrav1.SpecInvalidReason, "%s is missing: add it with the settings of the VM", field)
}

// NameTaken is the error about a foreign object, such as a VM, that has the name which the machine needs at a place in the cloud.
// The remedy is what to do with that object.
func NameTaken(place, kind, name, remedy string) *Error {
	return Errorf(Invalid, infrav1.NameTakenReason,
		"%s already has a %s named %q that does not belong to this machine: %s, or delete the Machine so that a new one gets another "+
			"name", place, kind, name, remedy)
}

// LaterIn is the error of a cloud that was not asked, with the reason. The machine looks again after the pause, or once its key
// comes.
func LaterIn(pause time.Duration, message string) *Error {
	return &Error{Kind: Later, Message: message, After: pause}
}

// IsLater reports whether a cloud was not asked.
func IsLater(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == Later
}

// Error returns the sentence for people.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind. To add a cause, set the Err field.
func Errorf(kind Kind, reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Clean makes a text that is not ours fit to be shown: printable ASCII, at most so many bytes.
func Clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, text)
	if len(text) > most {
		text = text[:most-3] + "..."
	}
	return text
}
