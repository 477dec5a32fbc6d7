package vsphere

import (
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// ledger holds the work of all machines, each by its own id: a user may write the identity of another machine into the spec of a
// new one. If all of it is lost, the vCenter is asked instead. Its methods return copies.
type ledger struct {
	mu   sync.Mutex
	work map[cloud.MachineID]*work
	gone goneLately

	owners owners
}

// recall returns what is remembered of m.
func (l *ledger) recall(m cloud.Machine) (remembered work) {
	l.note(m, func(w *work) { remembered = *w })
	return remembered
}

// note lets f change what is remembered of m. f holds the lock, so it must not wait for anything.
func (l *ledger) note(m cloud.Machine, f func(*work)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.work[m.ID()]
	if w == nil {
		w = &work{key: m.Key}
		if l.work == nil {
			l.work, l.owners = map[cloud.MachineID]*work{}, owners{}
		}
		l.work[m.ID()] = w
	}
	old := w.Object
	f(w)
	l.owners.move(w, old, w.Object)
}

// The ledger keeps this many machines; above this number, entries older than a day are dropped. A machine whose finalizer a
// person has removed is never asked for again, and the next object of its name has another UID.
const (
	manyMachines = 20000
	keptFor      = 24 * time.Hour
)

// use notes that a machine is in use, and takes over what an earlier process has recorded of it, unless this one knows better.
func (l *ledger) use(m cloud.Machine, now time.Time) {
	full, kept := false, m.Record.VSphere
	l.note(m, func(w *work) {
		full, w.used = w.used.IsZero() && len(l.work) > manyMachines, now
		if w.Object.Value == "" && kept.Reference != "" {
			w.Object, w.Folder = seen.RefOf(kept.Reference), kept.Folder
		}
		if !w.believed {
			w.believed, w.deletion = true, kept.Deletion
		}
	})
	if full {
		l.prune(now)
	}
}

// prune forgets the machines that were not used for a long time. What proves their VMs is in their status.
func (l *ledger) prune(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range l.work {
		if now.Sub(w.used) > keptFor {
			l.owners.move(w, w.Object, types.ManagedObjectReference{})
			delete(l.work, id)
		}
	}
}

// settle forgets a job that has ended and returns why it failed. A job that was overtaken did not fail.
func (l *ledger) settle(m cloud.Machine, j next.Job, now time.Time) error {
	err := j.Err()
	late := err != nil && overtaken(j.Act, err)
	if late {
		err = nil
	}
	err = session.Classify(err)
	l.note(m, func(w *work) {
		if w.job.Task == j.Task {
			w.job = next.Job{}
		}
		switch {
		case j.Act == next.Clone && late: // we look whose VM it is
			w.postpone(next.NameHidden(m), now)
			w.Unsure = true
		case j.Act == next.Clone && err != nil, j.Act == next.Erase:
			w.postpone(err, now)
			w.mayMake = w.mayMake && j.Act != next.Clone
		case j.Act == next.Clone:
			w.Made = now
		case j.Act == next.SwitchOn && err == nil:
			w.Idle = now
		case j.Completed(next.Destroy):
			w.Object, w.Folder = types.ManagedObjectReference{}, ""
		case j.Act == next.Destroy && j.Err() != nil: // then nothing proves that our task has removed the VM
			w.deletion = ""
		}
	})
	return err
}

// overtaken reports whether a task failed because others have done its work, or are doing it: DRS switches on in a task of its
// own.
func overtaken(act next.Act, err error) bool {
	switch act {
	case next.Clone:
		return session.Is[*types.DuplicateName](err)
	case next.SwitchOn:
		return session.Is[types.BaseTaskInProgress](err) || goneOrDone(err)
	case next.Erase:
		return session.Is[*types.ManagedObjectNotFound](err)
	default:
		return goneOrDone(err)
	}
}

func goneOrDone(err error) bool {
	return session.Is[*types.ManagedObjectNotFound](err) || session.Is[*types.InvalidPowerState](err)
}

// abandon notes that m is to be deleted, and reports whether that is new.
func (l *ledger) abandon(m cloud.Machine) (first bool) {
	l.note(m, func(w *work) { first, w.abandoned = !w.abandoned, true })
	return first
}

// strike drops the entry of m; for a short time it keeps that the VM is gone, and what people were asked to look for.
func (l *ledger) strike(m cloud.Machine, left string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.work[m.ID()]; w != nil {
		l.owners.move(w, w.Object, types.ManagedObjectReference{})
	}
	delete(l.work, m.ID())
	l.gone.note(m, left, now)
}

// struck reports whether m was struck lately and nothing was begun for it since, and returns what was left then.
func (l *ledger) struck(m cloud.Machine, now time.Time) (left string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lately := l.gone[m.ID()]
	return lately.left, l.work[m.ID()] == nil && now.Before(lately.expiry)
}

// entries yields the work of all machines. It holds the lock, as note does.
func (l *ledger) entries(yield func(*work) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		if !yield(w) {
			return
		}
	}
}

// update applies a change of a task. If it is the job of a machine, and has ended or left the view, it returns the machine's key.
func (l *ledger) update(u types.ObjectUpdate) []cloud.Key {
	for w := range l.entries {
		if w.job.Act == "" || w.job.Task != u.Obj {
			continue
		}
		for _, c := range u.ChangeSet {
			w.job.Set(c.Name, c.Val)
		}
		left := u.Kind == types.ObjectUpdateKindLeave
		w.job.Watched = w.job.Watched && !left
		if left || w.job.Ended() {
			return []cloud.Key{w.key}
		}
	}
	return nil
}

// tasks returns the jobs that are under way.
func (l *ledger) tasks() clones.Tasks {
	tasks := clones.Tasks{}
	for w := range l.entries {
		if w.job.UnderWay() {
			tasks[w.job.Task] = true
		}
	}
	return tasks
}

// destroys reports whether a VM is being destroyed. Then its leaving is no news: the end of the task is.
func (l *ledger) destroys(vm types.ManagedObjectReference) bool {
	for w := range l.entries {
		if w.job.Act == next.Destroy && w.job.VM == vm && w.job.UnderWay() {
			return true
		}
	}
	return false
}

// cloned returns the clones of this process, whose VMs are known.
func (l *ledger) cloned() clones.Tasks {
	tasks := clones.Tasks{}
	for w := range l.entries {
		tasks[w.clone] = true
	}
	return tasks
}

// begin notes a job.
func (l *ledger) begin(m cloud.Machine, j next.Job) {
	l.note(m, func(w *work) {
		w.job, w.Made, w.Unsure = j, time.Time{}, false
		switch j.Act {
		case next.Clone:
			w.clone, w.mayMake, w.deletion = j.Task, true, ""
		case next.Destroy:
			w.deletion = infrav1.DeletionAccepted
		}
	})
}

// markWatched notes that the vCenter pushes changes of these tasks, and of no others.
func (l *ledger) markWatched(tasks clones.Tasks) {
	for w := range l.entries {
		w.job.Watched = tasks[w.job.Task]
	}
}

// doubt forgets what holds only while the watch reports each change.
func (l *ledger) doubt() {
	for w := range l.entries {
		w.job.Watched, w.NeverRan = false, false
	}
}

// machines returns the keys of all machines.
func (l *ledger) machines() (keys []cloud.Key) {
	for w := range l.entries {
		keys = append(keys, w.key)
	}
	return keys
}

// owners are the machines whose record names a VM, by the value of its reference. It is one, unless a vCenter was restored and
// has given a reference again.
type owners map[string]map[*work]bool

// ownersOf returns the keys of the machines whose record names a VM.
func (l *ledger) ownersOf(ref types.ManagedObjectReference) (keys []cloud.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.owners[ref.Value] {
		keys = append(keys, w.key)
	}
	return keys
}

// move follows a machine from one VM to another; the empty one is none.
func (o owners) move(w *work, oldRef, newRef types.ManagedObjectReference) {
	if oldRef == newRef {
		return
	}
	if delete(o[oldRef.Value], w); len(o[oldRef.Value]) == 0 {
		delete(o, oldRef.Value)
	}
	if newRef.Value == "" {
		return
	}
	if o[newRef.Value] == nil {
		o[newRef.Value] = map[*work]bool{}
	}
	o[newRef.Value][w] = true
}

// keepGone is how long a machine without a VM stays in goneLately. Its object is read again until it is gone, too.
const keepGone = time.Minute

// goneLately holds, for machines without a VM, when the entry expires and what to look for by hand.
type goneLately map[cloud.MachineID]gone

type gone struct {
	expiry time.Time
	left   string
}

func (g *goneLately) note(m cloud.Machine, left string, now time.Time) {
	if *g == nil {
		*g = goneLately{}
	}
	maps.DeleteFunc(*g, func(_ cloud.MachineID, entry gone) bool { return !now.Before(entry.expiry) })
	(*g)[m.ID()] = gone{now.Add(keepGone), left}
}
