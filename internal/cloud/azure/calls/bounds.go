package calls

import (
	"context"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
	"github.com/capwin/cluster-api-provider-windows/internal/turns"
)

const (
	// maxPagesUnderWay is how many bytes of pages may be under way at clouds that we, or the operator, name. Whoever chooses an
	// endpoint can have a page take its time, so that those at such endpoints have atChosen places of their own.
	maxPagesUnderWay = 64 << 20
	atChosen         = 2
	// pageTime is how long a page that has a place may come.
	pageTime = 10 * time.Second
)

// Bounds are those of the lists of all accounts.
type Bounds struct {
	// Kept is what is kept of the lists, by the namespaces of the machines that they are for.
	Kept          *tenants.Bytes
	named, chosen turns.Places

	mu      sync.Mutex
	listing map[string]bool // namespaces with a list under way at an endpoint that a Secret chose
}

// NewBounds returns those of a process, which counts what is kept.
func NewBounds(kept *tenants.Bytes) *Bounds {
	return &Bounds{
		Kept:  kept,
		named: turns.Places{Count: maxPagesUnderWay / maxPage}, chosen: turns.Places{Count: atChosen}, listing: map[string]bool{},
	}
}

// beginList lets a namespace have one list at a time at endpoints that Secrets chose. No worker waits for its turn.
func (b *Bounds) beginList(namespace string) (end func(), err *cloud.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listing[namespace] {
		return nil, cloud.LaterIn(time.Second, "waiting for another list of the namespace's machines")
	}
	b.listing[namespace] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listing, namespace)
	}, nil
}

// enter waits for the place where a page is read and decoded, once it is about to come: an endpoint that does not answer holds
// none.
func (b *Bounds) enter(ctx context.Context, chosen bool, namespace string) (leave func(), err error) {
	places := &b.named
	if chosen {
		places = &b.chosen
	}
	if leave, err = places.Enter(ctx, namespace); err != nil {
		return func() {}, cloud.LaterIn(time.Second, "waiting for lists of other machines")
	}
	return leave, nil
}

// Held is what is kept of one list for a namespace.
type Held struct {
	Namespace string
	Kept      *tenants.Bytes // nil counts nothing

	mu    sync.Mutex
	bytes int
	ended bool
}

// Hold notes how many bytes are kept now, for which room was taken.
func (h *Held) Hold(bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Give(h.bytes)
	if h.bytes = bytes; h.ended {
		h.Give(bytes)
		h.bytes = 0
	}
}

// End gives back what is kept. Of what comes later nothing is kept.
func (h *Held) End() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.Hold(0)
}

// take takes room for more, beside what the list will replace.
func (h *Held) take(bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Kept.Take(h.Namespace, bytes, h.bytes)
}

// Grow keeps more, or returns false if there is no room for it.
func (h *Held) Grow(bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || !h.Kept.Take(h.Namespace, bytes, 0) {
		return false
	}
	h.bytes += bytes
	return true
}

// Give gives back room that was taken for what is not kept after all.
func (h *Held) Give(bytes int) { h.Kept.Give(h.Namespace, bytes) }
