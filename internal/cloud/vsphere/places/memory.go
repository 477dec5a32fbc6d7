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
	enter    func(context.Context) error // a caller that waits for another's search is one of the account's few, too

	mu      sync.Mutex
	answers map[string]answer[T]
}

type answer[T any] struct {
	value  T
	err    error
	expiry time.Time
}

// ask returns what is known, or else what search finds. The search goes on without a caller that leaves.
func (m *memory[T]) ask(
	ctx context.Context, now func() time.Time, question string, search func(context.Context) (T, error),
) (T, error) {
	if cached, ok := m.get(question, now()); ok {
		return cached.value, cached.err
	}
	if err := m.enter(ctx); err != nil {
		return answer[T]{}.value, err
	}
	result := m.searches.DoChan(question, func() (any, error) {
		if cached, ok := m.get(question, now()); ok { // another search ended in between
			return cached, nil
		}
		value, err := search(context.WithoutCancel(ctx))
		found := answer[T]{value: value, err: err}
		m.put(question, found, now())
		return found, nil
	})
	select {
	case <-ctx.Done():
		return answer[T]{}.value, session.Classify(ctx.Err())
	case r := <-result:
		found, _ := r.Val.(answer[T])
		return found.value, found.err
	}
}

func (m *memory[T]) get(question string, now time.Time) (answer[T], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cached := m.answers[question]
	return cached, now.Before(cached.expiry)
}

// put keeps an answer, unless it is an error that does not answer the question.
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
	for old, cached := range m.answers {
		if !now.Before(cached.expiry) {
			delete(m.answers, old)
		}
	}
	if m.answers == nil {
		m.answers = map[string]answer[T]{}
	}
	found.expiry = now.Add(keep)
	m.answers[question] = found
}

func (m *memory[T]) forget(question string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.answers, question)
}
