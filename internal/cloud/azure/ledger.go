package azure

import (
	"sync"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// work is what this process remembers of a machine. It cannot be forged, and survives no restart.
type work struct {
	key    cloud.Key
	scope  string
	put    next.Put
	del    next.Delete
	choice request.Choice
	look   look
	looked time.Time
	missed next.Missed
	lookAt time.Time // when who waits for another look is to be woken; zero if nobody is
	view   *fault.Verdict
	lost   time.Time // when a request was sent whose answer did not come
	was    bool      // its VM was seen
	ran    bool
	used   time.Time
	gone   time.Time // when it was proven that nothing is left of it
	going  bool      // it was to be removed
	// separate are the adapters that were made before the VM.
	separate separate
	// record is what Azure calls the VM and what belongs to it; nil if this process knows no more than the status. forgot says that
	// the VM is gone for another to follow.
	record *infrav1.AzureRecord
	forgot bool
	// failed are Azure's own IDs of what belonged to requests that Azure ended as failed.
	failed map[string]bool
	// sought is when the subscription was last searched for the VM, and elsewhere the group where it was.
	sought    time.Time
	elsewhere string
}

// busy says that something is expected to change soon.
func (w work) busy(now time.Time) bool {
	making := !w.put.At.IsZero() && w.put.Answer != next.Refused && !w.ran && now.Sub(w.put.At) < patience
	removing := !w.del.At.IsZero() && now.Sub(w.del.At) < patience
	return making || removing
}

// lives says that somebody looks after the machine: it is not known to be gone, nor was it to be removed and nobody asks any
// more, as when its finalizer was taken by hand.
func (w *work) lives(now time.Time) bool {
	return w != nil && w.gone.IsZero() && (!w.going || now.Sub(w.used) < oldEnough)
}

// patience is how long a change is expected; Azure itself gives up after 40 minutes.
const patience = time.Hour

// The ledger keeps this many machines at most, and those beyond for a day at least.
const (
	manyMachines = 20000
	keptFor      = 24 * time.Hour
)

// ledger is what this process remembers, by providerID.
type ledger struct {
	mu    sync.Mutex
	works map[string]*work
}

func (l *ledger) recall(m cloud.Machine) work {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.works[m.ProviderID]; w != nil {
		return *w
	}
	return work{}
}

func (l *ledger) note(m cloud.Machine, now time.Time, change func(*work)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.works == nil {
		l.works = map[string]*work{}
	}
	w := l.works[m.ProviderID]
	if w == nil {
		l.prune(now)
		w = &work{key: m.Key, scope: scopeOf(m.ProviderID)}
		l.works[m.ProviderID] = w
	}
	w.used, w.gone = now, time.Time{}
	change(w)
}

// prune lets go of machines that were not asked about for long, when there are too many.
func (l *ledger) prune(now time.Time) {
	if len(l.works) < manyMachines {
		return
	}
	for id, w := range l.works {
		if now.Sub(w.used) > keptFor {
			delete(l.works, id)
		}
	}
}

// bury forgets all of a machine but that nothing is left of it.
func (l *ledger) bury(m cloud.Machine, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.works == nil {
		l.works = map[string]*work{}
	}
	l.works[m.ProviderID] = &work{key: m.Key, scope: scopeOf(m.ProviderID), used: now, gone: now}
}

// toLook are the machines for which another look is due. Each is told once.
func (l *ledger) toLook(now time.Time) (all []cloud.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.works {
		if !w.lookAt.IsZero() && !now.Before(w.lookAt) {
			all, w.lookAt = append(all, w.key), time.Time{}
		}
	}
	return all
}

// keys are the machines of a scope, and busy says whether something changes there.
func (l *ledger) keys(scope string) (all []cloud.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.works {
		if w.scope == scope && w.gone.IsZero() {
			all = append(all, w.key)
		}
	}
	return all
}

func (l *ledger) busy(scope string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.works {
		if w.scope == scope && w.busy(now) {
			return true
		}
	}
	return false
}

// workOf is what is remembered by a providerID; nil if that is nothing.
func (l *ledger) workOf(providerID string) *work {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.works[providerID]; w != nil {
		return new(*w)
	}
	return nil
}
