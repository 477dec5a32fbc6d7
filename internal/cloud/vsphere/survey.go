package vsphere

import (
	"cmp"
	"context"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// survey is what a decision is made from: what this process remembers of a machine, and what it has found out since.
type survey struct {
	memory work
	now    time.Time

	job    job   // the task that this process began for the machine, as it is now
	jobErr error // why that task failed

	asked   map[question]int // how often each question was asked; the fields below hold the answers
	found                    // what is there; the inventory may know before the vCenter is asked
	synced  bool             // the inventory is up to date
	free    bool             // no VM was seen, and the inventory is up to date and has nothing that could be the machine's
	ran     bool             // the VM was switched on before
	earlier bool             // clones that were begun before this process are under way and may make the VM
	rivals  bool             // clones of any process are under way and may make the VM
	unasked bool             // nobody has asked for the VM

	// lateUntil is until when a request of a process before us may arrive. It is zero when there can be none.
	lateUntil time.Time
}

// gather reads what costs no call: the ledger and the inventory. Only a task of ours that the watch does not follow is polled.
// If a task has just ended, the inventory is not used, because the change may not have arrived there yet: but for those whose
// change can wait.
func (a *account) gather(ctx context.Context, m cloud.Machine) (survey, error) {
	a.ledger.use(m, a.now())
	s := survey{memory: a.ledger.recall(m), now: a.now(), asked: map[question]int{}}
	s.job, s.ran = s.memory.job, s.memory.ran || m.Asked == cloud.Existed
	there := a.inventory.find(m, s.memory.object)
	if s.job.underWay() {
		if err := a.progress(ctx, &s.job, there); err != nil {
			return s, err
		}
	}
	if s.job.ended() {
		s.jobErr = a.ledger.settle(m, s.job, s.now)
		s.memory = a.ledger.recall(m)
	}
	switch s.job.act {
	case cloning, switchingOn:
		if s.job.err() == nil {
			a.saw(m, &s, there)
		}
	case "", erasing:
		a.saw(m, &s, there)
	}
	s.unasked = m.Asked == cloud.NeverAsked && s.memory.clone.Value == "" && s.memory.answerLost.IsZero() &&
		s.memory.object.Value == ""
	s.synced, s.free = a.inventory.isSynced(), s.vm == nil && a.inventory.lacks(m)
	if m.Asked != cloud.Existed && s.memory.object.Value == "" && m.Asked != cloud.NeverAsked {
		s.lateUntil = a.opened.Add(lateRequest)
	}
	return s, nil
}

// findOut asks the vCenter a question and adds the answer to the survey.
func (a *account) findOut(ctx context.Context, m cloud.Machine, q question, s *survey) (err error) {
	s.asked[q]++
	switch q {
	case whatIsThere:
		var f found
		f, err = a.look(ctx, m, *s)
		a.saw(m, s, f)
	case whetherItRan:
		s.ran, err = a.everRan(ctx, s.vm.ref)
		a.ledger.note(m, func(w *work) { w.ran, w.neverRan = s.ran, err == nil && !s.ran && s.synced })
	case earlierClones:
		var ended bool
		s.earlier, ended, err = a.clones.Earlier(ctx, m)
		a.ledger.note(m, func(w *work) { w.unsure = w.unsure || ended })
		s.memory.unsure = s.memory.unsure || ended
	case rivalClones:
		s.rivals, err = a.clones.Rivals(ctx, m, s.allArrived())
	}
	if s.earlier || s.rivals {
		a.follow()
	}
	return err
}

// saw adds what was found to the survey, and remembers the machine's VM, so that we find it even if the vCenter cannot read
// its id any more. A VM that was never proved to be the machine's is not remembered.
func (a *account) saw(m cloud.Machine, s *survey, f found) {
	s.found = f
	if f.vm != nil && f.whose != cloud.Foreign {
		a.ledger.note(m, (*work).stillThere)
	}
	if f.whose != cloud.Ours {
		return
	}
	s.ran = s.ran || f.vm.started()
	a.ledger.note(m, func(w *work) {
		if f.vm.ref != w.object {
			w.object, w.folder = f.vm.ref, ""
		}
		w.folder = cmp.Or(f.vm.parent, w.folder)
		w.ran, w.made = w.ran || s.ran, time.Time{}
		if !w.ran && f.vm.off() && w.idle.IsZero() {
			w.idle = s.now
		}
		s.memory.idle = w.idle
	})
}
