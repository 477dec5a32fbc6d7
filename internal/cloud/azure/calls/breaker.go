package calls

import (
	"errors"
	"sync"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/breaker"
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

// circuit limits the calls of an account that are under way, and stops them for a while when the credentials are refused or Azure
// does not answer.
type circuit struct {
	now func() time.Time

	mu         sync.Mutex
	state      breaker.Breaker // one call at a time until the credentials are accepted
	acceptedAt time.Time       // zero before that
	closed     bool
	underway   sync.WaitGroup
}

func newCircuit(clock func() time.Time) *circuit {
	return &circuit{now: clock, state: breaker.Breaker{Silences: Silences, Pause: brokenAt}}
}

// begin returns why no call may be made now. Without an error a call has begun. While Azure has not answered yet, or not lately,
// one call tries for all machines.
func (c *circuit) begin() *cloud.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is closed")
	}
	passes, cause := c.state.Begin(c.now())
	if passes {
		c.underway.Add(1)
		return nil
	}
	if broken, ok := errors.AsType[*cloud.Error](cause); ok {
		return broken
	}
	return cloud.LaterIn(time.Second, "waiting for the other calls of this account")
}

func (c *circuit) end() {
	defer c.underway.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.End()
}

// failed counts a call whose token was refused, or whose answer did not come: Azure's, or that of the token's server.
func (c *circuit) failed(err *cloud.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch err.Kind {
	case cloud.Denied:
		c.state.Open(c.now(), err, deniedAt)
	case cloud.Throttled:
		c.state.Open(c.now(), err, max(err.After, brokenAt))
	default:
		c.state.Silent(c.now(), err)
	}
}

// answered notes that Azure answers.
func (c *circuit) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Close()
}

// accepted notes that Azure answers and accepts the credentials.
func (c *circuit) accepted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Close()
	c.state.Limit, c.acceptedAt = AtOnce, c.now()
}

func (c *circuit) health() cloud.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	cause := c.state.Cause()
	h := cloud.Health{Heard: c.acceptedAt, Broken: cause != nil, Cause: cause}
	if !c.closed && !c.acceptedAt.IsZero() {
		h.Sessions = 1
	}
	return h
}

// close lets no more calls begin, and waits for those that are under way.
func (c *circuit) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.underway.Wait()
}
