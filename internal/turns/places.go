package turns

import (
	"context"
	"sync"
)

// Places are taken by so many at a time. Those that wait get theirs by turns of their namespaces.
type Places struct {
	// Count is how many there are.
	Count int

	mu      sync.Mutex
	taken   int
	waiting Queue[*waiter]
}

// waiter waits for a place. The lock of the places guards left.
type waiter struct {
	namespace string
	entered   chan struct{}
	left      bool
}

// Enter waits for a place, until the context ends. leave gives it back, once.
func (p *Places) Enter(ctx context.Context, namespace string) (leave func(), err error) {
	w := p.queue(namespace)
	select {
	case <-w.entered:
		return sync.OnceFunc(p.pass), nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	w.left = true
	p.mu.Unlock()
	select {
	case <-w.entered: // it got the place meanwhile
		p.pass()
	default:
	}
	return nil, ctx.Err()
}

// queue takes a place if one is free, and a turn otherwise.
func (p *Places) queue(namespace string) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{namespace: namespace, entered: make(chan struct{})}
	if p.taken < p.Count {
		p.taken++
		close(w.entered)
		return w
	}
	p.waiting.Namespace = func(w *waiter) string { return w.namespace }
	p.waiting.Push(w)
	return w
}

// pass hands a place to the next one that still waits for it.
func (p *Places) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.waiting.Len() > 0 {
		if w := p.waiting.Pop(); !w.left {
			close(w.entered)
			return
		}
	}
	p.taken--
}
