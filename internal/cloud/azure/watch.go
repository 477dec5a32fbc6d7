package azure

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// How often the lists are asked for: while a machine's VM is expected to change, and otherwise. Each pause is a tenth longer or
// shorter, so that accounts do not ask in step.
const (
	whileBusy  = 15 * time.Second
	idlePowers = time.Minute
	idleList   = 2 * time.Minute
	sweepEvery = 10 * time.Minute
)

// everySecond is when the watch looks at what is due.
func everySecond() (<-chan time.Time, func()) {
	t := time.NewTicker(time.Second)
	return t.C, t.Stop
}

// Watch lists what is due, and sends the keys of the machines whose VMs changed.
func (a *account) Watch(ctx context.Context, changed func(...cloud.Key)) error {
	if !a.watching.CompareAndSwap(false, true) {
		return cloud.Errorf(cloud.Transient, infrav1.CloudUnreachableReason, "the account is already being watched")
	}
	defer a.watching.Store(false)
	defer a.untold()
	a.untold()
	ticks, stop := a.ticks()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
			changed(a.poll(ctx)...)
		}
	}
}

// untold says that the watch has told of no scope.
func (a *account) untold() {
	for _, s := range a.lists.all() {
		s.mu.Lock()
		s.told = false
		s.mu.Unlock()
	}
}

// poll asks for the lists that are due, and wakes whom a second look may prove something. A list that fails changes nothing; the
// next good one wakes all of its machines.
func (a *account) poll(ctx context.Context) (keys []cloud.Key) {
	for _, s := range a.lists.all() {
		keys = append(keys, a.pollVMs(ctx, s)...)
	}
	for _, p := range a.lists.allPowers() {
		keys = append(keys, a.pollPowers(ctx, p)...)
	}
	for _, s := range a.lists.all() {
		keys = append(keys, a.pollRest(ctx, s)...)
	}
	return append(keys, a.ledger.toLook(a.now())...)
}

func (a *account) pollVMs(ctx context.Context, s *scope) []cloud.Key {
	if !a.due(s, &s.vmsDue, idleList) {
		return nil
	}
	var keys []cloud.Key
	if !s.tellable(a.now()) {
		var err error
		keys, err = a.listVMs(ctx, s)
		a.postpone(&s.mu, &s.vmsDue, err)
		if err != nil {
			return nil
		}
	}
	s.mu.Lock()
	all := !s.told || s.failed
	s.told, s.failed = true, false
	s.mu.Unlock()
	if all {
		keys = append(a.known(s), a.ledger.keys(s.key)...)
	}
	return keys
}

// tellable says that the list which the first machine asked for is good enough to tell of all VMs.
func (s *scope) tellable(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.told && !s.failed && !s.listed.IsZero() && now.Sub(s.listed) < idlePowers
}

func (a *account) pollPowers(ctx context.Context, p *powers) []cloud.Key {
	busy, scopes := false, a.lists.all()
	for _, s := range scopes {
		busy = busy || s.power == p && a.busy(s)
	}
	now := a.now()
	p.mu.Lock()
	due := !now.Before(p.due)
	if due {
		p.due = now.Add(pause(busy, idlePowers))
	}
	p.mu.Unlock()
	if !due {
		return nil
	}
	keys, err := a.listPowers(ctx, p) // without it, power is unknown or as before
	a.postpone(&p.mu, &p.due, err)
	if _, waits := asLater(err); waits {
		return nil
	}
	for _, s := range scopes {
		s.mu.Lock()
		s.powered = s.powered || s.power == p
		s.mu.Unlock()
	}
	return keys
}

// pollRest sweeps, which shows all addresses, and asks for addresses that are still not known.
func (a *account) pollRest(ctx context.Context, s *scope) (keys []cloud.Key) {
	if a.due(s, &s.sweepDue, 0) {
		more, err := a.listRemnants(ctx, s)
		keys = append(keys, more...)
		a.postpone(&s.mu, &s.sweepDue, err)
		if err == nil {
			_ = a.sweep(ctx, s) // tried again
		}
	}
	if a.lacksAddress(s) && a.due(s, &s.addressesDue, whileBusy) {
		more, err := a.listAddresses(ctx, s) // asked for again
		a.postpone(&s.mu, &s.addressesDue, err)
		keys = append(keys, more...)
	}
	return keys
}

// due says whether a list is due, and when it will be again. No idle pause means a sweep.
func (a *account) due(s *scope, at *time.Time, idle time.Duration) bool {
	busy, now := idle != 0 && a.busy(s), a.now()
	if idle == 0 {
		idle = sweepEvery
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if busy && at.After(now.Add(2*whileBusy)) {
		*at = now
	}
	if now.Before(*at) {
		return false
	}
	*at = now.Add(pause(busy, idle))
	return true
}

// postpone has a list that must wait for its turn asked for as soon as the limiter lets us.
func (a *account) postpone(mu *sync.Mutex, at *time.Time, err error) {
	if e, ok := asLater(err); ok {
		mu.Lock()
		defer mu.Unlock()
		*at = a.now().Add(e.After)
	}
}

func (a *account) busy(s *scope) bool { return a.changes(s) || a.ledger.busy(s.key, a.now()) }

func pause(busy bool, idle time.Duration) time.Duration {
	if busy {
		idle = whileBusy
	}
	return time.Duration(float64(idle) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // jitter is no secret
}

// synced says that the watch has told of all VMs of all scopes.
func (a *account) synced() bool {
	all := a.lists.all()
	for _, s := range all {
		s.mu.Lock()
		told := s.told
		s.mu.Unlock()
		if !told {
			return false
		}
	}
	return a.watching.Load() && len(all) > 0
}

// Marked returns the VMs with our marks that the lists have, and what VMs left.
func (a *account) Marked() (all []cloud.Marked, known bool) {
	for _, s := range a.lists.all() {
		s.mu.Lock()
		for _, r := range s.vms {
			if r.original {
				all = append(all, r.mark)
			}
		}
		all = append(all, s.marked(a.now())...)
		s.mu.Unlock()
	}
	return all, a.synced()
}
