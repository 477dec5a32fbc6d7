package session

import (
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// ErrNoRoom is the cause of the error if the namespace of an account has no room for an answer. A smaller one may find some.
var ErrNoRoom = fmt.Errorf("%w for what is kept for its namespace", ErrTooLarge)

// Loan is what one answer, what a call has read, or another room takes of a share until it ends.
type Loan struct {
	share tenants.Share
	taken int
}

// loanKey leads from the context of a call to its loan.
type loanKey struct{}

// TakeFrom sets the share from which answers take room. It is called before any other method.
func (s *Session) TakeFrom(share tenants.Share) { s.endpoint.share = share }

// Loan is one of the share from which answers take room.
func (s *Session) Loan() *Loan { return &Loan{share: s.endpoint.share} }

// Take counts more, or returns ErrNoRoom.
func (l *Loan) Take(bytes int) error {
	switch {
	case l == nil:
	case !l.share.Take(bytes):
		return ErrNoRoom
	default:
		l.taken += bytes
	}
	return nil
}

// Give counts less.
func (l *Loan) Give(bytes int) {
	l.share.Give(bytes)
	l.taken -= bytes
}

// End gives all of it back.
func (l *Loan) End() { l.Give(l.taken) }
