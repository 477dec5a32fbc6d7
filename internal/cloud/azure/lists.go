package azure

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// scope is a resource group with machines of ours, as the lists show it. Lists lag: they are evidence of what is there only.
type scope struct {
	group arm.ID
	key   string // of the group
	power *powers

	mu        sync.Mutex
	listing   bool
	powered   bool                // Azure has answered whether VMs run since we know the group, whatever it said
	vms       map[string]vmRecord // by name
	listed    time.Time           // when the last good list began
	missed    next.Missed         // answers that the group does not exist
	addresses map[string][]string // by the adapter's key
	sweeping  sweeping
	public    bool // public IPs of machines may be there
	remnants  map[string]remnant
	parts     map[string][]part // of VMs, by their keys
	seenWith  map[string]seenVM // machines' VMs, by the keys of what this process saw with them
	used      map[string]bool   // VMs that an adapter or disk belongs to, by name
	// When the last sweep began, and the last one whose lists were read.
	sweepBegan, swept time.Time
	// The watch: when each list is due, and whether all machines are to be woken because one failed.
	vmsDue, addressesDue, sweepDue time.Time
	failed, told                   bool
	// refused is why adapters and disks cannot be listed or removed: the identity lacks a right.
	refused map[string]*cloud.Error
}

// lists are the scopes of an account: it learns them from the calls that it gets.
type lists struct {
	mu     sync.Mutex
	scopes map[string]*scope
	powers map[string]*powers
}

// scopeOf is the key of a machine's scope; empty for what is no providerID of Azure's.
func scopeOf(providerID string) string {
	id, ok := arm.ReadProviderID(providerID)
	if !ok {
		return ""
	}
	return id.Parent().Key()
}

func (l *lists) scope(group arm.ID) *scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.scopes == nil {
		l.scopes, l.powers = map[string]*scope{}, map[string]*powers{}
	}
	subscription := strings.ToLower(group.Subscription)
	if l.powers[subscription] == nil {
		l.powers[subscription] = &powers{subscription: subscription, of: map[string]next.Power{}}
	}
	if l.scopes[group.Key()] == nil {
		l.powers[subscription].askAgain() // what the last list said of VMs in other groups was not kept
		l.scopes[group.Key()] = &scope{
			group: group, key: group.Key(), power: l.powers[subscription], vms: map[string]vmRecord{}, addresses: map[string][]string{},
			remnants: map[string]remnant{}, refused: map[string]*cloud.Error{},
		}
	}
	return l.scopes[group.Key()]
}

// awaitsPowers says that it is not known yet of any VM of the group whether it runs.
func (s *scope) awaitsPowers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.powered
}

func (s *scope) unlisted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed.IsZero()
}

// has says that a list shows a VM of the machine's name.
func (l *lists) has(m cloud.Machine) bool {
	l.mu.Lock()
	s := l.scopes[scopeOf(m.ProviderID)]
	l.mu.Unlock()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.vms[strings.ToLower(m.Name)]
	return there
}

// all are the scopes in order.
func (l *lists) all() []*scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*scope
	for _, key := range slices.Sorted(maps.Keys(l.scopes)) {
		all = append(all, l.scopes[key])
	}
	return all
}

func (l *lists) allPowers() []*powers {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.powers))
}

// listVMs lists the VMs of a scope, for all who ask, and returns the keys of those that changed. Who comes meanwhile comes later.
func (a *account) listVMs(ctx context.Context, s *scope) ([]cloud.Key, error) {
	s.mu.Lock()
	if s.listing {
		s.mu.Unlock()
		return nil, &cloud.Error{Kind: cloud.Later, Message: "waiting for Azure's list of VMs", After: time.Second}
	}
	s.listing = true
	s.mu.Unlock()
	began := a.now()
	vms, answer := a.calls.listVMs(ctx, s.group)
	if answer.effect() == fault.GroupGone {
		a.missGroup(ctx, s, began)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listing = false
	if answer.verdict != nil {
		s.failed = true
		if answer.effect() != fault.GroupGone {
			return nil, answer.err()
		}
		if s.listed.IsZero() {
			s.listed = began // a group that is not there has no VMs
		}
		return nil, nil
	}
	s.missed = next.Missed{}
	return s.take(vms, answer.began, a.keysOf), nil
}

// missGroup counts the answers that the group does not exist, those at once only once, and only while the subscription answers.
func (a *account) missGroup(ctx context.Context, s *scope, now time.Time) {
	s.mu.Lock()
	again := now.Sub(s.missed.Last) >= whileBusy // also the first time
	s.mu.Unlock()
	if !again || !a.answers(ctx, s.power, now) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = missedOnce(s.missed, now)
}

// answers says that Azure lets us in and knows the subscription.
func (a *account) answers(ctx context.Context, p *powers, now time.Time) bool {
	p.mu.Lock()
	lately := now.Sub(p.heard) < whileBusy
	p.mu.Unlock()
	return lately || a.calls.knows(ctx, p.subscription)
}

// keysOf are the keys of the machine that a VM was made for, and of the one that is known to have it: its tags may be others by
// now. A copy of the VM wakes no one.
func (a *account) keysOf(r vmRecord) (keys []cloud.Key) {
	if r.original {
		keys = append(keys, r.mark.Key)
	}
	if key, ok := a.ledger.owner(r.vmID); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return keys
}

// take takes over a list, and returns the keys of the machines whose VMs changed.
func (s *scope) take(vms []vm, began time.Time, keysOf func(vmRecord) []cloud.Key) (changed []cloud.Key) {
	now := map[string]vmRecord{}
	for _, vm := range vms {
		if r, ok := recordOf(vm); ok && r.id.Parent().Key() == s.key {
			now[r.name] = r
			if was, known := s.vms[r.name]; !known || !was.same(r) {
				changed = append(changed, keysOf(r)...)
			}
		}
	}
	for name, was := range s.vms {
		if _, there := now[name]; !there {
			changed = append(changed, keysOf(was)...)
		}
	}
	s.vms, s.listed = now, began
	return changed
}

// listAddresses lists the addresses of a scope's adapters, and returns the keys of the machines that got others.
func (a *account) listAddresses(ctx context.Context, s *scope) ([]cloud.Key, error) {
	adapters, answer := a.calls.listAdapters(ctx, s.group)
	s.heed(adapterList, answer)
	if answer.verdict != nil {
		return nil, answer.err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeAddresses(adapters, a.keysOf), nil
}

func (s *scope) takeAddresses(adapters []resource, keysOf func(vmRecord) []cloud.Key) (changed []cloud.Key) {
	now := map[string][]string{}
	for _, one := range adapters {
		for _, ip := range one.Properties.IPConfigurations {
			if address := ip.Properties.PrivateIPAddress; address != "" {
				key := strings.ToLower(one.ID)
				now[key] = append(now[key], cloud.Clean(address, 64))
			}
		}
	}
	before := s.addresses
	s.addresses = now
	for _, r := range s.vms {
		if !slices.Equal(r.addresses(before), r.addresses(now)) {
			changed = append(changed, keysOf(r)...)
		}
	}
	return changed
}

// lacksAddress says that a VM of ours runs and its address is not known.
func (a *account) lacksAddress(s *scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.vms {
		if !r.addressed(s.addresses) && s.power.get(r.key) == next.On && len(a.keysOf(r)) > 0 {
			return true
		}
	}
	return false
}

// changes says that a VM of ours is being made or removed.
func (a *account) changes(s *scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.vms {
		if (r.state == next.Creating || r.state == next.Deleting) && len(a.keysOf(r)) > 0 {
			return true
		}
	}
	return false
}

// known are the machines of a scope whose VMs the lists have.
func (a *account) known(s *scope) (keys []cloud.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.vms {
		keys = append(keys, a.keysOf(r)...)
	}
	return keys
}
