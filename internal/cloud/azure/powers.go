package azure

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// powers are the power states of a subscription, by the VM's key.
type powers struct {
	subscription string

	mu  sync.Mutex
	of  map[string]next.Power
	due time.Time
	// began is when the list was last asked for.
	began time.Time
	names namesakes
	// heard is when the list last succeeded, and refused says that the identity lacks the right to it.
	heard   time.Time
	refused *cloud.Error
}

func (p *powers) refusal() *cloud.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

func (p *powers) askAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = time.Time{}
}

func (p *powers) get(key string) next.Power {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[key]
}

// listPowers lists the power states of a subscription, and returns the keys of the machines whose VMs changed. A VM that the list
// lacks keeps its state until that of VMs lacks it, too.
func (a *account) listPowers(ctx context.Context, p *powers) ([]cloud.Key, error) {
	p.mu.Lock()
	p.began = a.now()
	p.mu.Unlock()
	vms, answer := a.calls.listStatus(ctx, p.subscription)
	if answer.verdict != nil {
		if answer.verdict.Lacks != "" {
			p.mu.Lock()
			p.refused = answer.verdict.Error
			p.mu.Unlock()
		}
		return nil, answer.err()
	}
	changed, wanted := map[string]bool{}, a.ledger.names()
	p.mu.Lock()
	p.heard, p.refused, p.names = a.now(), nil, namesakes{of: map[string][]arm.ID{}, listed: answer.began}
	for _, vm := range vms {
		id, ok := arm.Parse(vm.ID)
		if ok {
			p.names.take(id, wanted)
		}
		if !ok || vm.Properties == nil || vm.Properties.InstanceView == nil {
			continue
		}
		key := id.Key()
		if power := powerOf(vm.Properties.InstanceView.Statuses); p.of[key] != power {
			p.of[key] = power
			changed[key] = true
		}
	}
	p.mu.Unlock()
	var keys []cloud.Key
	known, all := map[string]bool{}, true
	for _, s := range a.lists.all() {
		s.mu.Lock()
		all = all && !s.listed.IsZero()
		for _, r := range s.vms {
			known[r.key] = true
			if s.power == p && changed[r.key] {
				keys = append(keys, a.keysOf(r)...)
			}
		}
		s.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.of, func(key string, _ next.Power) bool { return all && !known[key] })
	return keys, nil
}
