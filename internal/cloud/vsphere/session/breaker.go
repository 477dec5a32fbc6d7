package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
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

// errUnasked is the cause of an error for which the vCenter was not asked.
var errUnasked = errors.New("the vCenter was not asked")

// errSilent is that cause while the account is broken.
var errSilent = fmt.Errorf("%w, because it does not answer", errUnasked)

// Asked says whether a failed call may have reached the vCenter.
func Asked(err error) bool { return !errors.Is(err, errUnasked) }

// Silent says whether a call failed because the account is broken.
func Silent(err error) bool { return errors.Is(err, errSilent) }

// Broken says that the vCenter does not answer: calls fail at once.
func (s *Session) Broken() bool { return s.breaker.refusal() != nil }

// Check asks the vCenter whether it answers, at once. The account is broken if it does not.
func (s *Session) Check(ctx context.Context) { s.probe(ctx) }

// Await asks a vCenter that does not answer every few seconds, until it does or ctx ends. No other call asks it then.
func (s *Session) Await(ctx context.Context) {
	s.breaker.await(1)
	defer s.breaker.await(-1)
	for s.Broken() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.breaker.due(s.now())):
		}
		if s.breaker.mayProbe(s.now(), true) {
			s.probe(ctx)
		}
	}
}

// ready is an error while the account is broken. A caller who comes when a probe is due makes it.
func (s *Session) ready(ctx context.Context) error {
	if s.breaker.mayProbe(s.now(), false) {
		s.probe(ctx)
	}
	return s.breaker.refusal()
}

// probe asks for the time, which needs a session, and logs in if there is none.
func (s *Session) probe(ctx context.Context) {
	defer s.breaker.probed()
	client, _ := s.current()
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

// breaker is open while the vCenter does not answer. Then no call is made but the probe, so that none waits for nothing.
type breaker struct {
	every *time.Duration // between probes

	mu       sync.Mutex
	silent   int       // requests in a row that had no answer
	cause    error     // why it is open; nil when it is closed
	next     time.Time // when the next probe is due
	probing  bool
	awaiting int // how many wait until it closes
	heard    time.Time
	requests map[*context.CancelFunc]bool // in flight
}

// refusal is the error of calls while the breaker is open, the same for as long as that lasts.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause == nil {
		return nil
	}
	return notBefore(lookAgain, errSilent, b.cause)
}

// mayProbe says whether the caller is to ask now. Those that wait for the vCenter ask before those that have other things to do.
func (b *breaker) mayProbe(now time.Time, waits bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause == nil || b.probing || now.Before(b.next) || !waits && b.awaiting > 0 {
		return false
	}
	b.probing, b.next = true, now.Add(*b.every)
	return true
}

func (b *breaker) probed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// due is how long to wait before the next probe.
func (b *breaker) due(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.next.Sub(now), *b.every/100)
}

func (b *breaker) await(change int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaiting += change
}

// restore closes the breaker.
func (b *breaker) restore() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent, b.cause = 0, nil
}

// trip opens the breaker and ends the requests in flight, which would only keep others from their place. The first cause stays,
// so that what people read does not change until the vCenter is back.
func (b *breaker) trip(now time.Time, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != nil {
		return
	}
	b.cause, b.next = cause, now.Add(*b.every)
	for cancel := range b.requests {
		(*cancel)()
	}
}

// answered notes that a request had an answer. That does not close the breaker: a vCenter that starts answers long before it lets
// users in.
func (b *breaker) answered(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent, b.heard = 0, now
}

// unanswered notes that a request had no answer.
func (b *breaker) unanswered(now time.Time, cause error) {
	b.mu.Lock()
	b.silent++
	last := b.silent >= silentRequests
	b.mu.Unlock()
	if last {
		b.trip(now, cause)
	}
}

// begin returns the context of a request, which ends when the breaker opens.
func (b *breaker) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests == nil {
		b.requests = map[*context.CancelFunc]bool{}
	}
	b.requests[&cancel] = true
	return ctx, func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.requests, &cancel)
	}
}

// heeded tells the breaker of each request, also of those that wait for changes.
type heeded struct {
	http.RoundTripper
	breaker *breaker
	now     func() time.Time
}

// RoundTrip is part of http.RoundTripper.
func (h heeded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := h.breaker.begin(r.Context())
	defer end()
	answer, err := h.RoundTripper.RoundTrip(r.WithContext(ctx))
	switch {
	case err == nil && answered(answer), errors.Is(err, ErrTooLarge), errors.Is(err, ErrForeign):
		h.breaker.answered(h.now())
	case err == nil:
		h.breaker.unanswered(h.now(), fmt.Errorf("the answer has the status %d", answer.StatusCode))
	case !errors.Is(ctx.Err(), context.Canceled): // by the caller, or by the breaker
		h.breaker.unanswered(h.now(), err)
	}
	return answer, err
}

// answered says that an answer is a vCenter's: of one that is starting, a proxy says that it is not there yet.
func answered(r *http.Response) bool {
	return r.StatusCode == http.StatusOK || r.StatusCode == http.StatusInternalServerError
}
