package places

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"

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
	answers  *cache.Expiring
}

type answer[T any] struct {
	value T
	err   error
}

// ask returns what is known, or else what search finds. The search goes on without a caller that leaves.
func (m *memory[T]) ask(ctx context.Context, question string, search func(context.Context) (T, error)) (T, error) {
	if known, ok := m.answers.Get(question); ok {
		found, _ := known.(answer[T])
		return found.value, found.err
	}
	if err := m.enter(ctx); err != nil {
		return *new(T), err
	}
	result := m.searches.DoChan(question, func() (any, error) {
		if known, ok := m.answers.Get(question); ok { // another search ended in between
			return known, nil
		}
		value, err := search(context.WithoutCancel(ctx))
		found := answer[T]{value, err}
		switch { // an error that does not answer the question is not kept
		case err == nil:
			m.answers.Set(question, found, keepPlaces)
		case isMissing(err):
			m.answers.Set(question, found, keepAbsent)
		}
		return found, nil
	})
	select {
	case <-ctx.Done():
		return *new(T), session.Classify(ctx.Err())
	case r := <-result:
		found, _ := r.Val.(answer[T])
		return found.value, found.err
	}
}
