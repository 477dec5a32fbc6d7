package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
	"github.com/capwin/cluster-api-provider-windows/internal/breaker"
)

const (
	// mostCalls of one cluster are under way at a time.
	mostCalls = 8
	// patience is how long a caller waits for others of the same cluster.
	patience = time.Second
	// firstPause and longestPause are between two tries of a cluster that fails.
	firstPause, longestPause = 5 * time.Second, 80 * time.Second
	// manyGood calls in a row make earlier failures forgotten.
	manyGood = 20
)

// UnreachableError means that a cluster cannot be used now.
type UnreachableError struct {
	// Why follows "the API server of Cluster X" in a sentence. It does not change from try to try, and does not reveal what may
	// listen at an address.
	Why string
	// cause is for the log.
	cause string
	// answered is true if the server did answer, with more than what is read or decoded.
	answered bool
	// tooLong: a page of a list is longer than an answer may be.
	tooLong bool
}

// Is implements errors.Is.
func (e *UnreachableError) Is(target error) bool { return e.tooLong && target == apiserver.ErrTooLong }

// Error implements error.
func (e *UnreachableError) Error() string {
	if e.cause == "" {
		return "the API server " + e.Why
	}
	return "the API server " + e.Why + ": " + e.cause
}

const cannotReach = "cannot be reached"

// OutOfReach reports whether an error means that a cluster cannot be reached, or must not be.
func OutOfReach(err error) bool {
	_, unreachable := errors.AsType[*UnreachableError](err)
	_, refused := errors.AsType[*RefusedError](err)
	return unreachable || refused
}

// line lets calls to one cluster pass while it answers. After a failure none passes until a pause is over, and then one alone,
// so that a cluster that hangs holds no more than one of our workers.
type line struct {
	mu      sync.Mutex
	breaker breaker.Breaker
	ended   chan struct{} // closed when one of the calls under way ends
}

func newLine() *line {
	return &line{ended: make(chan struct{}), breaker: breaker.Breaker{
		Limit: mostCalls, Answers: manyGood, Pause: firstPause, Longest: longestPause,
	}}
}

// open returns an error unless calls may pass, or one may be tried.
func (l *line) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.breaker.Due()) {
		return l.breaker.Cause()
	}
	return nil
}

// doubtful reports whether a look at the kubeconfig may help.
func (l *line) doubtful() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.Cause() != nil
}

// retry has the cluster tried at once: it has another kubeconfig.
func (l *line) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breaker.Retry()
}

// enter lets a call pass, waits a moment for others of the same cluster, or returns the error for which the call must not pass.
func (l *line) enter(ctx context.Context) error {
	late := time.After(patience)
	for final := false; ; {
		wait, err := l.tryEnter(final)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-late:
			final = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryEnter lets a call pass, or returns why not, or what to wait for. It is the final try of a caller that has waited.
func (l *line) tryEnter(final bool) (wait <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch passes, cause := l.breaker.Begin(time.Now()); {
	case passes:
	case cause != nil:
		err = cause
	case final:
		err = &UnreachableError{Why: cannotReach, cause: "other calls to it wait for an answer"}
	default:
		wait = l.ended
	}
	return wait, err
}

// leave ends a call. A call that its own caller gave up proves nothing about the cluster.
func (l *line) leave(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	switch {
	case err == nil:
		l.breaker.Answered()
	case ctx.Err() != context.Canceled:
		l.breaker.Silent(time.Now(), err)
	}
}

// giveUp ends a call that was never made.
func (l *line) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *line) end() {
	l.breaker.End()
	close(l.ended)
	l.ended = make(chan struct{})
}

// mostOfNamespace calls to the clusters of one namespace are under way at a time, and as many may wait for their turn: whoever
// may make Clusters can make any number of them that hang.
const mostOfNamespace = 16

// gate lets calls to the clusters of one namespace pass.
type gate struct{ passing, waiting chan struct{} }

func newGate() *gate {
	return &gate{passing: make(chan struct{}, mostOfNamespace), waiting: make(chan struct{}, mostOfNamespace)}
}

// enter lets a call pass, waits a moment for others of the same namespace, or returns an error if there are too many of them.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.passing <- struct{}{}:
		return nil
	default:
	}
	full := &UnreachableError{Why: cannotReach, cause: "other calls to clusters of its namespace wait for an answer"}
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return full
	}
	select {
	case g.passing <- struct{}{}:
		return nil
	case <-time.After(patience):
		return full
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leave() { <-g.passing }
