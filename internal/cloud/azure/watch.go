package azure

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
)

// How often the lists are asked for: while a machine's VM is expected to change, and otherwise. Each pause is a tenth longer or
// shorter, so that accounts do not ask in step.
const (
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
	defer a.restart()
	a.restart()
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

// restart makes the watch report all scopes anew.
func (a *account) restart() {
	for _, s := range a.lists.AllScopes() {
		s.Restart()
	}
}

// poll asks for the lists that are due, and wakes the machines for which a second look may prove something. A list that fails
// changes nothing; the next good one wakes all of its machines.
func (a *account) poll(ctx context.Context) (keys []cloud.Key) {
	for _, s := range a.lists.AllScopes() {
		keys = append(keys, a.pollVMs(ctx, s)...)
	}
	for _, p := range a.lists.AllPowers() {
		keys = append(keys, a.pollPowers(ctx, p)...)
	}
	for _, s := range a.lists.AllScopes() {
		keys = append(keys, a.pollRest(ctx, s)...)
	}
	return append(keys, a.ledger.toLook(a.now())...)
}

func (a *account) pollVMs(ctx context.Context, s *lists.Scope) []cloud.Key {
	if !a.due(s, lists.VMs, idleList) {
		return nil
	}
	var keys []cloud.Key
	if !s.IsReportable(a.now()) {
		var err error
		if keys, err = a.listVMs(ctx, s); err != nil {
			a.postpone(s, lists.VMs, err)
			return nil
		}
	}
	if s.Report() {
		keys = append(s.Machines(a.keysOf, lists.IsListed), a.ledger.keys(s.Key)...)
	}
	return keys
}

func (a *account) pollPowers(ctx context.Context, p *lists.Powers) []cloud.Key {
	busy, scopes := false, a.lists.AllScopes()
	for _, s := range scopes {
		busy = busy || s.Power == p && a.busy(s)
	}
	if !p.IsDue(a.now(), pause(busy, lists.IdlePowers), busy) {
		return nil
	}
	keys, err := a.listPowers(ctx, p) // without it, power is unknown or as before
	if cloud.IsLater(err) {
		pause, _ := pauseOf(err)
		p.Postpone(a.now().Add(pause))
		return nil
	}
	for _, s := range scopes {
		s.Do(func(state *lists.State) { state.Powered = state.Powered || s.Power == p })
	}
	return keys
}

// pollRest sweeps, which shows all addresses, and asks for addresses that are still not known.
func (a *account) pollRest(ctx context.Context, s *lists.Scope) (keys []cloud.Key) {
	if a.due(s, lists.Remnants, 0) {
		changed, err := a.listRemnants(ctx, s)
		keys = append(keys, changed...)
		switch {
		case err != nil:
			a.postpone(s, lists.Remnants, err)
		case s.HasRemnants():
			_ = a.sweep(ctx, s) // tried again
		}
	}
	if len(s.Machines(a.keysOf, lists.LacksAddress)) > 0 && a.due(s, lists.Addresses, lists.WhileBusy) {
		changed, err := a.listAddresses(ctx, s)
		keys = append(keys, changed...)
		if err != nil { // asked for again
			a.postpone(s, lists.Addresses, err)
		}
	}
	return keys
}

// due reports whether a list is due, and sets when it is due again. No idle pause means a sweep.
func (a *account) due(s *lists.Scope, list lists.List, idle time.Duration) bool {
	busy := idle != 0 && a.busy(s)
	if idle == 0 {
		idle = sweepEvery
	}
	return s.IsDue(list, a.now(), pause(busy, idle), busy)
}

// postpone makes a list that must wait for its turn due as soon as the limiter lets us.
func (a *account) postpone(s *lists.Scope, list lists.List, err error) {
	if pause, waits := pauseOf(err); waits {
		s.Postpone(list, a.now().Add(pause))
	}
}

// pauseOf is how long a caller waits whom the limiter does not let ask now.
func pauseOf(err error) (pause time.Duration, waits bool) {
	e, ok := errors.AsType[*cloud.Error](err)
	if !ok || e.Kind != cloud.Later {
		return 0, false
	}
	return e.After, true
}

func (a *account) busy(s *lists.Scope) bool {
	return len(s.Machines(a.keysOf, lists.Changes)) > 0 || a.ledger.busy(s.Key, a.now())
}

func pause(busy bool, idle time.Duration) time.Duration {
	if busy {
		idle = lists.WhileBusy
	}
	return time.Duration(float64(idle) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // jitter is no secret
}

// synced reports whether the watch has reported all VMs of all scopes.
func (a *account) synced() bool {
	scopes := a.lists.AllScopes()
	for _, s := range scopes {
		if !s.IsReported() {
			return false
		}
	}
	return a.watching.Load() && len(scopes) > 0
}

// Marked returns the VMs with our marks that the lists have, and what VMs left.
func (a *account) Marked() (marks []cloud.Marked, synced bool) {
	for _, s := range a.lists.AllScopes() {
		marks = append(marks, s.Marked(a.now())...)
	}
	return marks, a.synced()
}
