package session

import (
	"context"
	"fmt"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// ErrNoRoom is the cause of the error if the namespace of an account has no room for an answer. A smaller one may find some.
var ErrNoRoom = fmt.Errorf("%w for what is kept for its namespace", ErrTooLarge)

// loan is what one answer, or what a call has read, takes of a share until it ends.
type loan struct {
	share tenants.Share
	taken int
}

type loanKey struct{}

// TakeFrom sets the share from which answers take room. It is called before any other method.
func (s *Session) TakeFrom(share tenants.Share) { s.endpoint.share = share }

// Share is the one from which answers take room.
func (s *Session) Share() tenants.Share { return s.endpoint.share }

// borrow lets a call take room until it ends.
func (s *Session) borrow(ctx context.Context) (inner context.Context, end func()) {
	l := &loan{share: s.endpoint.share}
	return context.WithValue(ctx, loanKey{}, l), l.end
}

// loanOf is that of a call; nil outside of Do.
func loanOf(ctx context.Context) *loan {
	l, _ := ctx.Value(loanKey{}).(*loan)
	return l
}

// take counts more, or returns an error if there is no room for it.
func (l *loan) take(bytes int) error {
	switch {
	case l == nil:
	case !l.share.Take(bytes):
		return ErrNoRoom
	default:
		l.taken += bytes
	}
	return nil
}

// end gives all of it back.
func (l *loan) end() {
	l.share.Give(l.taken)
	l.taken = 0
}
