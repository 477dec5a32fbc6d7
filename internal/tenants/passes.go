package tenants

import (
	"sync"
	"time"
)

// Passes run functions for namespaces. A namespace runs as many at a time as it may have of a kind; the rest of its functions
// wait for these, in the order in which they came.
type Passes struct {
	Kind    Kind
	Limits  Limits
	Notices *Notices

	mu         sync.Mutex
	closed     bool
	running    sync.WaitGroup
	namespaces map[string]*queue
}

// queue is that of a namespace: how many functions run, and those that wait.
type queue struct {
	count   int
	waiting []func()
}

// Go runs a function, now or when it is its turn. After Close, none begins.
func (p *Passes) Go(namespace string, pass func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.namespaces == nil {
		p.namespaces = map[string]*queue{}
	}
	q := p.namespaces[namespace]
	if q == nil {
		q = &queue{}
		p.namespaces[namespace] = q
	}
	if q.count >= p.Limits.Allowed(namespace, p.Kind) {
		q.waiting = append(q.waiting, pass)
		return
	}
	q.count++
	p.Notices.Counted(namespace, p.Kind, q.count, time.Now())
	p.running.Go(func() {
		for ; pass != nil; pass = p.next(namespace) {
			pass()
		}
	})
}

// next is the function whose turn it is; nil if none waits.
func (p *Passes) next(namespace string) (pass func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.namespaces[namespace]
	if len(q.waiting) > 0 && !p.closed {
		pass, q.waiting = q.waiting[0], q.waiting[1:]
		return pass
	}
	if q.count--; q.count == 0 {
		delete(p.namespaces, namespace)
	}
	return nil
}

// Close waits for the functions that run.
func (p *Passes) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.running.Wait()
}
