package session

import (
	"context"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// InFlight is how many callers an account serves at a time, beside its watch. With the wait for changes that makes four
	// connections.
	InFlight    = 3
	connections = InFlight + 1

	// busyPause is when a caller that found no place tries again by itself. Freed is called when there is one.
	busyPause = time.Second
)

// errBusy is the answer to a caller without a place: a worker that waited for one would be missing to other accounts.
var errBusy = &cloud.Error{
	Kind: cloud.Later, Message: "the vCenter is answering other calls of this account", After: busyPause, Err: errUnasked,
}

// visit is what the calls of one context share.
type visit struct {
	mu     sync.Mutex
	placed bool // it has a place
	exempt bool // it needs none, or none any more
}

type visitKey struct{}

// Visit lets the calls of a context share a place, which the first of them takes. leave gives it back.
func (s *Session) Visit(ctx context.Context) (inner context.Context, leave func()) {
	v := &visit{}
	return context.WithValue(ctx, visitKey{}, v), func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.exempt = true; !v.placed {
			return
		}
		v.placed = false
		<-s.placed
		if s.Freed != nil {
			s.Freed()
		}
	}
}

// Unlimited is for the calls of the watch, which need no place: the callers wait for what it reports.
func Unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, visitKey{}, &visit{exempt: true})
}

// Enter takes a place for a context that has none yet. It returns an error if there is none, or if the vCenter does not answer. A
// caller that comes when a probe is due makes it. Do calls Enter; so must a caller that is about to wait for the calls of another
// one.
func (s *Session) Enter(ctx context.Context) error {
	if s.Broken() {
		s.probeIfDue(ctx, false)
	}
	if err := s.breaker.refusal(); err != nil {
		return err
	}
	v, _ := ctx.Value(visitKey{}).(*visit)
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.placed || v.exempt {
		return nil
	}
	select {
	case s.placed <- struct{}{}:
		v.placed = true
		return nil
	default:
		return errBusy
	}
}
