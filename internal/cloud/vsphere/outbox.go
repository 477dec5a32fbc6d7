package vsphere

import (
	"context"
	"sync"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// outbox holds each key once until it is taken, so that the watch never waits for the reader of the keys.
type outbox struct {
	mu     sync.Mutex
	keys   map[cloud.Key]bool
	filled chan struct{}
	closed bool
}

// deliver sends the keys until ctx ends, or until close was called and all keys are sent. Then the returned channel is closed.
func (o *outbox) deliver(ctx context.Context, to chan<- cloud.Key) <-chan struct{} {
	o.keys = map[cloud.Key]bool{}
	o.filled = make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			keys, closed := o.take()
			for _, k := range keys {
				select {
				case to <- k:
				case <-ctx.Done():
					return
				}
			}
			if closed {
				return
			}
			select {
			case <-o.filled:
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

func (o *outbox) take() ([]cloud.Key, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var keys []cloud.Key
	for k := range o.keys {
		keys = append(keys, k)
	}
	clear(o.keys)
	return keys, o.closed
}

func (o *outbox) add(keys ...cloud.Key) {
	o.mu.Lock()
	for _, k := range keys {
		o.keys[k] = true
	}
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.filled <- struct{}{}:
	default:
	}
}
