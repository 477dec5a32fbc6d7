package azure

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// place is where a machine's VM is or will be.
type place struct {
	vm    arm.ID
	scope *scope
}

// gather reads what costs no call: the lists and the ledger.
func (a *account) gather(m *cloud.Machine, at place) next.Survey {
	now, w := a.now(), a.ledger.recall(*m)
	if w.was {
		m.Asked = cloud.Existed
	}
	was := knownOf(*m, w)
	s := next.Survey{
		Now: now, Opened: later(a.opened, w.yielded), Looked: w.looked, Missed: w.missed, View: w.view, Put: w.put, Delete: w.del,
		Known: was.VMID, AnswerLost: !w.lost.IsZero(), Removed: w.wasRemoved(was),
	}
	at.scope.mu.Lock()
	s.Listed, s.GroupMissed, s.PowersAwaited = at.scope.listed, at.scope.missed, !at.scope.powered
	at.scope.public = at.scope.public || request.HasPublic(m.Spec.Azure)
	record, rest := a.recognize(*m, at, &s, w)
	s.Known = record.VMID
	s.Left, s.Refused, s.Hidden = at.scope.left(*m, record, now), at.scope.refusal(), at.scope.hidden()
	s.Swept, s.Used = at.scope.swept, at.scope.used[strings.ToLower(m.Name)]
	at.scope.mu.Unlock()
	if left := w.separate.left(); left != nil {
		s.Left = left
	}
	a.learn(*m, record, rest)
	at.scope.power.searched(at.vm, w, &s)
	if s.Seen != nil && s.Seen.Whose == cloud.Ours {
		a.saw(*m, &s, w)
		m.Asked = cloud.Existed
	}
	s.Ran = s.Ran || w.ran
	a.choose(at.vm.Parent(), *m, &s)
	return s
}

// later is the later of when this account was opened and when another one, which may just have asked for the VM, was followed.
func later(opened, yielded time.Time) time.Time {
	if yielded.After(opened) {
		return yielded
	}
	return opened
}

// learn remembers what is known of the machine's VM by Azure's own IDs, and what is left of requests that failed.
func (a *account) learn(m cloud.Machine, record infrav1.AzureRecord, rest []part) {
	w := a.ledger.recall(m)
	if w.record == nil && record.VMID == "" && equality.Semantic.DeepEqual(record, m.Record.Azure) ||
		w.record != nil && equality.Semantic.DeepEqual(record, *w.record) {
		return
	}
	a.ledger.note(m, a.now(), func(w *work) {
		w.record = &record
		for _, one := range rest {
			w.fail(m, belongings.KindOf(one.id), one.id.Name(), one.uniqueID)
		}
	})
}

// recognize looks whose the VM is that Azure shows, and returns what is known of the machine's by Azure's own IDs, and what is
// left of requests that failed. Of a VM that is not proved to be the machine's nothing is known.
func (a *account) recognize(m cloud.Machine, at place, s *next.Survey, w work) (record infrav1.AzureRecord, rest []part) {
	record = knownOf(m, w)
	r := at.scope.latest(m.Name, w.look)
	if r != nil && a.whose(m, at.scope, s, w.look, r) == cloud.Ours {
		at.scope.saw(*r, m)
		record = withParts(record, m, at.scope.parts[r.key])
		if !w.leaving() {
			record.VMID = cmp.Or(record.VMID, r.vmID)
		}
	}
	rest = at.scope.rest(m, w, r)
	return withParts(record, m, rest), rest
}

// whose says whose the VM is that Azure shows, and puts what it shows into the survey.
func (a *account) whose(m cloud.Machine, in *scope, s *next.Survey, of look, r *vmRecord) cloud.Whose {
	shown := r.shown(m)
	// Lists show for minutes what was there.
	shown.Early = of.record == nil || of.record.vmID != r.vmID || !s.Counts(m, of.at)
	whose := s.Whose(m, shown)
	if s.Hides = whose == cloud.Unseen; !s.Hides {
		s.Seen = r.sight(m, in.power.get(r.key), r.addresses(in.addresses))
		s.Seen.Shown, s.Seen.Whose, s.Seen.VM.Size = shown, whose, a.sizeOfVM(*r, m)
	}
	return whose
}

// latest is the VM as the later of list and look has it.
func (s *scope) latest(name string, of look) *vmRecord {
	if of.at.After(s.listed) {
		return of.record
	}
	if r, ok := s.vms[name]; ok {
		return &r
	}
	return nil
}

// saw remembers that the machine's VM is there, and whether it runs. What earlier searches found says nothing from now on.
func (a *account) saw(m cloud.Machine, s *next.Survey, w work) {
	s.Ran = w.ran || s.Seen.Power == next.On
	s.Missed = next.Missed{}
	if s.Seen.State != next.Failed {
		s.View = nil
	}
	accepted := s.Put.Answer != next.Accepted && !w.lost.IsZero()
	if accepted {
		s.Put = next.Put{At: w.lost, Answer: next.Accepted}
	}
	same := w.was && w.ran == s.Ran && w.missed == s.Missed && w.view == s.View && w.sought.IsZero()
	if same && !accepted && len(w.separate.made) == 0 {
		return
	}
	a.ledger.note(m, s.Now, func(w *work) {
		w.was, w.ran, w.missed, w.view, w.put = true, s.Ran, s.Missed, s.View, s.Put
		w.lost, w.separate, w.sought, w.elsewhere = time.Time{}, separate{}, time.Time{}, next.Elsewhere{}
	})
	if s.Ran { // a choice that this process did not make has no size, and nothing is closed by that
		a.closures.opened(homeOf(m).Parent(), locationOf(m), w.choice, s.Put.At)
	}
}

// freshen asks for the lists where no watch does.
func (a *account) freshen(ctx context.Context, s *scope) {
	if a.watching.Load() {
		return
	}
	if !s.unlisted() {
		a.poll(ctx)
	}
}

func asLater(err error) (*cloud.Error, bool) {
	e := (*cloud.Error)(nil)
	return e, errors.As(err, &e) && e.Kind == cloud.Later
}

// look looks at the VM by its ID.
func (a *account) look(ctx context.Context, m cloud.Machine, at place) error {
	began := a.now()
	vm, answer := a.calls.getVM(ctx, at.vm)
	seen := look{at: began}
	switch answer.effect() {
	case fault.GroupGone:
		a.missGroup(ctx, at.scope, began)
		at.scope.power.searchSoon(began)
		a.ledger.note(m, began, func(w *work) { w.looked = began })
		return nil
	case fault.Gone:
	default:
		if answer.verdict != nil {
			return answer.err()
		}
		if r, ok := recordOf(vm); ok {
			seen.record = &r
		}
	}
	s := a.gather(&m, at)
	missed := s.Counts(m, began) && (seen.record == nil || s.Whose(m, seen.record.shown(m)) == cloud.Foreign)
	a.ledger.note(m, began, func(w *work) {
		w.look, w.looked = seen, began
		if missed {
			w.missed = missedOnce(w.missed, began)
			w.lookAt = began.Add(next.Apart)
		}
	})
	if missed && !s.Removed {
		at.scope.power.searchSoon(began)
	}
	return nil
}

func missedOnce(missed next.Missed, at time.Time) next.Missed {
	if missed.Times == 0 {
		missed.First = at
	}
	missed.Times++
	missed.Last = at
	return missed
}

// view asks why the VM failed. What it closes is closed for all machines.
func (a *account) view(ctx context.Context, m cloud.Machine, at place) error {
	view, answer := a.calls.viewVM(ctx, at.vm)
	if answer.verdict != nil {
		return answer.err()
	}
	why, w := whyOf(view.Statuses), a.ledger.recall(m)
	a.ledger.note(m, a.now(), func(w *work) { w.view = &why })
	at.scope.mu.Lock()
	r := at.scope.latest(m.Name, w.look)
	at.scope.mu.Unlock()
	if r != nil {
		a.closures.shut(at.vm.Parent(), locationOf(m), request.Choice{Size: r.size, Zone: r.zone}, why, a.now())
	}
	return nil
}
