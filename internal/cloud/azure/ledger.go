package azure

import (
	"slices"
	"strings"
	"sync"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// work is what this process remembers of a machine.
type work struct {
	next.Memory
	scope   string
	choice  request.Choice
	look    lists.Look
	lookAt  time.Time // when the machine that waits for another look is woken; zero if it waits for none
	existed bool      // its VM was seen, by this account or another one
	used    time.Time
	gone    time.Time // when it was proven that nothing is left of it
	left    string    // what to look for by hand since then; empty if there is nothing
	going   bool      // it was to be removed
	// removed is true if Azure accepted our deletion of the VM, and no later request may have made another.
	removed bool
	// separate are the adapters that were made before the VM.
	separate separate
	// record has Azure's own IDs of the VM and what belongs to it; nil if this process knows no more than the status. forgot is true
	// if the VM is gone for another to follow.
	record *infrav1.AzureRecord
	forgot bool
	// vmIDs are Azure's own IDs of the machine's VMs that this account had in records, the last of them last.
	vmIDs []string
	// yielded is when the status had the VM of another account.
	yielded time.Time
	// failed are Azure's own IDs of what belonged to requests that Azure ended as failed.
	failed map[string]bool
}

// accepted notes a request for the VM that Azure accepted, with Azure's own ID of the VM.
func (w *work) accepted(m cloud.Machine, choice request.Choice, sent time.Time, vmID string) {
	w.asked(choice, next.Put{Sent: sent, Answer: next.Accepted})
	record := knownOf(m, *w)
	record.VMID, record.Deletion = vmID, ""
	w.separate, w.forgot, w.removed, w.record = separate{}, false, false, &record
}

func (w *work) asked(choice request.Choice, put next.Put) {
	w.Put, w.choice, w.View, w.Ran, w.Missed = put, choice, nil, false, next.Missed{}
}

// refused notes a request for the VM that Azure refused, or whose answer is lost.
func (w *work) refused(m cloud.Machine, choice request.Choice, put next.Put) {
	w.asked(choice, put)
	if put.Answer == next.Lost {
		w.Lost = put.Sent
	}
	if put.Took {
		w.Looked = time.Time{}
	}
	if put.Answer == next.Refused && !put.Took {
		return // it made nothing
	}
	w.removed = false
	if record := knownOf(m, *w); record.Deletion != "" {
		record.Deletion = ""
		w.record = &record
	}
}

// busy reports whether something is expected to change soon.
func (w work) busy(now time.Time) bool {
	making := !w.Put.Sent.IsZero() && w.Put.Answer != next.Refused && !w.Ran && now.Sub(w.Put.Sent) < changeTimeout
	removing := !w.Delete.Sent.IsZero() && now.Sub(w.Delete.Sent) < changeTimeout
	return making || removing
}

// lives reports whether the machine is still looked after: it is not known to be gone, and if it was to be removed, it is still
// asked for. It is not if its finalizer was taken by hand.
func (w work) lives(now time.Time) bool {
	return w.gone.IsZero() && (!w.going || now.Sub(w.used) < lists.OldEnough)
}

// changeTimeout is how long a change is expected; Azure itself gives up after 40 minutes.
const changeTimeout = time.Hour

// The ledger keeps this many machines at most, and those beyond for a day at least.
const (
	manyMachines = 20000
	keptFor      = 24 * time.Hour
)

// ledger is what this process remembers, by machine: an identity alone is none, because a user may write that of another machine
// into a new object.
type ledger struct {
	mu    sync.Mutex
	works map[cloud.MachineID]*work
	// owners are the machines by Azure's own IDs of their VMs.
	owners map[string]cloud.MachineID
}

func (l *ledger) recall(m cloud.Machine) work {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.works[m.ID()]; w != nil {
		return *w
	}
	return work{}
}

func (l *ledger) note(m cloud.Machine, now time.Time, change func(*work)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, previous := work{scope: lists.Key(m.ProviderID)}, l.works[m.ID()]
	switch {
	case previous != nil:
		w = *previous
	case len(l.works) >= manyMachines:
		l.prune(now)
	}
	w.used, w.gone = now, time.Time{}
	change(&w)
	l.put(m.ID(), w)
}

// yield forgets what this account did for a machine because the status has a VM that this account never knew: another account of
// the same server has made it since. From then on, this account knows the status and no more, as after a restart. An ID that it
// knew before is that of an older VM, because Azure gives an ID once: then the status is late.
func (w *work) yield() {
	*w = work{scope: w.scope, vmIDs: w.vmIDs, used: w.used, going: w.going, existed: true, yielded: w.used}
}

// manyIDs is more VMs of a machine than the status may be behind: each is written down before the next one is asked for.
const manyIDs = 16

// put replaces what was remembered of a machine, and which VM is its own.
func (l *ledger) put(id cloud.MachineID, w work) {
	if l.works == nil {
		l.works, l.owners = map[cloud.MachineID]*work{}, map[string]cloud.MachineID{}
	}
	previous := l.works[id]
	l.works[id] = &w
	if previous != nil && previous.record == w.record {
		return
	}
	if previous != nil && previous.record != nil && l.owners[previous.record.VMID] == id {
		delete(l.owners, previous.record.VMID)
	}
	if w.record != nil && w.record.VMID != "" {
		l.owners[w.record.VMID] = id
		if !slices.Contains(w.vmIDs, w.record.VMID) { // copies of the work have the IDs of before
			w.vmIDs = append(slices.Clone(w.vmIDs[max(0, len(w.vmIDs)-manyIDs+1):]), w.record.VMID)
		}
	}
}

// owner is the machine whose VM has this ID of Azure's.
func (l *ledger) owner(vmID string) (cloud.Key, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, ok := l.owners[vmID]
	return id.Key, ok && vmID != ""
}

// prune forgets machines that were not asked about for long.
func (l *ledger) prune(now time.Time) {
	for id, w := range l.works {
		if now.Sub(w.used) > keptFor {
			l.put(id, work{}) // with no VM of its own
			delete(l.works, id)
		}
	}
}

// bury forgets all of a machine but that nothing is left of it, and what to look for by hand.
func (l *ledger) bury(m cloud.Machine, left string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(m.ID(), work{scope: lists.Key(m.ProviderID), used: now, gone: now, left: left})
}

// toLook are the machines for which another look is due. Each is returned once.
func (l *ledger) toLook(now time.Time) []cloud.Key {
	return l.machines(func(w *work) bool {
		due := !w.lookAt.IsZero() && !now.Before(w.lookAt)
		if due {
			w.lookAt = time.Time{}
		}
		return due
	})
}

// keys are the machines of a scope, and busy reports whether something changes there.
func (l *ledger) keys(scope string) []cloud.Key {
	return l.machines(func(w *work) bool { return w.scope == scope && w.gone.IsZero() })
}

func (l *ledger) busy(scope string, now time.Time) bool {
	return len(l.machines(func(w *work) bool { return w.scope == scope && w.busy(now) })) > 0
}

// machines are those of whose work something holds.
func (l *ledger) machines(holds func(*work) bool) (keys []cloud.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range l.works {
		if holds(w) {
			keys = append(keys, id.Key)
		}
	}
	return keys
}

// byMark are copies of all works, by the marks of their machines.
func (l *ledger) byMark() map[lists.Mark][]work {
	l.mu.Lock()
	defer l.mu.Unlock()
	copies := map[lists.Mark][]work{}
	for id, w := range l.works {
		mark := lists.Mark{Key: id.Key, ProviderID: id.ProviderID}
		copies[mark] = append(copies[mark], *w)
	}
	return copies
}

// names are the names of the machines' VMs, in lower case.
func (l *ledger) names() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[string]bool{}
	for id := range l.works {
		vm, _ := arm.ReadProviderID(id.ProviderID)
		names[strings.ToLower(vm.Name())] = true
	}
	return names
}
