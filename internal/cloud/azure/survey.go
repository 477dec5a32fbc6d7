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
func (a *account) gather(m *cloud.Machine, target place) next.Survey {
	now, w := a.now(), a.ledger.recall(*m)
	if w.existed {
		m.Asked = cloud.Existed
	}
	recorded := knownOf(*m, w)
	s := next.Survey{
		Now: now, Opened: laterOf(a.opened, w.yielded), Looked: w.looked, Missed: w.missed, View: w.view, Put: w.put, Delete: w.del,
		VMID: recorded.VMID, AnswerLost: !w.lost.IsZero(), Removed: w.wasRemoved(recorded),
	}
	var record infrav1.AzureRecord
	var rest []lists.Part
	target.scope.Do(func(state *lists.State) {
		s.Listed, s.GroupMissed, s.PowersAwaited = state.Listed, state.Missed, !state.Powered
		state.Public = state.Public || request.HasPublic(m.Spec.Azure)
		record, rest = a.recognize(*m, state, &s, w)
		s.Left, s.Refused, s.Hidden = state.Left(*m, record, now), state.Refusal(), state.Hidden()
		s.Swept, s.Used = state.Swept, state.Used[strings.ToLower(m.Name)]
	})
	s.VMID = record.VMID
	if left := w.separate.left(); left != nil {
		s.Left = left
	}
	a.learn(*m, record, rest)
	w.searched(target.scope.Power, target.vm, &s)
	if s.Seen != nil && s.Seen.Owner == cloud.Ours {
		a.saw(*m, &s, w)
		m.Asked = cloud.Existed
	}
	s.Ran = s.Ran || w.ran
	a.choose(target.vm.Parent(), *m, &s)
	return s
}

// laterOf is the later of two times: when this account was opened, and when it followed another one, which may just have asked
// for the VM.
func laterOf(opened, yielded time.Time) time.Time {
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
		for _, part := range rest {
			w.fail(m, belongings.KindOf(part.ID), part.ID.Name(), part.UniqueID)
		}
	})
}

// recognize finds out whose VM Azure shows, and returns what is known of the machine's by Azure's own IDs, and what is left of
// requests that failed. Of a VM that is not proved to be the machine's nothing is known.
func (a *account) recognize(m cloud.Machine, in *lists.State, s *next.Survey, w work) (
	record infrav1.AzureRecord, rest []lists.Part,
) {
	record = knownOf(m, w)
	r := in.Latest(m.Name, w.look)
	if r != nil && a.identify(m, in, s, w.look, r) == cloud.Ours {
		in.Remember(*r, m)
		record = withParts(record, m, in.Parts[r.Key])
		if !w.leaving() {
			record.VMID = cmp.Or(record.VMID, r.VMID)
		}
	}
	rest = w.rest(in, m, r)
	return withParts(record, m, rest), rest
}

// identify finds out whose VM Azure shows, and puts what it shows into the survey.
func (a *account) identify(m cloud.Machine, in *lists.State, s *next.Survey, look lists.Look, r *lists.Record) cloud.Whose {
	shown := r.Shown(m)
	// Lists show for minutes what was there.
	shown.Early = look.Record == nil || look.Record.VMID != r.VMID || !s.Counts(m, look.Began)
	owner := s.OwnerOf(m, shown)
	if s.Hides = owner == cloud.Unseen; !s.Hides {
		s.Seen = r.Sight(m, in.Power.Get(r.Key), r.Addresses(in.Addresses))
		s.Seen.Shown, s.Seen.Owner, s.Seen.VM.Size = shown, owner, a.sizeOfVM(*r, m)
	}
	return owner
}

// saw remembers that the machine's VM is there, and whether it runs. What earlier searches found counts no more.
func (a *account) saw(m cloud.Machine, s *next.Survey, w work) {
	s.Ran = w.ran || s.Seen.Power == next.PoweredOn
	s.Missed = next.Missed{}
	if s.Seen.State != next.Failed {
		s.View = nil
	}
	accepted := s.Put.Answer != next.Accepted && !w.lost.IsZero()
	if accepted {
		s.Put = next.Put{Sent: w.lost, Answer: next.Accepted}
	}
	unchanged := w.existed && w.ran == s.Ran && w.missed == s.Missed && w.view == s.View && w.sought.IsZero()
	if unchanged && !accepted && len(w.separate.made) == 0 {
		return
	}
	a.ledger.note(m, s.Now, func(w *work) {
		w.existed, w.ran, w.missed, w.view, w.put = true, s.Ran, s.Missed, s.View, s.Put
		w.lost, w.separate, w.sought, w.elsewhere = time.Time{}, separate{}, time.Time{}, next.Elsewhere{}
	})
	if s.Ran { // a choice that this process did not make has no size, and nothing is closed by that
		a.blocks.unblock(homeOf(m).Parent(), locationOf(m), w.choice, s.Put.Sent)
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
func (a *account) look(ctx context.Context, m cloud.Machine, target place) error {
	began := a.now()
	vm, answer := a.calls.GetVM(ctx, target.vm)
	seen := lists.Look{Began: began}
	switch answer.Effect() {
	case fault.GroupGone:
		a.missGroup(ctx, target.scope, began)
		target.scope.Power.SearchSoon(began)
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
	s := a.gather(&m, target)
	missed := s.Counts(m, began) && (seen.Record == nil || s.OwnerOf(m, seen.Record.Shown(m)) == cloud.Foreign)
	a.ledger.note(m, began, func(w *work) {
		w.look, w.looked = seen, began
		if missed {
			w.missed = w.missed.Add(began)
			w.lookAt = began.Add(next.Apart)
		}
	})
	if missed && !s.Removed {
		target.scope.Power.SearchSoon(began)
	}
	return nil
}

// view asks why the VM failed. What the verdict closes is blocked for all machines.
func (a *account) view(ctx context.Context, m cloud.Machine, target place) error {
	view, answer := a.calls.ViewVM(ctx, target.vm)
	if answer.Verdict != nil {
		return answer.Err()
	}
	verdict, w := lists.VerdictOf(view.Statuses), a.ledger.recall(m)
	a.ledger.note(m, a.now(), func(w *work) { w.view = &verdict })
	if r := target.scope.Latest(m.Name, w.look); r != nil {
		a.blocks.block(target.vm.Parent(), locationOf(m), request.Choice{Size: r.Size, Zone: r.Zone}, verdict, a.now())
	}
	return nil
}

// seekAgain is when the next search is due, if a list has more VMs of a machine's name than one search looks at.
const seekAgain = 2 * time.Minute

// searched reads from the list of the subscription whether the machine's VM may be in another group. A list that has a VM which a
// look did not find is older than that look.
func (w work) searched(p *lists.Powers, vm arm.ID, s *next.Survey) {
	namesakes, home, listed := p.Namesakes(vm)
	s.Sought, s.Elsewhere, s.Unsearched = w.sought, w.elsewhere, p.Refusal()
	if len(namesakes) > 0 {
		s.Candidates = listed.After(w.sought)
	} else if listed.After(w.sought) && (!home || s.Seen != nil) {
		s.Sought, s.Elsewhere = listed, next.Elsewhere{}
	}
}

// seek looks at the VMs of the machine's name that the list of the subscription has in other groups: a VM that was moved keeps
// its name and Azure's own ID of it, while tags may be changed by a policy of the other group.
func (a *account) seek(ctx context.Context, m cloud.Machine, target place) error {
	namesakes, _, listed := target.scope.Power.Namesakes(target.vm)
	elsewhere := next.Elsewhere{}
	for _, id := range namesakes[:min(lists.MaxMoved, len(namesakes))] {
		owner, err := a.whoseIs(ctx, m, id)
		if err != nil {
			return err
		}
		if owner == cloud.Ours {
			elsewhere = next.Elsewhere{Group: id.Group}
			break
		}
		if owner == cloud.Unproved { // another one may be proved
			elsewhere = next.Elsewhere{Group: id.Group, Unproved: true}
		}
	}
	if elsewhere.Group == "" && len(namesakes) > lists.MaxMoved {
		return tooMany(m)
	}
	a.ledger.note(m, a.now(), func(w *work) { w.sought, w.elsewhere = listed, elsewhere })
	return nil
}

// tooMany is the error if the machine's VM may be one of those that were not looked at.
func tooMany(m cloud.Machine) *cloud.Error {
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason,
		"more than %d VMs named %q are in other resource groups, and the machine's VM may be one of them: remove those that nobody "+
			"needs", lists.MaxMoved, m.Name)
	err.After = seekAgain
	return err
}

// whoseIs finds out whose a VM in another group is. With all marks of the machine it may be the machine's, even if nothing proves
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
	survey, shown := next.Survey{VMID: knownOf(m, a.ledger.recall(m)).VMID}, r.Shown(m)
	owner := survey.OwnerOf(m, shown)
	if owner == cloud.Unproved && !shown.Marked {
		return cloud.Foreign, nil
	}
	return owner, nil
}
