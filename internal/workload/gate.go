package workload

import (
	"context"
	"time"
)

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
