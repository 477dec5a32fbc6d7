package azure

import (
	"cmp"
	"context"
	"slices"
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

// pursuit is what the account does for one machine.
type pursuit struct {
	*account
	m     cloud.Machine
	vm    arm.ID // of its VM, which may not be there
	scope *lists.Scope
	cache *sizeCache // of its location; nil if it has none
}

func (p *pursuit) recall() work { return p.ledger.recall(p.m) }

func (p *pursuit) note(change func(*work)) { p.ledger.note(p.m, p.now(), change) }

// gather reads what costs no call: the lists and the ledger.
func (p *pursuit) gather() next.Survey {
	now, w := p.now(), p.recall()
	if w.existed {
		p.m.Asked = cloud.Existed
	}
	record := knownOf(p.m, w)
	s := next.Survey{Memory: w.Memory, Now: now, Opened: p.opened, VMID: record.VMID, Removed: w.wasRemoved(record)}
	if w.yielded.After(s.Opened) {
		s.Opened = w.yielded // the account that was followed may just have asked for the VM
	}
	var rest []lists.Part
	p.scope.Do(func(state *lists.State) {
		s.Listed, s.GroupMissed, s.PowersAwaited = state.Listed, state.Missed, !state.Powered
		state.Public = state.Public || request.HasPublic(p.m.Spec.Azure)
		record, rest = p.recognize(state, &s, w)
		if len(state.Remnants) > 0 {
			s.Left = state.Left(p.m, record, now)
		}
		s.Refused, s.Hidden = state.Refusal(), state.Hidden()
		s.Swept, s.Used = state.Swept, state.Used[strings.ToLower(p.m.Name)]
	})
	s.VMID = record.VMID
	if made := w.separate.made; len(made) > 0 { // nobody else needs these adapters, so they go at once
		s.Left = &next.Remnant{ID: made[0].id.String()}
	}
	p.learn(w, record, rest)
	p.searched(&s)
	if s.Seen != nil && s.Seen.Owner == cloud.Ours {
		p.saw(&s, w)
		p.m.Asked = cloud.Existed
	}
	p.choose(&s)
	return s
}

// learn remembers what is known of the machine's VM by Azure's own IDs, and what is left of requests that failed.
func (p *pursuit) learn(w work, record infrav1.AzureRecord, rest []lists.Part) {
	owned := w.record != nil || record.VMID == ""
	if owned && equality.Semantic.DeepEqual(record, knownOf(p.m, w)) {
		return
	}
	p.note(func(w *work) {
		w.record = &record
		for _, part := range rest {
			w.fail(p.m, belongings.KindOf(part.ID), part.ID.Name(), part.UniqueID)
		}
	})
}

// recognize finds out whose VM Azure shows, and returns what is known of the machine's by Azure's own IDs, and what is left of
// requests that failed. Of a VM that is not proved to be the machine's nothing is known.
func (p *pursuit) recognize(in *lists.State, s *next.Survey, w work) (record infrav1.AzureRecord, rest []lists.Part) {
	record = knownOf(p.m, w)
	r := in.Latest(p.m.Name, w.look)
	var parts []lists.Part
	if r != nil && p.identify(in, s, w.look, r) == cloud.Ours {
		in.Remember(*r, p.m)
		parts = in.Parts[r.Key]
		if !w.leaving() {
			record.VMID = cmp.Or(record.VMID, r.VMID)
		}
	}
	if len(in.Remnants) > 0 {
		rest = w.rest(in, p.m, r)
	}
	for _, part := range slices.Concat(parts, rest) {
		record = belongings.Add(record, p.m, part.ID, part.UniqueID)
	}
	return record, rest
}

// identify finds out whose VM Azure shows, and puts what it shows into the survey.
func (p *pursuit) identify(in *lists.State, s *next.Survey, look lists.Look, r *lists.Record) cloud.Whose {
	shown := r.Shown(p.m)
	// Lists show for minutes what was there.
	shown.Early = look.Record == nil || look.Record.VMID != r.VMID || !s.Counts(p.m, look.Began)
	owner := s.OwnerOf(p.m, shown)
	if s.Hides = owner == cloud.Unseen; !s.Hides {
		s.Seen = r.Sight(p.m, in.Power.Get(r.Key), r.Addresses(in.Addresses))
		size := p.size(r.Size)
		s.Seen.Shown, s.Seen.Owner, s.Seen.VM.Size = shown, owner, cloud.Size{CPUs: size.CPUs, MemoryMiB: size.MemoryMiB}
	}
	return owner
}

// saw remembers that the machine's VM is there, and whether it runs. What earlier searches found counts no more.
func (p *pursuit) saw(s *next.Survey, w work) {
	s.Ran, s.Missed = s.Ran || s.Seen.Power == next.PoweredOn, next.Missed{}
	if s.Seen.State != next.Failed {
		s.View = nil
	}
	if s.Put.Answer != next.Accepted && !s.Lost.IsZero() {
		s.Put = next.Put{Sent: s.Lost, Answer: next.Accepted}
	}
	seen := s.Memory
	seen.Lost, seen.Sought, seen.Elsewhere = time.Time{}, time.Time{}, next.Elsewhere{}
	if w.existed && w.Memory == seen && len(w.separate.made) == 0 {
		return
	}
	p.note(func(w *work) { w.Memory, w.existed, w.separate = seen, true, separate{} })
	if s.Ran { // a choice that this process did not make has no size, and nothing is closed by that
		p.blocks.unblock(p.region(), w.choice, s.Put.Sent)
	}
}

// look looks at the VM by its ID.
func (p *pursuit) look(ctx context.Context) error {
	began := p.now()
	vm, answer := p.calls.GetVM(ctx, p.vm)
	seen := lists.Look{Began: began}
	switch answer.Effect() {
	case fault.GroupGone:
		p.missGroup(ctx, p.scope, began)
		p.scope.Power.SearchSoon(began)
		p.note(func(w *work) { w.Looked = began })
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
	s := p.gather()
	missed := s.Counts(p.m, began) && (seen.Record == nil || s.OwnerOf(p.m, seen.Record.Shown(p.m)) == cloud.Foreign)
	p.note(func(w *work) {
		w.look, w.Looked = seen, began
		if missed {
			w.Missed = w.Missed.Add(began)
			w.lookAt = began.Add(next.Apart)
		}
	})
	if missed && !s.Removed {
		p.scope.Power.SearchSoon(began)
	}
	return nil
}

// view asks why the VM failed. What the verdict closes is blocked for all machines.
func (p *pursuit) view(ctx context.Context) error {
	view, answer := p.calls.ViewVM(ctx, p.vm)
	if answer.Verdict != nil {
		return answer.Err()
	}
	verdict, w := lists.VerdictOf(view.Statuses), p.recall()
	p.note(func(w *work) { w.View = &verdict })
	if r := p.scope.Latest(p.m.Name, w.look); r != nil {
		p.blocks.block(p.region(), request.Choice{Size: r.Size, Zone: r.Zone}, verdict, p.now())
	}
	return nil
}

// seekAgain is when the next search is due, if a list has more VMs of a machine's name than one search looks at.
const seekAgain = 2 * time.Minute

// searched reads from the list of the subscription whether the machine's VM may be in another group. A list that has a VM which a
// look did not find is older than that look.
func (p *pursuit) searched(s *next.Survey) {
	namesakes, home, listed := p.scope.Power.Namesakes(p.vm)
	s.Unsearched = p.scope.Power.Refusal()
	switch later := listed.After(s.Sought); {
	case len(namesakes) > 0:
		s.Candidates = later
	case later && (!home || s.Seen != nil):
		s.Sought, s.Elsewhere = listed, next.Elsewhere{}
	}
}

// seek looks at the VMs of the machine's name that the list of the subscription has in other groups: a VM that was moved keeps
// its name and Azure's own ID of it, while tags may be changed by a policy of the other group.
func (p *pursuit) seek(ctx context.Context) error {
	namesakes, _, listed := p.scope.Power.Namesakes(p.vm)
	elsewhere := next.Elsewhere{}
	for _, id := range namesakes[:min(lists.MaxMoved, len(namesakes))] {
		owner, err := p.whoseIs(ctx, id)
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
		return tooMany(p.m)
	}
	p.note(func(w *work) { w.Sought, w.Elsewhere = listed, elsewhere })
	return nil
}

// tooMany is the error if the machine's VM may be one of those that were not looked at.
func tooMany(m cloud.Machine) *cloud.Error {
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason,
		"more than %d VMs named %q are in other resource groups, and the machine's VM may be one of them: remove those that are not "+
			"needed", lists.MaxMoved, m.Name)
	err.After = seekAgain
	return err
}

// whoseIs finds out whose a VM in another group is. With all marks of the machine it may be the machine's, even if nothing proves
// them: the machine may come from a backup. A VM of that name without them is nobody's that we know.
func (p *pursuit) whoseIs(ctx context.Context, id arm.ID) (cloud.Whose, error) {
	found, answer := p.calls.GetVM(ctx, id)
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
	survey, shown := next.Survey{VMID: knownOf(p.m, p.recall()).VMID}, r.Shown(p.m)
	owner := survey.OwnerOf(p.m, shown)
	if owner == cloud.Unproved && !shown.Marked {
		return cloud.Foreign, nil
	}
	return owner, nil
}
