package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/breaker"
)

const (
	// probeEvery is how often a vCenter that does not answer is asked whether it does, and probeTimeout how long it may take.
	probeEvery   = 5 * time.Second
	probeTimeout = 5 * time.Second

	// silentRequests in a row break the account. Fewer may be a connection that was cut, or one method that hangs.
	silentRequests = 3

	// lookAgain is when a machine looks again by itself while the account is broken. It is woken when the vCenter answers.
	lookAgain = time.Minute
)

// errUnasked is the cause of an error for which the vCenter was not called.
var errUnasked = errors.New("the vCenter was not called")

// errSilent is that cause while the account is broken.
var errSilent = fmt.Errorf("%w, because it does not answer", errUnasked)

// Asked reports whether a failed call may have reached the vCenter.
func Asked(err error) bool { return !errors.Is(err, errUnasked) }

// Silent reports whether a call failed because the account is broken.
func Silent(err error) bool { return errors.Is(err, errSilent) }

// Broken reports whether the vCenter does not answer: calls fail at once.
func (s *Session) Broken() bool { return s.breaker.refusal() != nil }

// ProbeEvery sets how often a vCenter that does not answer is asked whether it does. It is called before any other method.
func (s *Session) ProbeEvery(pause time.Duration) { s.breaker.state.Pause = pause }

// Await asks a vCenter that does not answer every few seconds, until it does or ctx ends. No other call asks it then.
func (s *Session) Await(ctx context.Context) {
	s.breaker.awaiting.Add(1)
	defer s.breaker.awaiting.Add(-1)
	for s.Broken() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.breaker.due(s.now())):
		}
		s.probeIfDue(ctx, true)
	}
}

func (s *Session) probeIfDue(ctx context.Context, waits bool) {
	if s.breaker.beginProbe(s.now(), waits) {
		defer s.breaker.endProbe()
		s.Check(ctx)
	}
}

// Check asks the vCenter for its time, at once. That needs a session, so it logs in if there is none. The account is broken if
// there is no answer.
func (s *Session) Check(ctx context.Context) {
	s.mu.Lock()
	client, _ := s.current()
	s.mu.Unlock()
	if client == nil {
		_, _ = s.login(ctx) // notes by itself how it went
		return
	}
	brief, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch _, err := methods.GetCurrentTime(brief, client); {
	case ctx.Err() != nil:
	case Is[*types.NotAuthenticated](err):
		s.forget(client)
		_, _ = s.login(ctx)
	case err != nil && !Answered(err):
		s.breaker.trip(s.now(), err)
	default:
		s.breaker.restore()
	}
}

// circuit is open while the vCenter does not answer. Then no call is made but the probe, so that no call waits in vain.
type circuit struct {
	mu       sync.Mutex
	state    breaker.Breaker // its calls are the probes; an answer does not close it, see answered
	awaiting atomic.Int32    // how many wait until it closes
	heard    time.Time
	requests sync.Map // in flight; what ends each of them
}

func newBreaker() breaker.Breaker {
	return breaker.Breaker{Silences: silentRequests, Pause: probeEvery}
}

// refusal is the error of calls while the circuit is open, the same for as long as that lasts.
func (c *circuit) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Cause() == nil {
		return nil
	}
	return notBefore(lookAgain, errSilent, c.state.Cause())
}

// beginProbe reports whether the caller is to make the probe now. Callers that only wait for the vCenter probe before those with
// other work. The next probe is due a pause later, however long this one takes.
func (c *circuit) beginProbe(now time.Time, waits bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Cause() == nil || !waits && c.awaiting.Load() > 0 {
		return false
	}
	passes, _ := c.state.Begin(now)
	if passes {
		c.state.Open(now, c.state.Cause(), c.state.Pause)
	}
	return passes
}

func (c *circuit) endProbe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.End()
}

// due is how long to wait before the next probe.
func (c *circuit) due(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.state.Due().Sub(now), c.state.Pause/100)
}

// restore closes the circuit.
func (c *circuit) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Close()
}

// trip opens the circuit.
func (c *circuit) trip(now time.Time, cause error) {
	c.fail(func() { c.state.Open(now, cause, c.state.Pause) })
}

// unanswered notes that a request had no answer.
func (c *circuit) unanswered(now time.Time, cause error) {
	c.fail(func() { c.state.Silent(now, cause) })
}

// fail ends the requests in flight when the circuit opens: they would only keep others from their place. The first cause stays,
// so that what people read does not change until the vCenter is back.
func (c *circuit) fail(note func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Cause() != nil {
		return
	}
	if note(); c.state.Cause() == nil {
		return
	}
	for _, end := range c.requests.Range {
		if end, ok := end.(context.CancelFunc); ok {
			end()
		}
	}
}

// answered notes that a request had an answer. That does not close the circuit: a vCenter that starts answers long before it lets
// users in.
func (c *circuit) answered(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Answered()
	c.heard = now
}

// observed notes how each request ended, also requests that wait for changes. All end when the circuit opens.
type observed struct {
	http.RoundTripper
	circuit *circuit
	now     func() time.Time
}

// RoundTrip is part of http.RoundTripper.
func (h observed) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	h.circuit.requests.Store(&end, end)
	defer h.circuit.requests.Delete(&end)
	answer, err := h.RoundTripper.RoundTrip(r.WithContext(ctx))
	switch {
	case err == nil && answered(answer), errors.Is(err, ErrTooLarge), errors.Is(err, ErrForeign):
		h.circuit.answered(h.now())
	case err == nil:
		h.circuit.unanswered(h.now(), fmt.Errorf("the answer has the status %d", answer.StatusCode))
	case !errors.Is(ctx.Err(), context.Canceled): // by the caller, or by the circuit
		h.circuit.unanswered(h.now(), err)
	}
	return answer, err
}

// answered reports whether an answer is a vCenter's: while one is starting, a proxy answers that it is not there yet.
func answered(r *http.Response) bool {
	return r.StatusCode == http.StatusOK || r.StatusCode == http.StatusInternalServerError
}
