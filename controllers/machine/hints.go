package machine

import (
	"maps"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// How many hints about a machine are followed at once, and how often one is after that: whoever is in a guest can make hints
// without end, and each look costs a call for the credentials.
const (
	hintsAtOnce  = 10
	betweenHints = time.Second
)

// hints remembers how many hints came about each machine lately: by when they would all have come, had they come one by one.
type hints map[cloud.Key]time.Time

// wait is how long the look at a machine that a hint asks for must wait.
func (h hints) wait(key cloud.Key, now time.Time) time.Duration {
	maps.DeleteFunc(h, func(_ cloud.Key, until time.Time) bool { return !until.After(now) })
	until := h[key]
	if until.IsZero() {
		until = now
	}
	if rest := until.Sub(now) - (hintsAtOnce-1)*betweenHints; rest > 0 {
		return rest // later hints ask for the same look
	}
	h[key] = until.Add(betweenHints)
	return 0
}
