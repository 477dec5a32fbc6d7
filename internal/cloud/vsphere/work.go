package vsphere

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// act is what a task does with a VM.
type act string

const (
	cloning      act = "cloning"
	switchingOn  act = "switching on"
	switchingOff act = "switching off"
	destroying   act = "destroying"
)

// job is a task of vCenter that this process started for a machine.
type job struct {
	act     act
	task    types.ManagedObjectReference
	vm      types.ManagedObjectReference // that it is done to; none when cloning
	watched bool                         // changes are pushed
	state   types.TaskInfoState
	fault   *types.LocalizedMethodFault
}

func (j *job) ended() bool {
	return j.state == types.TaskInfoStateSuccess || j.state == types.TaskInfoStateError
}

func (j *job) err() error {
	if j.state != types.TaskInfoStateError || j.fault == nil {
		return nil
	}
	return task.Error{LocalizedMethodFault: j.fault}
}

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

// taskPaths are the properties of a task that are read and watched.
var taskPaths = []string{"info.state", "info.error"}

// work is what this process remembers of a machine.
type work struct {
	key  cloud.Key
	job  *job
	ran  bool                         // its VM was switched on before
	vm   types.ManagedObjectReference // of its VM, once seen
	lost time.Time                    // when the answer to a request for the VM was lost, the request perhaps not

	// failed is why the last clone failed, and again when the next one may be asked for: longer after each.
	failed error
	again  time.Time
	tries  int

	may suspects // clones that others began and that may make its VM

	deleting bool // the suspects are those of the time after the last Ensure
}

// How long a failed clone is left alone: what made it fail, such as a full datastore, is seldom gone in a second.
const (
	firstPause = 30 * time.Second
	lastPause  = 5 * time.Minute
)

func (w *work) fail(err error, now time.Time) {
	pause := min(firstPause<<min(w.tries, 8), lastPause)
	w.failed, w.again, w.tries = err, now.Add(pause), w.tries+1
}

// suspects are clones that were under way when first asked for and of which nobody can say what they make. They get fewer.
type suspects struct {
	asked bool
	tasks map[types.ManagedObjectReference]bool
}

func (s *suspects) cleared() bool { return s.asked && len(s.tasks) == 0 }

// narrow takes what runs now, apart from what is known to be something else.
func (s *suspects) narrow(running []types.ManagedObjectReference, known map[types.ManagedObjectReference]bool) {
	left := map[types.ManagedObjectReference]bool{}
	for _, t := range running {
		if !known[t] && (!s.asked || s.tasks[t]) {
			left[t] = true
		}
	}
	s.asked, s.tasks = true, left
}

// ledger is the work of all machines. All of it may be lost: then vCenter is asked.
type ledger struct {
	mu   sync.Mutex
	work map[string]*work // by provider id
	own  suspects         // clones of processes before this one
}

// with lets f see and change what is remembered of m. f must not call anybody.
func (l *ledger) with(m cloud.Machine, f func(*work)) {
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

// forget drops what is remembered of m.
func (l *ledger) forget(m cloud.Machine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.work, m.ProviderID)
}

// job returns a copy of m's job.
func (l *ledger) job(m cloud.Machine) (found job, ok bool) {
	l.with(m, func(w *work) {
		if w.job != nil {
			found, ok = *w.job, true
		}
	})
	return found, ok
}

// end removes a job that has ended, if it is still that one.
func (l *ledger) end(m cloud.Machine, task types.ManagedObjectReference) {
	l.with(m, func(w *work) {
		if w.job != nil && w.job.task == task {
			w.job = nil
		}
	})
}

// update takes over a change of a task. It returns the keys of the machines that may want to go on: of its own machine or,
// once a task that nobody knows has ended, of all.
func (l *ledger) update(u types.ObjectUpdate) []cloud.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := job{}
	for _, c := range u.ChangeSet {
		seen.set(c.Name, c.Val)
	}
	for _, w := range l.work {
		if w.job == nil || w.job.task != u.Obj {
			continue
		}
		for _, c := range u.ChangeSet {
			w.job.set(c.Name, c.Val)
		}
		return []cloud.Key{w.key}
	}
	if seen.ended() || u.Kind == types.ObjectUpdateKindLeave {
		return l.keys()
	}
	return nil
}

// tasks lists those that somebody waits for.
func (l *ledger) tasks() []types.ManagedObjectReference {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Keys(l.own.tasks))
	for _, w := range l.work {
		if w.job != nil && !w.job.ended() {
			all = append(all, w.job.task)
		}
		all = slices.AppendSeq(all, maps.Keys(w.may.tasks))
	}
	return all
}

// watched notes of which tasks changes are pushed; of no others are they.
func (l *ledger) watched(tasks map[types.ManagedObjectReference]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.work {
		if w.job != nil {
			w.job.watched = tasks[w.job.task]
		}
	}
}

// all returns the keys of all machines.
func (l *ledger) all() []cloud.Key {
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

// others returns the tasks of all machines but m.
func (l *ledger) others(m cloud.Machine) map[types.ManagedObjectReference]bool {
	known := map[types.ManagedObjectReference]bool{}
	for id, w := range l.work {
		if w.job != nil && id != m.ProviderID {
			known[w.job.task] = true
		}
	}
	return known
}
