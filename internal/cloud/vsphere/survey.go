package vsphere

import (
	"cmp"
	"context"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/seen"
)

// gather collects what costs no call, from the ledger and the inventory. Only a task of ours that the watch does not follow is
// polled. If a task has just ended, the inventory is not used, because the change may not have arrived there yet; goals for
// which the change can wait are an exception.
func (a *account) gather(ctx context.Context, m cloud.Machine) (next.Survey, error) {
	a.ledger.use(m, a.now())
	w := a.ledger.recall(m)
	s := next.Survey{Memory: w.Memory, Now: a.now(), Asked: map[next.Act]int{}, Job: w.job, Ran: w.ran || m.Asked == cloud.Existed}
	found := a.inventory.Find(m, s.Memory.Object)
	if s.Job.UnderWay() {
		if err := a.progress(ctx, &s.Job, found); err != nil {
			return s, err
		}
	}
	if s.Job.Ended() {
		s.JobErr = a.ledger.settle(m, s.Job, s.Now)
		w = a.ledger.recall(m)
		s.Memory = w.Memory
	}
	switch s.Job.Act {
	case next.Clone, next.SwitchOn:
		if s.Job.Err() == nil {
			a.saw(m, &s, found)
		}
	case "", next.Erase:
		a.saw(m, &s, found)
	}
	s.Unasked = m.Asked == cloud.NeverAsked && w.clone.Value == "" && s.Memory.AnswerLost.IsZero() &&
		s.Memory.Object.Value == ""
	s.Synced, s.Free = a.inventory.IsSynced(), s.VM == nil && a.inventory.Lacks(m)
	if m.Asked != cloud.Existed && s.Memory.Object.Value == "" && m.Asked != cloud.NeverAsked {
		s.LateUntil = a.opened.Add(next.LateRequest)
	}
	return s, nil
}

// findOut asks the vCenter a question and adds the answer to the survey.
func (a *account) findOut(ctx context.Context, m cloud.Machine, q next.Act, s *next.Survey) (err error) {
	s.Asked[q]++
	switch q {
	case next.Look:
		var f seen.Found
		f, err = a.look(ctx, m, *s)
		a.saw(m, s, f)
	case next.Events:
		s.Ran, err = a.everRan(ctx, s.VM.Ref)
		a.ledger.note(m, func(w *work) { w.ran, w.NeverRan = s.Ran, err == nil && !s.Ran && s.Synced })
	case next.Earlier:
		var ended bool
		s.Earlier, ended, err = a.clones.Earlier(ctx, m)
		a.ledger.note(m, func(w *work) { w.Unsure = w.Unsure || ended })
		s.Memory.Unsure = s.Memory.Unsure || ended
	case next.Rivals:
		s.Rivals, err = a.clones.Rivals(ctx, m, s.AllArrived())
	}
	if s.Earlier || s.Rivals {
		a.follow()
	}
	return err
}

// saw adds what was found to the survey, and remembers the machine's VM, so that we find it even if the vCenter cannot read
// its id any more. A VM that was never proved to be the machine's is not remembered.
func (a *account) saw(m cloud.Machine, s *next.Survey, f seen.Found) {
	s.Found = f
	if f.VM == nil || f.Whose == cloud.Foreign {
		return
	}
	a.ledger.note(m, func(w *work) {
		if w.job.Act != next.Destroy { // then an accepted deletion has failed, also one of an earlier process
			w.deletion = ""
		}
		if f.Whose != cloud.Ours {
			return
		}
		if f.VM.Ref != w.Object {
			w.Object, w.Folder = f.VM.Ref, ""
		}
		w.Folder = cmp.Or(f.VM.Parent, w.Folder)
		s.Ran = s.Ran || f.VM.Started()
		w.ran, w.Made = w.ran || s.Ran, time.Time{}
		if !w.ran && f.VM.PoweredOff() && w.Idle.IsZero() {
			w.Idle = s.Now
		}
		s.Memory.Idle = w.Idle
	})
}
