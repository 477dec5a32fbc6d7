package places

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// How long we trust that a name still means the same object, or none. If a template is replaced by another one of the same name,
// we notice at once when the old one was removed, and after keepPlaces otherwise. Machines with a misspelt place try again every
// two minutes: those of a pool do so together and share one search, and each try searches anew.
const (
	keepPlaces = 10 * time.Minute
	keepAbsent = 30 * time.Second
)

// memory remembers answers by question. Concurrent callers share one search.
type memory[T any] struct {
	searches singleflight.Group
	enter    func(context.Context) error // who waits for another's search is one of the account's few callers, too

	mu    sync.Mutex
	known map[string]answer[T]
}

type answer[T any] struct {
	value T
	err   error
	until time.Time
}

// ask returns what is known, or else what search finds. The search goes on without a caller that leaves.
func (m *memory[T]) ask(
	ctx context.Context, now func() time.Time, question string, search func(context.Context) (T, error),
) (T, error) {
	if known, ok := m.get(question, now()); ok {
		return known.value, known.err
	}
	if err := m.enter(ctx); err != nil {
		return answer[T]{}.value, err
	}
	done := m.searches.DoChan(question, func() (any, error) {
		if known, ok := m.get(question, now()); ok { // another search ended in between
			return known, nil
		}
		value, err := search(context.WithoutCancel(ctx))
		found := answer[T]{value: value, err: err}
		m.put(question, found, now())
		return found, nil
	})
	select {
	case <-ctx.Done():
		return answer[T]{}.value, session.Classify(ctx.Err())
	case r := <-done:
		found, _ := r.Val.(answer[T])
		return found.value, found.err
	}
}

func (m *memory[T]) get(question string, now time.Time) (answer[T], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[question]
	return known, now.Before(known.until)
}

// put keeps an answer, unless it is an error that says nothing about the question.
func (m *memory[T]) put(question string, found answer[T], now time.Time) {
	keep := keepPlaces
	if found.err != nil {
		wrong, ok := errors.AsType[*cloud.Error](found.err)
		if !ok || wrong.Kind != cloud.Invalid {
			return
		}
		keep = keepAbsent
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for old, known := range m.known {
		if !now.Before(known.until) {
			delete(m.known, old)
		}
	}
	if m.known == nil {
		m.known = map[string]answer[T]{}
	}
	found.until = now.Add(keep)
	m.known[question] = found
}

func (m *memory[T]) forget(question string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, question)
}
