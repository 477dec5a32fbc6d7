package vsphere

import (
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
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
	act     act
	task    types.ManagedObjectReference
	vm      types.ManagedObjectReference // the VM that it works on; the template when cloning
	watched bool                         // the vCenter pushes its changes
	state   types.TaskInfoState
	fault   *types.LocalizedMethodFault
}

func (j job) underWay() bool { return j.act != "" && !j.ended() }

func (j job) ended() bool {
	return j.state == types.TaskInfoStateSuccess || j.state == types.TaskInfoStateError
}

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

// work is what this process remembers of a machine.
type work struct {
	key    cloud.Key
	job    job
	object types.ManagedObjectReference // its VM, once seen
	ran    bool                         // the VM was switched on before

	answerLost time.Time // when the answer to a clone request was lost; the request itself may have arrived
	failed     error     // why the last clone, or try to erase, failed
	notBefore  time.Time // when the next one may be started
	failures   int

	rivals    suspects // clones that may make its VM
	abandoned bool     // Delete was called
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

// suspects are the clones that were under way when we first asked, and that may make a certain VM, because a task does not
// say which VM it makes; nil until we ask. Later clones are not added. Suspects are never changed, so copies can be handed out.
type suspects map[types.ManagedObjectReference]bool

func (s suspects) cleared() bool { return s != nil && len(s) == 0 }

// narrowed returns the suspects that are still running. Clones that are known to make another VM are left out.
func (s suspects) narrowed(running []types.ManagedObjectReference, known map[types.ManagedObjectReference]bool) suspects {
	left := suspects{}
	for _, t := range running {
		if !known[t] && (s == nil || s[t]) {
			left[t] = true
		}
	}
	return left
}

// ledger is the work of all machines. If all of it is lost, the vCenter is asked instead. Its methods return copies.
type ledger struct {
	mu      sync.Mutex
	work    map[string]*work // by provider id
	earlier suspects         // clones that were begun before this process, and may make any VM
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
	w := l.work[m.ProviderID]
	if w == nil {
		w = &work{}
		if l.work == nil {
			l.work = map[string]*work{}
		}
		l.work[m.ProviderID] = w
	}
	w.key = m.Key
	f(w)
}

// settle forgets a job that has ended and returns why it failed. A job that was overtaken did not fail.
func (l *ledger) settle(m cloud.Machine, j job, now time.Time) error {
	err := j.err()
	if overtaken(j.act, err) {
		err = nil
	}
	err = session.Classify(err)
	l.note(m, func(w *work) {
		if w.job.task == j.task {
			w.job = job{}
		}
		switch {
		case j.act == cloning && err != nil, j.act == erasing:
			w.postpone(err, now)
		case j.act == destroying && j.err() == nil:
			w.object = types.ManagedObjectReference{}
		}
	})
	return err
}

// abandon notes that m is not wanted any more. The first time, it forgets the rivals, because new ones may run by now.
func (l *ledger) abandon(m cloud.Machine) {
	l.note(m, func(w *work) {
		if !w.abandoned {
			w.abandoned, w.rivals = true, nil
		}
	})
}

// strike drops what is remembered of m.
func (l *ledger) strike(m cloud.Machine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.work, m.ProviderID)
}

// cleared says that no suspect is left.
func (l *ledger) cleared(m cloud.Machine, which question) (so bool) {
	l.note(m, func(w *work) { so = l.suspects(w, which).cleared() })
	return so
}

// narrow notes which clones run now, and says whether suspects are left. Our own clones for other machines are no suspects.
func (l *ledger) narrow(m cloud.Machine, which question, running []types.ManagedObjectReference) (left bool) {
	l.note(m, func(w *work) {
		known := map[types.ManagedObjectReference]bool{}
		for _, other := range l.work {
			if other != w && other.job.act != "" {
				known[other.job.task] = true
			}
		}
		s := l.suspects(w, which)
		*s = s.narrowed(running, known)
		left = !s.cleared()
	})
	return left
}

func (l *ledger) suspects(w *work, which question) *suspects {
	if which == earlierClones {
		return &l.earlier
	}
	return &w.rivals
}

// update applies a change of a task. It returns the keys of the machines that may go on: the machine of the task or, when
// another task has ended, all machines.
func (l *ledger) update(u types.ObjectUpdate) []cloud.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		if w.job.task == u.Obj {
			w.job.apply(u)
			return []cloud.Key{w.key}
		}
	}
	var unknown job
	unknown.apply(u)
	if unknown.ended() || u.Kind == types.ObjectUpdateKindLeave {
		return l.keys()
	}
	return nil
}

// tasks returns the tasks whose end is waited for.
func (l *ledger) tasks() map[types.ManagedObjectReference]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[types.ManagedObjectReference]bool{}
	maps.Copy(all, l.earlier)
	for _, w := range l.work {
		maps.Copy(all, w.rivals)
		if w.job.underWay() {
			all[w.job.task] = true
		}
	}
	return all
}

// markWatched notes that the vCenter pushes changes of these tasks, and of no others.
func (l *ledger) markWatched(tasks map[types.ManagedObjectReference]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		w.job.watched = tasks[w.job.task]
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
