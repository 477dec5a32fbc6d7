package calls

import (
	"sync"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

const (
	// Silences in a row mean that Azure does not answer, so that only a try now and then is worth its time.
	Silences = 3
	brokenAt = 15 * time.Second
	deniedAt = 30 * time.Second
	// AtOnce calls of an account may be under way, so that one that hangs leaves workers to others.
	AtOnce = 32
)

// breaker limits the calls of an account that are under way, and stops them for a while when the credentials are refused or Azure
// does not answer.
type breaker struct {
	now func() time.Time

	mu         sync.Mutex
	acceptedAt time.Time // zero before an answer that accepted the credentials
	silent     int
	broken     *cloud.Error
	retryAt    time.Time // when the next try is due, while it is broken
	closed     bool
	underway   sync.WaitGroup
	count      int // of calls under way
}

// open returns why no call may be made now. Without an error a call has begun. While Azure has not answered yet, or not lately,
// one call tries for all machines.
func (b *breaker) open() *cloud.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := AtOnce
	if b.acceptedAt.IsZero() || b.silent > 0 {
		limit = 1
	}
	switch {
	case b.closed:
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is closed")
	case b.broken != nil && (b.now().Before(b.retryAt) || b.count >= limit):
		return b.broken
	case b.count >= limit:
		return cloud.LaterIn(time.Second, "waiting for the other calls of this account")
	}
	b.count++
	b.underway.Add(1)
	return nil
}

func (b *breaker) finish() {
	defer b.underway.Done()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count--
}

// failed counts a call whose token was refused, or whose answer did not come: Azure's, or that of the token's server.
func (b *breaker) failed(err *cloud.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch err.Kind {
	case cloud.Denied:
		b.rest(err, deniedAt)
	case cloud.Throttled:
		b.rest(err, max(err.After, brokenAt))
	default:
		if b.silent++; b.silent >= Silences {
			b.rest(err, brokenAt)
		}
	}
}

func (b *breaker) rest(cause *cloud.Error, pause time.Duration) {
	b.broken, b.retryAt = cause, b.now().Add(pause)
}

// answered notes that Azure answers.
func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent, b.broken = 0, nil
}

// accepted notes that Azure answers and accepts the credentials.
func (b *breaker) accepted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent, b.broken, b.acceptedAt = 0, nil, b.now()
}

func (b *breaker) health() cloud.Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := cloud.Health{Heard: b.acceptedAt, Broken: b.broken != nil}
	if b.broken != nil {
		h.Cause = b.broken
	}
	if !b.closed && !b.acceptedAt.IsZero() {
		h.Sessions = 1
	}
	return h
}

// close lets no more calls begin, and waits for those that are under way.
func (b *breaker) close() {
	b.shut()
	b.underway.Wait()
}

func (b *breaker) shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
