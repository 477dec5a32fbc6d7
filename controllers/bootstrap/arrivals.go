package bootstrap

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// arrival is how long a WindowsMachine may take to have its identity, once Cluster API has given the config its owner.
const arrival = 5 * time.Second

// arrivals are the instants at which configs that waited for their owner were first seen with one.
type arrivals struct {
	mu     sync.Mutex
	firsts map[types.UID]time.Time
}

// rest is how much longer the identity of a config's machine may take.
func (a *arrivals) rest(config types.UID, instant time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.firsts, func(_ types.UID, first time.Time) bool { return instant.Sub(first) > 2*arrival })
	if a.firsts == nil {
		a.firsts = map[types.UID]time.Time{}
	}
	if _, ok := a.firsts[config]; !ok {
		a.firsts[config] = instant
	}
	return a.firsts[config].Add(arrival).Sub(instant)
}
