package vsphere

import (
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

// taskPaths are the properties of a task that are read and watched.
var taskPaths = []string{"info.state", "info.error"}

// work is what this process remembers of a machine.
type work struct {
	key   cloud.Key
	job   next.Job
	clone types.ManagedObjectReference // the last task that cloned for it
	ran   bool                         // the VM was switched on before

	next.Memory // what is decided by

	believed bool                  // what an earlier process has kept is taken over
	mayMake  bool                  // a clone of this process may have made the VM: the vCenter did not say that it failed
	deletion infrav1.CloudDeletion // whether the vCenter has accepted a request of ours to destroy the VM

	failures  int
	abandoned bool      // Delete was called
	used      time.Time // when the machine was last asked for
}

// How long to wait after a clone that failed, longer each time: the cause, such as a full datastore, seldom goes away within
// a second.
const (
	firstPause = 30 * time.Second
	lastPause  = 5 * time.Minute
)

func (w *work) postpone(err error, now time.Time) {
	pause := min(firstPause<<min(w.failures, 8), lastPause)
	w.Failed, w.NotBefore, w.failures = err, now.Add(pause), w.failures+1
}

// record is what to keep of what the vCenter calls the VM, instead of what this vCenter's record of the machine has; nil if
// nothing is known.
func (w work) record(server string, kept infrav1.VSphereRecord) *cloud.Record {
	now := infrav1.VSphereRecord{Server: server, Deletion: w.deletion}
	if len(w.Object.Value) <= seen.MaxReference {
		now.Reference, now.Folder = w.Object.Value, w.Folder
	}
	if now.Reference == "" && now.Deletion == kept.Deletion {
		return nil
	}
	return &cloud.Record{VSphere: now}
}

// believe takes over what an earlier process has kept, unless this one knows better.
func (w *work) believe(kept infrav1.VSphereRecord) {
	if w.Object.Value == "" && kept.Reference != "" {
		w.Object = types.ManagedObjectReference{Type: "VirtualMachine", Value: kept.Reference}
		w.Folder = kept.Folder
	}
	if !w.believed {
		w.believed, w.deletion = true, kept.Deletion
	}
}

// ledger is the work of all machines, each by itself: a user may write the identity of another machine into the spec of a new
// one. If all of it is lost, the vCenter is asked instead. Its methods return copies.
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
			l.work = map[cloud.MachineID]*work{}
		}
		l.work[m.ID()] = w
	}
	before := w.Object
	f(w)
	l.owners.move(w, before, w.Object)
}

// settle forgets a job that has ended and returns why it failed. A job that was overtaken did not fail.
func (l *ledger) settle(m cloud.Machine, j next.Job, now time.Time) error {
	err := j.Err()
	late := overtaken(j.Act, err)
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
		case j.Did(next.Destroy):
			w.Object, w.Folder = types.ManagedObjectReference{}, ""
		case j.Act == next.Destroy && j.Err() != nil: // then nothing says that it was ours that took the VM away
			w.deletion = ""
		}
	})
	return err
}

// abandon notes that m is not wanted any more, and says whether that is new.
func (l *ledger) abandon(m cloud.Machine) (first bool) {
	l.note(m, func(w *work) { first, w.abandoned = !w.abandoned, true })
	return first
}

// strike drops what is remembered of m, but for a short time that it is gone, and what people were told to look for.
func (l *ledger) strike(m cloud.Machine, left string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.work[m.ID()]; w != nil {
		l.owners.move(w, w.Object, types.ManagedObjectReference{})
	}
	delete(l.work, m.ID())
	l.gone.note(m, left, now)
}

// struck says that m was struck lately, and that nothing was begun for it since; and what was said then.
func (l *ledger) struck(m cloud.Machine, now time.Time) (left string, is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lately := l.gone[m.ID()]
	return lately.left, l.work[m.ID()] == nil && now.Before(lately.until)
}

// update applies a change of a task. If it is the job of a machine, and has ended or left the view, it returns the machine's key.
func (l *ledger) update(u types.ObjectUpdate) []cloud.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		if w.job.Act == "" || w.job.Task != u.Obj {
			continue
		}
		w.job.Apply(u)
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
	l.mu.Lock()
	defer l.mu.Unlock()
	all := clones.Tasks{}
	for _, w := range l.work {
		if w.job.UnderWay() {
			all[w.job.Task] = true
		}
	}
	return all
}

// destroys says that a VM is being destroyed. Then it is no news that it leaves: the end of the task is.
func (l *ledger) destroys(vm types.ManagedObjectReference) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		if w.job.Act == next.Destroy && w.job.VM == vm && w.job.UnderWay() {
			return true
		}
	}
	return false
}

// cloned are the clones of this process. What they make is known.
func (l *ledger) cloned() clones.Tasks {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := clones.Tasks{}
	for _, w := range l.work {
		all[w.clone] = true
	}
	return all
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
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		w.job.Watched = tasks[w.job.Task]
	}
}

// doubt forgets what holds only while the vCenter tells of each change.
func (l *ledger) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		w.job.Watched, w.NeverRan = false, false
	}
}

// machines returns the keys of all machines.
func (l *ledger) machines() []cloud.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys()
}

func (l *ledger) keys() []cloud.Key {
	var keys []cloud.Key
	for _, w := range l.work {
		keys = append(keys, w.key)
	}
	return keys
}
