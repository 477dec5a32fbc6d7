package cloud

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound says that there is no VM of the machine.
var ErrNotFound = errors.New("there is no such VM")

// Kind says what an error means for what comes next.
type Kind string

// The kinds of errors.
const (
	// Transient errors go away: back off and try again.
	Transient Kind = "Transient"
	// Throttled: the whole account waits for as long as the cloud asked.
	Throttled Kind = "Throttled"
	// Exhausted quota or capacity: try again, slowly.
	Exhausted Kind = "Exhausted"
	// Denied: only other credentials help.
	Denied Kind = "Denied"
	// Invalid: only another spec helps.
	Invalid Kind = "Invalid"
)

// Error is what a cloud answers when it does not do what was asked. Only the cloud's own room makes one.
type Error struct {
	Kind Kind
	// Reason for the condition, one of the API's.
	Reason string
	// Message says what is wrong and what to do, in a sentence without anything that changes from try to try.
	Message string
	// After is how long a Throttled cloud wants to be left alone.
	After time.Duration
	// Err is the cause, for logs.
	Err error
}

// Error is the sentence for people.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind; a cause goes into the Err field.
func Errorf(kind Kind, reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
