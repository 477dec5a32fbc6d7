package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/apiserver"
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

// UnreachableError says that a cluster cannot be used now.
type UnreachableError struct {
	// Why follows "the API server of Cluster X" in a sentence. It does not change from try to try, and it does not tell what
	// may listen at an address.
	Why string
	// cause is for the log.
	cause string
	// answered says that the server did answer, with more than what is read or decoded.
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

const away = "cannot be reached"

// OutOfReach says whether an error means that a cluster cannot be reached, or must not be.
func OutOfReach(err error) bool {
	_, unreachable := errors.AsType[*UnreachableError](err)
	_, refused := errors.AsType[*RefusedError](err)
	return unreachable || refused
}

// line lets calls to one cluster pass while it answers. After a failure none passes until a pause is over, and then one alone,
// so that a cluster that hangs holds no more than one of our workers.
type line struct {
	mu sync.Mutex
	// calls are under way, and ended is closed when one of them ends.
	calls int
	ended chan struct{}
	// answered says that the last call was answered.
	answered bool
	// failures lengthen the pause; good counts answers since the last of them.
	failures, good int
	resume         time.Time
	broken         error
}

func newLine() *line { return &line{ended: make(chan struct{})} }

// open says whether calls may pass, or are let pass after a try.
func (l *line) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.resume) {
		return l.broken
	}
	return nil
}

// doubtful says that a look at the kubeconfig may help.
func (l *line) doubtful() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken != nil
}

// retry has the cluster tried at once: it has another kubeconfig. Earlier failures still count.
func (l *line) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resume, l.answered = time.Time{}, false
}

// enter lets a call pass, waits a moment for others of the same cluster, or says why the call must not pass.
func (l *line) enter(ctx context.Context) error {
	late := time.After(patience)
	for last := false; ; {
		wait, err := l.tryEnter(last)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-late:
			last = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryEnter lets a call pass, or says why not, or returns what to wait for. It is the last try of a caller that has waited.
func (l *line) tryEnter(last bool) (wait <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case time.Now().Before(l.resume):
		err = l.broken
	case l.calls == 0, l.answered && l.calls < mostCalls:
		l.calls++
	case l.broken != nil:
		err = l.broken
	case last:
		err = &UnreachableError{Why: away, cause: "other calls to it wait for an answer"}
	default:
		wait = l.ended
	}
	return wait, err
}

// leave ends a call. A call that its own caller gave up says nothing about the cluster.
func (l *line) leave(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	if err == nil {
		l.answered = true
		if l.good++; l.good >= manyGood {
			l.failures, l.broken = 0, nil
		}
		return
	}
	if ctx.Err() == context.Canceled || time.Now().Before(l.resume) {
		return
	}
	pause := min(firstPause<<min(l.failures, 10), longestPause)
	l.failures++
	l.answered, l.good, l.broken, l.resume = false, 0, err, time.Now().Add(pause)
}

// giveUp ends a call that was never made.
func (l *line) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *line) end() {
	l.calls--
	close(l.ended)
	l.ended = make(chan struct{})
}
