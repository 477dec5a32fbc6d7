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

// place is where a page is read and decoded.
type place struct {
	places    *turns.Places
	namespace string
	entered   func() // gives it back; nil if it was not entered
}

func (b *Bounds) place(chosen bool, namespace string) *place {
	places := &b.named
	if chosen {
		places = &b.chosen
	}
	return &place{places: places, namespace: namespace}
}

// enter waits for the place, once the page is about to come: an endpoint that does not answer holds none.
func (p *place) enter(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	leave, err := p.places.Enter(ctx, p.namespace)
	if err != nil {
		return cloud.LaterIn(time.Second, "waiting for lists of other machines")
	}
	p.entered = leave
	return nil
}

func (p *place) leave() {
	if p.entered != nil {
		p.entered()
	}
}
