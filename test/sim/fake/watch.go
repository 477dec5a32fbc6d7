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
	add     func(...cloud.Key)
	broken  chan struct{}
	breaker sync.Once
}

func (w *watch) cut() { w.breaker.Do(func() { close(w.broken) }) }

// Watch sends the keys of all VMs first, and then of those that change.
func (a *account) Watch(ctx context.Context, changed func(...cloud.Key)) error {
	w := &watch{add: changed, broken: make(chan struct{})}
	if err := a.begin(w); err != nil {
		return err
	}
	defer a.end(w)
	select {
	case <-w.broken:
		return away(errors.New("the connection broke"))
	case <-ctx.Done():
		return nil
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
