package fake

import (
	"cmp"
	"context"
	"errors"
	"path"
	"sync"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// watch is a running Watch.
type watch struct {
	mu      sync.Mutex
	keys    map[cloud.Key]bool
	filled  chan struct{}
	broken  chan struct{}
	breaker sync.Once
}

func (w *watch) cut() { w.breaker.Do(func() { close(w.broken) }) }

func (w *watch) add(keys ...cloud.Key) {
	w.mu.Lock()
	for _, k := range keys {
		w.keys[k] = true
	}
	w.mu.Unlock()
	select {
	case w.filled <- struct{}{}:
	default:
	}
}

// take returns one key, if there is one.
func (w *watch) take() (cloud.Key, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.keys {
		delete(w.keys, k)
		return k, true
	}
	return cloud.Key{}, false
}

// Watch sends the keys of all VMs first, and then of those that change.
func (a *account) Watch(ctx context.Context, changed chan<- cloud.Key) error {
	w := &watch{keys: map[cloud.Key]bool{}, filled: make(chan struct{}, 1), broken: make(chan struct{})}
	if err := a.begin(w); err != nil {
		return err
	}
	defer a.end(w)
	for {
		out := changed
		key, ok := w.take()
		if !ok {
			out = nil
		}
		select {
		case out <- key:
		case <-w.filled:
			if ok {
				w.add(key)
			}
		case <-w.broken:
			return away(errors.New("the connection broke"))
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *account) begin(w *watch) error {
	defer a.world.mu.Unlock()
	if err := a.enter("watch"); err != nil {
		return err
	}
	if a.world.watches == nil {
		a.world.watches = map[*watch]*account{}
	}
	a.world.watches[w] = a
	a.watches++
	for _, vm := range a.world.vms {
		w.add(vm.Owner)
	}
	return nil
}

func (a *account) end(w *watch) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	delete(a.world.watches, w)
	a.watches--
}

// Health knows what the world does: the account is well unless the world is away.
func (a *account) Health() cloud.Health {
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	h := cloud.Health{Server: cmp.Or(a.server, "first"), Synced: a.watches > 0, Broken: w.away != nil, Heard: a.heard}
	if w.sessions[a] {
		h.Sessions = 1
	}
	return h
}

// Marked is what a Watch has told: VMs on this server.
func (a *account) Marked() (all []cloud.Marked, known bool) {
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.watches == 0 {
		return nil, false
	}
	for name, vm := range w.vms {
		if vm.ProviderID != "" && vm.ID == vm.ProviderID && name == a.at(path.Base(name)) {
			all = append(all, cloud.Marked{Name: path.Base(name), Key: vm.Owner, ProviderID: vm.ProviderID, Cluster: vm.Cluster})
		}
	}
	return all, true
}

// Close ends the session for good.
func (a *account) Close(context.Context) error {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	a.closed = true
	delete(a.world.sessions, a)
	return nil
}
