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
type hints struct {
	until map[cloud.Key]time.Time
	// swept is when machines were last forgotten. An account may name any number of them in a moment.
	swept time.Time
}

// wait is how long the look at a machine that a hint asks for must wait.
func (h *hints) wait(key cloud.Key, now time.Time) time.Duration {
	h.sweep(now)
	until := h.until[key]
	if until.Before(now) {
		until = now
	}
	if rest := until.Sub(now) - (hintsAtOnce-1)*betweenHints; rest > 0 {
		return rest // later hints ask for the same look
	}
	h.until[key] = until.Add(betweenHints)
	return 0
}

func (h *hints) sweep(now time.Time) {
	if h.until == nil {
		h.until = map[cloud.Key]time.Time{}
	}
	if now.Sub(h.swept) >= betweenHints {
		maps.DeleteFunc(h.until, func(_ cloud.Key, until time.Time) bool { return !until.After(now) })
		h.swept = now
	}
}
