// Package credentials keeps what the Secrets with credentials of clouds hold, so that no reconcile reads one. A caller may rely
// on this, and need not read how:
//
//   - Of returns what a Secret held when it was last read. It never asks the API server. Until the Secret was read for the first
//     time, the error is phase.ErrAwaited, and the machine is woken when it was.
//   - A Secret that a WindowsMachine names is read by name, at the pace and by the turns of controllers/reads. Secrets are never
//     listed or watched.
//   - When a Secret has changed, appeared or disappeared, all machines that name it are woken, at the pace of internal/wake: no
//     namespace keeps the others' machines waiting by changing Secrets of many machines. While a Secret cannot be read, what was
//     known of it stands.
//   - A Secret has our finalizer for as long as a machine that may have a VM names it: without credentials no VM can be removed.
//     One that is being deleted serves these machines until then. Free ends that for a machine, before the machine itself is let
//     go. A Secret that is being deleted goes only when each of its last machines is gone or has RemovedAnnotation.
//   - The Secrets of a namespace hold at most MaxKept bytes. What is more is refused.
//   - An AzureClusterIdentity of the machine's namespace, and its Secret, are held in the same way.
package credentials

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
	"github.com/capwin/cluster-api-provider-windows/controllers/reads"
)

// MaxKept is how many bytes of Secrets are kept for one namespace.
const MaxKept = 4 << 20

// Keeper keeps Secrets, or other objects that name one. Setup starts it.
type Keeper struct {
	// Kind is what it keeps, and Read reads one; empty for Secrets. Only a Secret has data.
	Kind string
	Read func(ctx context.Context, name types.NamespacedName) (client.Object, error)
	// Live reads from the API server itself: Secrets are never cached. Client writes.
	Live   client.Reader
	Client client.Client
	// Events gets a warning when a Secret waits for its machines.
	Events events.EventRecorder
	// WatchFilter is the value of the watch-filter label, if this manager has one.
	WatchFilter string
	// Reader reads them one after the other, and wakes their machines.
	reads.Reader

	// secretOf names the Secret of a machine; the zero value if there is none.
	secretOf func(*infrav1.WindowsMachine) types.NamespacedName

	mu      sync.Mutex
	secrets map[types.NamespacedName]*secret
	uses    map[types.NamespacedName]use
	freed   map[types.NamespacedName]types.UID // machines that need no Secret any more
}

// Secret is what a Secret held when it was last read.
type Secret struct {
	// Exists is true if it is there, and Going that it is being deleted and waits for machines. Unheld is one that nothing may
	// hold, because of its type or its namespace.
	Exists, Going, Unheld bool
	// Data must not be changed.
	Data map[string][]byte
}

// Serves reports whether a machine may use it: one that is being deleted, or that nothing holds, only if there may be a VM.
func (s Secret) Serves(mayHaveVM bool) bool { return s.Exists && (mayHaveVM || !s.Unheld && !s.Going) }

// Of returns what a Secret holds that a machine names.
func (k *Keeper) Of(name, machine types.NamespacedName) (Secret, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.entry(name)
	if s.err != nil {
		return Secret{}, s.err
	}
	if !s.wasRead {
		s.waiting[machine] = true
		return Secret{}, phase.ErrAwaited
	}
	return s.Secret, nil
}

// Follow takes over which Secret a machine uses now, where that does not stand in the machine alone. Before Setup, none is.
func (k *Keeper) Follow(windows *infrav1.WindowsMachine) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.secretOf == nil {
		return
	}
	k.change(client.ObjectKeyFromObject(windows), k.useOf(windows))
}

// Free records that a machine no longer needs its Secret, because nothing is left of its VM. Where the finalizer is to be taken
// off for that, the error is phase.ErrAwaited, and the machine is woken when it was.
func (k *Keeper) Free(windows *infrav1.WindowsMachine) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	machine := client.ObjectKeyFromObject(windows)
	if k.freed == nil {
		k.freed = map[types.NamespacedName]types.UID{}
	}
	k.freed[machine] = windows.UID
	k.change(machine, k.useOf(windows))
	s := k.secrets[k.secretOf(windows)]
	if s == nil || !s.held || s.needed() {
		return nil
	}
	if s.unheld != nil && !apierrors.IsConflict(s.unheld) {
		return s.unheld
	}
	s.waiting[machine] = true
	return phase.ErrAwaited
}

// role of a user of a Secret: managed if this manager looks after the machine, and holds if that may have a VM.
type role struct{ managed, holds bool }

var holder, idle, foreign = role{managed: true, holds: true}, role{managed: true}, role{holds: true}

// use is how a machine uses a Secret.
type use struct {
	secret types.NamespacedName
	uid    types.UID
	role
	// unsure: only this process knows that nothing is left of its VM. The Secret must not be lost before that is written down.
	unsure bool
}

// secret is what is known of a Secret.
type secret struct {
	Secret
	reads.Turn
	wasRead bool  // it was read
	err     error // why it has nothing to say
	size    int
	held    bool // it has our finalizer, or may have
	// unheld is why the last change of the finalizer failed.
	unheld   error
	reported bool // people know that it waits for machines

	users   map[types.NamespacedName]use
	waiting map[types.NamespacedName]bool // machines that are woken by the next read, whatever it brings
	counts  map[role]int                  // how many users there are of each role
}

// entry must be called with the lock.
func (k *Keeper) entry(name types.NamespacedName) *secret {
	if k.secrets == nil {
		k.secrets, k.uses = map[types.NamespacedName]*secret{}, map[types.NamespacedName]use{}
	}
	s := k.secrets[name]
	if s == nil {
		s = &secret{
			Turn: reads.Turn{Due: k.Now()}, users: map[types.NamespacedName]use{}, waiting: map[types.NamespacedName]bool{},
			counts: map[role]int{},
		}
		k.secrets[name] = s
		k.Stir()
	}
	return s
}

// change takes over how a machine uses Secrets now. It must be called with the lock.
func (k *Keeper) change(machine types.NamespacedName, now use) {
	previous := k.uses[machine]
	if previous == now {
		return
	}
	if s := k.secrets[previous.secret]; s != nil {
		delete(s.users, machine)
		s.counts[previous.role]--
		k.hurry(s)
	}
	delete(k.uses, machine)
	if now == (use{}) {
		return
	}
	s := k.entry(now.secret)
	k.uses[machine], s.users[machine] = now, now
	s.counts[now.role]++
	k.hurry(s)
}

// needed reports whether a machine may have a VM. For one of another manager we only leave the finalizer where it is.
func (s *secret) needed() bool { return s.counts[holder] > 0 || s.held && s.counts[foreign] > 0 }

func (s *secret) anyUnsure() bool {
	for _, u := range s.users {
		if u.unsure {
			return true
		}
	}
	return false
}

// used reports whether the Secret must be read again.
func (s *secret) used() bool {
	return s.counts[holder]+s.counts[idle]+len(s.waiting) > 0 || s.held && s.counts[foreign] == 0
}

// hurry has a Secret read soon whose finalizer is not as it must be.
func (k *Keeper) hurry(s *secret) {
	if s.wasRead && s.Exists && s.held != s.needed() && (s.held || !s.Going) {
		s.Due = k.Now()
		k.Stir()
	}
}
