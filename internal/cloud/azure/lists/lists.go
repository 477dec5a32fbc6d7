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
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/tenants"
)

// Lists are the scopes of an account. The first call for a group adds its scope.
type Lists struct {
	// Kept is what is kept of the lists of all accounts, if that is counted. It is set before use.
	Kept *tenants.Bytes

	mu     sync.Mutex
	scopes map[string]*Scope
	powers map[string]*Powers
	used   map[string]time.Time // when a machine last came for each scope
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

// User is a machine that comes for the scope of its group.
type User struct {
	Namespace string
	// Holds is true if it may have a VM, or is deleted.
	Holds bool
	// Limits are what its namespace may have, and Notices get what it has when that grows.
	Limits  tenants.Limits
	Notices *tenants.Notices
	// Busy reports whether machines of a scope are still looked after.
	Busy    func(scope string) bool
	Instant time.Time
}

// HasRoom reports whether the user's namespace may have one more of a kind than it has.
func (u User) HasRoom(kind tenants.Kind, count int, forVM bool) bool {
	return count < u.Limits.Bound(u.Namespace, kind, forVM)
}

// Enter is the scope of a machine's group, which its namespace adds if it may have one more. Machines that may have a VM, or are
// deleted, find more room than new ones. Groups that no machine uses any more make room.
func (l *Lists) Enter(group arm.ID, user User) (*Scope, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	grows := l.scopes[group.Key()] == nil
	if grows && !user.HasRoom(tenants.Groups, l.count(user.Namespace), false) {
		l.forget(user)
		if !user.HasRoom(tenants.Groups, l.count(user.Namespace), user.Holds) {
			return nil, false
		}
	}
	s := l.scope(group, user.Namespace)
	if grows {
		user.Notices.Counted(user.Namespace, tenants.Groups, l.count(user.Namespace), user.Instant)
	}
	l.used[s.Key] = user.Instant
	return s, true
}

// count is how many scopes a namespace has added.
func (l *Lists) count(namespace string) (count int) {
	for _, s := range l.scopes {
		if s.Namespace == namespace {
			count++
		}
	}
	return count
}

// UsedFor is longer than a machine that is looked after stays away from a scope, which passes sooner without one.
const (
	UsedFor   = 30 * time.Minute
	PassedFor = time.Minute
)

// forget forgets the scopes of a namespace that no machine uses.
func (l *Lists) forget(user User) {
	for key, s := range l.scopes {
		idle := user.Instant.Sub(l.used[key])
		if s.Namespace == user.Namespace && (idle >= UsedFor || idle >= PassedFor && !user.Busy(key)) {
			s.forget()
			delete(l.scopes, key)
			delete(l.used, key)
		}
	}
	maps.DeleteFunc(l.powers, func(_ string, p *Powers) bool {
		used := slices.ContainsFunc(slices.Collect(maps.Values(l.scopes)), func(s *Scope) bool { return s.Power == p })
		if !used {
			p.Held.End()
		}
		return !used
	})
}

// Scope is that of a resource group, whichever namespace its machines are in. The first call adds it.
func (l *Lists) Scope(group arm.ID) *Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scope(group, "")
}

func (l *Lists) scope(group arm.ID, namespace string) *Scope {
	if l.scopes == nil {
		l.scopes, l.powers, l.used = map[string]*Scope{}, map[string]*Powers{}, map[string]time.Time{}
	}
	subscription := strings.ToLower(group.Subscription)
	if l.powers[subscription] == nil {
		l.powers[subscription] = &Powers{
			Subscription: subscription, Held: &calls.Held{Namespace: namespace, Kept: l.Kept},
			guarded: guarded[PowerState]{value: PowerState{States: map[string]next.Power{}}},
		}
	}
	if l.scopes[group.Key()] == nil {
		l.powers[subscription].Postpone(time.Time{}) // the VMs of the last list in other groups were not kept
		place := Place{Group: group, Key: group.Key(), Namespace: namespace, Power: l.powers[subscription]}
		l.scopes[group.Key()] = newScope(place, l.Kept)
	}
	return l.scopes[group.Key()]
}

// Close gives back what all scopes keep.
func (l *Lists) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.scopes {
		s.forget()
	}
	for _, p := range l.powers {
		p.Held.End()
	}
	l.scopes = nil
}

// HasVM reports whether a list shows a VM of the machine's name.
func (l *Lists) HasVM(m cloud.Machine) (found bool) {
	l.mu.Lock()
	s := l.scopes[Key(m.ProviderID)]
	l.mu.Unlock()
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
