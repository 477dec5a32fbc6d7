package workload

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// reading is what a cluster has of something, read for one caller at a time. Callers in the next while get the same, if the
// namespace has room to keep it.
type reading[T any] struct {
	// swap is that of tenants.Bytes for the namespace; nil has room for everything.
	swap func(previous, next int) (fits bool)

	mu    sync.Mutex
	found T
	size  int // of found
	err   error
	read  time.Time
	// reading is closed when the reading under way has ended; nil when there is none.
	reading chan struct{}
}

func (r *reading[T]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(*new(T))
	r.err, r.read = nil, time.Time{}
}

// keep keeps what was found, or nothing if there is no room for it.
func (r *reading[T]) keep(found T) (fits bool) {
	size := tenants.SizeOf(found)
	if fits = r.swap == nil || r.swap(r.size, size); !fits {
		found, size = *new(T), 0
	}
	r.found, r.size = found, size
	return fits
}

// expire drops what serves no more.
func (r *reading[T]) expire(serves time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) >= serves {
		r.keep(*new(T))
	}
}

// readTime is how long a reading may take, which may be of many calls: each of them has callTime alone.
const readTime = 2 * callTime

// get reads, or takes what another caller has read in the time that it serves.
func (r *reading[T]) get(ctx context.Context, serves time.Duration, read func(context.Context) (T, error)) (found T, err error) {
	r.mu.Lock()
	if time.Since(r.read) < serves && r.err == nil {
		defer r.mu.Unlock()
		return r.found, nil
	}
	if pending := r.reading; pending != nil {
		if r.err != nil { // the cluster failed before: none waits for it
			defer r.mu.Unlock()
			return found, r.err
		}
		r.mu.Unlock()
		return r.await(ctx, pending)
	}
	r.reading = make(chan struct{})
	r.mu.Unlock()
	err = errors.New("the read did not end") // unless it does
	defer func() { r.end(found, err, serves) }()
	bounded, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	found, err = read(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &UnreachableError{Why: cannotReach, cause: "it takes too long to answer: " + err.Error()}
	}
	return found, Brief(err)
}

// end keeps what was found for the time that it serves.
func (r *reading[T]) end(found T, err error, serves time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err, r.read = err, time.Now(); !r.keep(found) && err == nil {
		r.err = &UnreachableError{Why: "answers with more than is kept of the clusters of its namespace"}
	}
	time.AfterFunc(serves, func() { r.expire(serves) })
	close(r.reading)
	r.reading = nil
}

// await waits for a reading of another caller, but not for long.
func (r *reading[T]) await(ctx context.Context, reading chan struct{}) (found T, err error) {
	select {
	case <-reading:
	case <-time.After(patience):
	case <-ctx.Done():
		return found, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading == reading {
		return found, &UnreachableError{Why: cannotReach, cause: "it is being read"}
	}
	return r.found, r.err
}
