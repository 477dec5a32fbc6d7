package vsphere

import (
	"context"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// survey is all that a decision is made of: what this process remembers of a machine, and what it has asked so far.
type survey struct {
	memory work
	now    time.Time

	job    job   // the task that this process began for the machine, as it is now
	jobErr error // why that task failed

	found        // what is there, from the inventory or from a look
	looks int    // how often the vCenter was asked for that
	ran   answer // the VM was switched on before

	earlier answer // clones from the time before this process are under way, and may make the VM
	rivals  answer // clones that may make the VM are under way, whoever began them
}

// answer to a question that costs a call to the vCenter.
type answer string

const (
	unasked answer = ""
	yes     answer = "yes"
	no      answer = "no"
)

func answerOf(so bool) answer {
	if so {
		return yes
	}
	return no
}

// survey gathers what costs nothing: the memory and the inventory. Only a task of our own that the watch does not follow is
// asked for. The inventory is not used when a task has just ended, because that change may not have got there yet.
func (a *account) survey(ctx context.Context, m cloud.Machine) (survey, error) {
	s := survey{memory: a.ledger.recall(m), now: a.now()}
	s.job = s.memory.job
	if s.job.act == "" {
		if vm := a.inventory.vmOf(m); vm != nil {
			a.saw(m, &s, found{ours, vm})
		}
		return s, nil
	}
	if !s.job.watched && !s.job.ended() {
		if err := a.poll(ctx, &s.job); err != nil {
			return s, err
		}
	}
	if s.job.ended() {
		s.jobErr = a.ledger.settle(m, s.job, s.now)
	}
	return s, nil
}

// answer asks the vCenter and adds its answer to the survey.
func (a *account) answer(ctx context.Context, m cloud.Machine, q question, s *survey) (err error) {
	switch q {
	case whatIsThere:
		var f found
		f, err = a.look(ctx, m, s.memory.object)
		a.saw(m, s, f)
		s.looks++
	case whetherItRan:
		s.ran, err = a.everRan(ctx, m, s.vm.ref)
	case earlierClones:
		s.earlier, err = a.clonesLeft(ctx, m, earlier)
	case rivalClones:
		s.rivals, err = a.clonesLeft(ctx, m, rivals)
	}
	return err
}

// saw takes over what was found, and remembers the VM: it will be looked for even when the vCenter no longer tells its id.
func (a *account) saw(m cloud.Machine, s *survey, f found) {
	s.found = f
	if f.what != ours {
		return
	}
	a.ledger.note(m, func(w *work) {
		w.object, w.ran = f.vm.ref, w.ran || f.vm.started()
		if w.ran {
			s.ran = yes
		}
	})
}
