// Package lists remembers what the lists of an account have shown: of each resource group the VMs, their addresses and what
// deletions left, and of each subscription which VMs run. It calls nothing and has no clock: its callers hand in the answers and
// the time.
//
// Lists lag. What they show is evidence of what is there, and never that something is not there. Scope and Powers lock
// themselves; callers that need several facts at once read them through Do.
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

// Lists are the scopes of an account. The first call for a group adds its scope.
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

// Do calls use, which reads and changes the value while no other goroutine does. What use calls must not need the same value.
func (g *guarded[T]) Do(use func(*T)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	use(&g.value)
}

// Key is the key of a machine's scope; empty if the text is no providerID of Azure's.
func Key(providerID string) string {
	id, ok := arm.ReadProviderID(providerID)
	if !ok {
		return ""
	}
	return id.Parent().Key()
}

// Scope is that of a resource group. The first call adds it.
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
		l.powers[subscription].askAgain() // the VMs of the last list in other groups were not kept
		l.scopes[group.Key()] = newScope(Place{group, group.Key(), l.powers[subscription]})
	}
	return l.scopes[group.Key()]
}

func (l *Lists) find(key string) *Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scopes[key]
}

// HasVM reports whether a list shows a VM of the machine's name.
func (l *Lists) HasVM(m cloud.Machine) (found bool) {
	s := l.find(Key(m.ProviderID))
	if s == nil {
		return false
	}
	s.Do(func(state *State) { _, found = state.VMs[strings.ToLower(m.Name)] })
	return found
}

// AllScopes are the scopes in the order of their keys.
func (l *Lists) AllScopes() []*Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	var scopes []*Scope
	for _, key := range slices.Sorted(maps.Keys(l.scopes)) {
		scopes = append(scopes, l.scopes[key])
	}
	return scopes
}

// AllPowers are those of all subscriptions.
func (l *Lists) AllPowers() []*Powers {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.powers))
}

// Changed returns the keys of the machines whose VMs have other power states now. It forgets states of VMs that no list has.
func (l *Lists) Changed(p *Powers, changed map[string]bool, keysOf KeysOf) (keys []cloud.Key) {
	seen, listed := map[string]bool{}, true
	for _, s := range l.AllScopes() {
		s.Do(func(state *State) {
			listed = listed && !state.Listed.IsZero()
			for _, r := range state.VMs {
				seen[r.Key] = true
				if s.Power == p && changed[r.Key] {
					keys = append(keys, keysOf(r)...)
				}
			}
		})
	}
	p.Do(func(state *PowerState) {
		maps.DeleteFunc(state.States, func(key string, _ next.Power) bool { return listed && !seen[key] })
	})
	return keys
}

// KeysOf returns the keys of the machines to wake when a VM changes.
type KeysOf func(Record) []cloud.Key
