package azure

import (
	"cmp"
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// place is where a machine's VM is or will be.
type place struct {
	vm    arm.ID
	scope *lists.Scope
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
	var record infrav1.AzureRecord
	var rest []lists.Part
	at.scope.Do(func(state *lists.State) {
		s.Listed, s.GroupMissed, s.PowersAwaited = state.Listed, state.Missed, !state.Powered
		state.Public = state.Public || request.HasPublic(m.Spec.Azure)
		record, rest = a.recognize(*m, state, &s, w)
		s.Left, s.Refused, s.Hidden = state.Left(*m, record, now), state.Refusal(), state.Hidden()
		s.Swept, s.Used = state.Swept, state.Used[strings.ToLower(m.Name)]
	})
	s.Known = record.VMID
	if left := w.separate.left(); left != nil {
		s.Left = left
	}
	a.learn(*m, record, rest)
	w.searched(at.scope.Power, at.vm, &s)
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
func (a *account) learn(m cloud.Machine, record infrav1.AzureRecord, rest []lists.Part) {
	w := a.ledger.recall(m)
	if w.record == nil && record.VMID == "" && equality.Semantic.DeepEqual(record, m.Record.Azure) ||
		w.record != nil && equality.Semantic.DeepEqual(record, *w.record) {
		return
	}
	a.ledger.note(m, a.now(), func(w *work) {
		w.record = &record
		for _, one := range rest {
			w.fail(m, belongings.KindOf(one.ID), one.ID.Name(), one.UniqueID)
		}
	})
}

// recognize looks whose the VM is that Azure shows, and returns what is known of the machine's by Azure's own IDs, and what is
// left of requests that failed. Of a VM that is not proved to be the machine's nothing is known.
func (a *account) recognize(m cloud.Machine, in *lists.State, s *next.Survey, w work) (
	record infrav1.AzureRecord, rest []lists.Part,
) {
	record = knownOf(m, w)
	r := in.Latest(m.Name, w.look)
	if r != nil && a.whose(m, in, s, w.look, r) == cloud.Ours {
		in.Remember(*r, m)
		record = withParts(record, m, in.Parts[r.Key])
		if !w.leaving() {
			record.VMID = cmp.Or(record.VMID, r.VMID)
		}
	}
	rest = w.rest(in, m, r)
	return withParts(record, m, rest), rest
}

// whose says whose the VM is that Azure shows, and puts what it shows into the survey.
func (a *account) whose(m cloud.Machine, in *lists.State, s *next.Survey, of lists.Look, r *lists.Record) cloud.Whose {
	shown := r.Shown(m)
	// Lists show for minutes what was there.
	shown.Early = of.Record == nil || of.Record.VMID != r.VMID || !s.Counts(m, of.At)
	whose := s.Whose(m, shown)
	if s.Hides = whose == cloud.Unseen; !s.Hides {
		s.Seen = r.Sight(m, in.Power.Get(r.Key), r.Addresses(in.Addresses))
		s.Seen.Shown, s.Seen.Whose, s.Seen.VM.Size = shown, whose, a.sizeOfVM(*r, m)
	}
	return whose
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
func (a *account) freshen(ctx context.Context, s *lists.Scope) {
	if a.watching.Load() {
		return
	}
	if !s.Unlisted() {
		a.poll(ctx)
	}
}

// look looks at the VM by its ID.
func (a *account) look(ctx context.Context, m cloud.Machine, at place) error {
	began := a.now()
	vm, answer := a.calls.GetVM(ctx, at.vm)
	seen := lists.Look{At: began}
	switch answer.Effect() {
	case fault.GroupGone:
		a.missGroup(ctx, at.scope, began)
		at.scope.Power.SearchSoon(began)
		a.ledger.note(m, began, func(w *work) { w.looked = began })
		return nil
	case fault.Gone:
	default:
		if answer.Verdict != nil {
			return answer.Err()
		}
		if r, ok := lists.RecordOf(vm); ok {
			seen.Record = &r
		}
	}
	s := a.gather(&m, at)
	missed := s.Counts(m, began) && (seen.Record == nil || s.Whose(m, seen.Record.Shown(m)) == cloud.Foreign)
	a.ledger.note(m, began, func(w *work) {
		w.look, w.looked = seen, began
		if missed {
			w.missed = w.missed.Again(began)
			w.lookAt = began.Add(next.Apart)
		}
	})
	if missed && !s.Removed {
		at.scope.Power.SearchSoon(began)
	}
	return nil
}

// view asks why the VM failed. What it closes is closed for all machines.
func (a *account) view(ctx context.Context, m cloud.Machine, at place) error {
	view, answer := a.calls.ViewVM(ctx, at.vm)
	if answer.Verdict != nil {
		return answer.Err()
	}
	why, w := lists.WhyOf(view.Statuses), a.ledger.recall(m)
	a.ledger.note(m, a.now(), func(w *work) { w.view = &why })
	if r := at.scope.Latest(m.Name, w.look); r != nil {
		a.closures.shut(at.vm.Parent(), locationOf(m), request.Choice{Size: r.Size, Zone: r.Zone}, why, a.now())
	}
	return nil
}

// seekAgain is when the next search is due, if a list has more VMs of a machine's name than one search looks at.
const seekAgain = 2 * time.Minute

// searched reads from the list of the subscription whether the machine's VM may be in another group. A list that has a VM which a
// look did not find is older than that look.
func (w work) searched(p *lists.Powers, vm arm.ID, s *next.Survey) {
	others, home, listed := p.Others(vm)
	s.Sought, s.Elsewhere, s.Unsearched = w.sought, w.elsewhere, p.Refusal()
	if len(others) > 0 {
		s.Candidates = listed.After(w.sought)
	} else if listed.After(w.sought) && (!home || s.Seen != nil) {
		s.Sought, s.Elsewhere = listed, next.Elsewhere{}
	}
}

// seek looks at the VMs of the machine's name that the list of the subscription has in other groups: a VM that was moved keeps
// its name and Azure's own ID of it, while tags may be changed by a policy of the other group.
func (a *account) seek(ctx context.Context, m cloud.Machine, at place) error {
	others, _, listed := at.scope.Power.Others(at.vm)
	elsewhere := next.Elsewhere{}
	for _, id := range others[:min(lists.MaxMoved, len(others))] {
		whose, err := a.whoseIs(ctx, m, id)
		if err != nil {
			return err
		}
		if whose == cloud.Ours {
			elsewhere = next.Elsewhere{Group: id.Group}
			break
		}
		if whose == cloud.Unproved { // another one may be proved
			elsewhere = next.Elsewhere{Group: id.Group, Unproved: true}
		}
	}
	if elsewhere.Group == "" && len(others) > lists.MaxMoved {
		return tooMany(m)
	}
	a.ledger.note(m, a.now(), func(w *work) { w.sought, w.elsewhere = listed, elsewhere })
	return nil
}

// tooMany is told if the machine's VM may be one of those that were not looked at.
func tooMany(m cloud.Machine) *cloud.Error {
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason,
		"more than %d VMs named %q are in other resource groups, and the machine's VM may be one of them: remove those that nobody "+
			"needs", lists.MaxMoved, m.Name)
	err.After = seekAgain
	return err
}

// whoseIs looks whose a VM in another group is. With all marks of the machine it may be the machine's, even if nothing proves
// them: the machine may come from a backup. A VM of that name without them is nobody's that we know.
func (a *account) whoseIs(ctx context.Context, m cloud.Machine, id arm.ID) (cloud.Whose, error) {
	found, answer := a.calls.GetVM(ctx, id)
	switch {
	case answer.Effect() == fault.Gone, answer.Effect() == fault.GroupGone:
		return cloud.Unseen, nil
	case answer.Verdict != nil:
		return cloud.Unseen, answer.Err()
	}
	r, ok := lists.RecordOf(found)
	if !ok {
		return cloud.Unseen, nil
	}
	known, shown := next.Survey{Known: knownOf(m, a.ledger.recall(m)).VMID}, r.Shown(m)
	whose := known.Whose(m, shown)
	if whose == cloud.Unproved && !shown.Marked {
		return cloud.Foreign, nil
	}
	return whose, nil
}
