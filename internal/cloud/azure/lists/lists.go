// Package lists remembers what the lists of an account have shown: of each resource group the VMs, their addresses and what
// deletions left, and of each subscription which VMs run. It asks Azure for nothing and has no clock: whoever lists hands in the
// answers and the time.
//
// Lists lag. What they show is evidence of what is there, and never that something is not there. Scope and Powers lock
// themselves; who needs several facts at once has them through Do.
package lists

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// Lists are the scopes of an account: it learns them from the calls that it gets.
type Lists struct {
	mu     sync.Mutex
	scopes map[string]*Scope
	powers map[string]*Powers
}

// guarded is a value for one goroutine at a time.
type guarded[T any] struct {
	mu    sync.Mutex
	value T
}

// Do has use read and change the value, while no other goroutine does. What use calls must not need the same value.
func (g *guarded[T]) Do(use func(*T)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	use(&g.value)
}

// Key is the key of a machine's scope; empty for what is no providerID of Azure's.
func Key(providerID string) string {
	id, ok := arm.ReadProviderID(providerID)
	if !ok {
		return ""
	}
	return id.Parent().Key()
}

// Scope is that of a resource group. The first who asks makes it known.
func (l *Lists) Scope(group arm.ID) *Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.scopes == nil {
		l.scopes, l.powers = map[string]*Scope{}, map[string]*Powers{}
	}
	subscription := strings.ToLower(group.Subscription)
	if l.powers[subscription] == nil {
		l.powers[subscription] = newPowers(subscription)
	}
	if l.scopes[group.Key()] == nil {
		l.powers[subscription].askAgain() // what the last list said of VMs in other groups was not kept
		l.scopes[group.Key()] = newScope(Where{group, group.Key(), l.powers[subscription]})
	}
	return l.scopes[group.Key()]
}

func (l *Lists) find(key string) *Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scopes[key]
}

// Has says that a list shows a VM of the machine's name.
func (l *Lists) Has(m cloud.Machine) (there bool) {
	s := l.find(Key(m.ProviderID))
	if s == nil {
		return false
	}
	s.Do(func(state *State) { _, there = state.VMs[strings.ToLower(m.Name)] })
	return there
}

// All are the scopes in order.
func (l *Lists) All() []*Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Scope
	for _, key := range slices.Sorted(maps.Keys(l.scopes)) {
		all = append(all, l.scopes[key])
	}
	return all
}

// AllPowers are those of all subscriptions.
func (l *Lists) AllPowers() []*Powers {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.powers))
}

// Changed are the keys of the machines whose VMs have other power states now. States of VMs that no list has are forgotten.
func (l *Lists) Changed(p *Powers, changed map[string]bool, keysOf KeysOf) (keys []cloud.Key) {
	known, listed := map[string]bool{}, true
	for _, s := range l.All() {
		s.Do(func(state *State) {
			listed = listed && !state.Listed.IsZero()
			for _, r := range state.VMs {
				known[r.Key] = true
				if s.Power == p && changed[r.Key] {
					keys = append(keys, keysOf(r)...)
				}
			}
		})
	}
	p.Do(func(state *PowerState) {
		maps.DeleteFunc(state.Of, func(key string, _ next.Power) bool { return listed && !known[key] })
	})
	return keys
}

// KeysOf are the keys of the machines that are to be woken when a VM changes.
type KeysOf func(Record) []cloud.Key
