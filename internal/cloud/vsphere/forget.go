package vsphere

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// The ledger keeps this many machines, and those beyond for a day at least. Nobody asks any more for a machine whose finalizer a
// person has removed, and the next object of its name has another UID.
const (
	manyMachines = 20000
	keptFor      = 24 * time.Hour
)

// use notes that somebody asks for a machine, and takes over what an earlier process has kept of it.
func (l *ledger) use(m cloud.Machine, now time.Time) {
	isNew := false
	l.note(m, func(w *work) {
		isNew, w.used = w.used.IsZero(), now
		w.believe(m.Record.VSphere)
	})
	if isNew {
		l.prune(now)
	}
}

// prune forgets the machines that nobody asked for in a long time, if there are too many. What proves their VMs is in their
// status.
func (l *ledger) prune(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.work) <= manyMachines {
		return
	}
	for id, w := range l.work {
		if now.Sub(w.used) > keptFor {
			l.owners.move(w, w.object, types.ManagedObjectReference{})
			delete(l.work, id)
		}
	}
}
