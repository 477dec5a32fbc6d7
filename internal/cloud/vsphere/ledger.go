package vsphere

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/clones"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/session"
)

// act is what a task does with a VM.
type act string

const (
	cloning      act = "cloning"
	switchingOn  act = "switching on"
	switchingOff act = "switching off"
	destroying   act = "destroying"
	erasing      act = "erasing the user data"
)

// job is a task that this process started for a machine. The zero value means that there is no such task.
type job struct {
	act       act
	task      types.ManagedObjectReference
	vm        types.ManagedObjectReference // the VM that it works on; the template when cloning
	begun     time.Time
	watched   bool // the vCenter pushes its changes
	forgotten bool // the vCenter does not know how it ended; it counts as ended well
	state     types.TaskInfoState
	fault     *types.LocalizedMethodFault
}

func (j job) underWay() bool { return j.act != "" && !j.ended() }

func (j job) ended() bool {
	return j.state == types.TaskInfoStateSuccess || j.state == types.TaskInfoStateError
}

// did says for certain that the job has done something.
func (j job) did(what act) bool { return j.act == what && j.err() == nil && !j.forgotten }

func (j job) err() error {
	if j.state != types.TaskInfoStateError || j.fault == nil {
		return nil
	}
	return task.Error{LocalizedMethodFault: j.fault}
}

// set sets one property.
func (j *job) set(path string, value any) {
	switch path {
	case "info.state":
		j.state, _ = value.(types.TaskInfoState)
	case "info.error":
		if f, ok := value.(types.LocalizedMethodFault); ok {
			j.fault = &f
		}
	}
}

func (j *job) apply(u types.ObjectUpdate) {
	for _, c := range u.ChangeSet {
		j.set(c.Name, c.Val)
	}
}

// taskPaths are the properties of a task that are read and watched.
var taskPaths = []string{"info.state", "info.error"}

// shown says that the VM itself shows that the job is done. Often the vCenter tells of the VM before the task. Nothing shows that
// a VM is destroyed: one that the account may not see any more leaves the inventory, too.
func (j job) shown(there found) bool {
	same := there.whose == cloud.Ours && there.vm.ref == j.vm
	switch j.act {
	case cloning:
		return there.whose == cloud.Ours && there.vm.started()
	case switchingOn:
		return same && there.vm.started()
	case switchingOff:
		return same && there.vm.off()
	case erasing:
		return same && !there.vm.userData
	}
	return false
}

// work is what this process remembers of a machine.
type work struct {
	key    cloud.Key
	job    job
	clone  types.ManagedObjectReference // the last task that cloned for it
	object types.ManagedObjectReference // its VM, once it was proved to be; before that, what the machine's record says
	folder string                       // the reference to the VM's folder
	ran    bool                         // the VM was switched on before

	believed bool                  // what an earlier process has kept is taken over
	mayMake  bool                  // a clone of this process may have made the VM: the vCenter did not say that it failed
	deletion infrav1.CloudDeletion // whether the vCenter has accepted a request of ours to destroy the VM

	answerLost time.Time // when the answer to a clone request was lost; the request itself may have arrived
	failed     error     // why the last clone, or try to erase, failed
	notBefore  time.Time // when the next one may be started
	failures   int

	unsure   bool      // there may be a VM that the inventory does not have: look before the next clone
	made     time.Time // when our clone had ended; the inventory has its VM soon after
	idle     time.Time // since when the VM is seen switched off, although it never ran
	neverRan bool      // the vCenter has no event that it did

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
	w.failed, w.notBefore, w.failures = err, now.Add(pause), w.failures+1
}

// record is what to keep of what the vCenter calls the VM, instead of what this vCenter's record of the machine has; nil if
// nothing is known.
func (w work) record(server string, kept infrav1.VSphereRecord) *cloud.Record {
	now := infrav1.VSphereRecord{Server: server, Deletion: w.deletion}
	if len(w.object.Value) <= maxReference {
		now.Reference, now.Folder = w.object.Value, w.folder
	}
	if now.Reference == "" && now.Deletion == kept.Deletion {
		return nil
	}
	return &cloud.Record{VSphere: now}
}

// believe takes over what an earlier process has kept, unless this one knows better.
func (w *work) believe(kept infrav1.VSphereRecord) {
	if w.object.Value == "" && kept.Reference != "" {
		w.object = types.ManagedObjectReference{Type: "VirtualMachine", Value: kept.Reference}
		w.folder = kept.Folder
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
	before := w.object
	f(w)
	l.owners.move(w, before, w.object)
}

// settle forgets a job that has ended and returns why it failed. A job that was overtaken did not fail.
func (l *ledger) settle(m cloud.Machine, j job, now time.Time) error {
	err := j.err()
	late := overtaken(j.act, err)
	if late {
		err = nil
	}
	err = session.Classify(err)
	l.note(m, func(w *work) {
		if w.job.task == j.task {
			w.job = job{}
		}
		switch {
		case j.act == cloning && late: // we look whose VM it is
			w.postpone(nameHidden(m), now)
			w.unsure = true
		case j.act == cloning && err != nil, j.act == erasing:
			w.postpone(err, now)
			w.mayMake = w.mayMake && j.act != cloning
		case j.act == cloning:
			w.made = now
		case j.act == switchingOn && err == nil:
			w.idle = now
		case j.did(destroying):
			w.object, w.folder = types.ManagedObjectReference{}, ""
		case j.act == destroying && j.err() != nil: // then nothing says that it was ours that took the VM away
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
		l.owners.move(w, w.object, types.ManagedObjectReference{})
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
		if w.job.act == "" || w.job.task != u.Obj {
			continue
		}
		w.job.apply(u)
		left := u.Kind == types.ObjectUpdateKindLeave
		w.job.watched = w.job.watched && !left
		if left || w.job.ended() {
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
		if w.job.underWay() {
			all[w.job.task] = true
		}
	}
	return all
}

// destroys says that a VM is being destroyed. Then it is no news that it leaves: the end of the task is.
func (l *ledger) destroys(vm types.ManagedObjectReference) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		if w.job.act == destroying && w.job.vm == vm && w.job.underWay() {
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
func (l *ledger) begin(m cloud.Machine, j job) {
	l.note(m, func(w *work) {
		w.job, w.made, w.unsure = j, time.Time{}, false
		switch j.act {
		case cloning:
			w.clone, w.mayMake, w.deletion = j.task, true, ""
		case destroying:
			w.deletion = infrav1.DeletionAccepted
		}
	})
}

// markWatched notes that the vCenter pushes changes of these tasks, and of no others.
func (l *ledger) markWatched(tasks clones.Tasks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		w.job.watched = tasks[w.job.task]
	}
}

// doubt forgets what holds only while the vCenter tells of each change.
func (l *ledger) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		w.job.watched, w.neverRan = false, false
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
