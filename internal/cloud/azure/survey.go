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
	s := next.Survey{
		Now: now, Opened: a.opened, Looked: w.looked, Missed: w.missed, View: w.view, Put: w.put, Delete: w.del,
		Sought: w.sought, Elsewhere: w.elsewhere, LostPut: !w.lost.IsZero(),
	}
	at.scope.mu.Lock()
	s.Listed, s.GroupMissed, s.PowersAwaited = at.scope.listed, at.scope.missed, !at.scope.powered
	at.scope.public = at.scope.public || request.HasPublic(m.Spec.Azure)
	record, rest := a.recognize(*m, at, &s, w)
	s.Known = record.VMID != "" || m.Record.Azure.VMID != ""
	s.Left, s.Refused, s.Hidden = at.scope.left(*m, record, now), at.scope.refusal(), at.scope.hidden()
	s.Swept, s.Used = at.scope.swept, at.scope.used[strings.ToLower(m.Name)]
	at.scope.mu.Unlock()
	if left := w.separate.left(); left != nil {
		s.Left = left
	}
	if !equality.Semantic.DeepEqual(record, knownOf(*m, w)) {
		a.ledger.note(*m, now, func(w *work) {
			w.record = &record
			for _, one := range rest {
				w.fail(*m, belongings.KindOf(one.id), one.id.Name(), one.uniqueID)
			}
		})
	}
	if s.Seen != nil && s.Seen.Ours {
		a.saw(*m, &s, w)
		w.was = true
	}
	s.Ran = s.Ran || w.ran
	if w.was {
		m.Asked = cloud.Existed
	}
	a.choose(at.vm.Parent(), *m, &s)
	return s
}

// recognize looks whether the VM that Azure shows is the machine's, and returns what is known of it by Azure's own IDs, and what
// is left of requests that failed.
func (a *account) recognize(m cloud.Machine, at place, s *next.Survey, w work) (record infrav1.AzureRecord, rest []part) {
	record = knownOf(m, w)
	r, looked := at.scope.latest(m.Name, w.look)
	if r != nil {
		ours, other := identify(m, record.VMID, *r)
		s.Shadowed = other && (!looked || !s.Counts(m, w.look.at)) // lists show for minutes what had the name before
		if !s.Shadowed {
			s.Seen = r.sight(m, at.scope.power.get(r.key), r.addresses(at.scope.addresses))
			s.Seen.Ours, s.Seen.Other, s.Seen.VM.Size = ours, other, a.sizeOfVM(*r, m)
		}
		if ours && !w.leaving() {
			record.VMID = cmp.Or(record.VMID, r.vmID)
		}
		if ours {
			record = withParts(record, m, at.scope.parts[r.key])
		}
	}
	rest = at.scope.rest(m, w, r)
	return withParts(record, m, rest), rest
}

// latest is the VM as the later of list and look has it, and whether that is the look.
func (s *scope) latest(name string, of look) (r *vmRecord, looked bool) {
	if of.at.After(s.listed) {
		return of.record, true
	}
	if r, ok := s.vms[name]; ok {
		return &r, false
	}
	return nil, false
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
		w.lost, w.separate, w.sought, w.elsewhere = time.Time{}, separate{}, time.Time{}, ""
	})
	if s.Ran && w.choice.Size != "" {
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
	counts := a.gather(&m, at).Counts(m, began)
	a.ledger.note(m, began, func(w *work) {
		w.look, w.looked = seen, began
		if seen.record == nil && counts {
			w.missed = missedOnce(w.missed, began)
			w.lookAt = began.Add(next.Apart)
		}
	})
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
	r, _ := at.scope.latest(m.Name, w.look)
	at.scope.mu.Unlock()
	if r != nil {
		a.closures.shut(at.vm.Parent(), locationOf(m), request.Choice{Size: r.size, Zone: r.zone}, why, a.now())
	}
	return nil
}

// maxMoved is how many VMs of a machine's name and tag in other groups a search looks at. If there are more, and the machine's is
// not found, the next search is due after seekAgain.
const (
	maxMoved  = 5
	seekAgain = 2 * time.Minute
)

// seek searches the subscription for the machine's VM in other groups: a VM that was moved keeps its name, its tags and Azure's
// own ID of it. An identity that may not list the subscription is shown the groups that it may read.
func (a *account) seek(ctx context.Context, m cloud.Machine) error {
	began := a.now()
	all, answer := a.calls.listTagged(ctx, m)
	if answer.verdict != nil {
		return answer.err()
	}
	var others []arm.ID
	for _, one := range all {
		if id, ok := arm.Parse(one.ID); ok && mayBeMoved(m, id) {
			others = append(others, id)
		}
	}
	elsewhere := ""
	for _, id := range others[:min(maxMoved, len(others))] {
		same, err := a.isSame(ctx, m, id)
		if err != nil {
			return err
		}
		if same {
			elsewhere = id.Group
		}
	}
	if elsewhere == "" && len(others) > maxMoved {
		return tooMany(m)
	}
	a.ledger.note(m, began, func(w *work) { w.sought, w.elsewhere = began, elsewhere })
	return nil
}

// tooMany is told if the machine's VM may be one of those that were not looked at.
func tooMany(m cloud.Machine) *cloud.Error {
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason,
		"more than %d VMs named %q with the tag capwin-machine=%s are in other resource groups, and the machine's VM may be one of "+
			"them: remove the tag from those that are not", maxMoved, m.Name, m.Key.Name)
	err.After = seekAgain
	return err
}

// mayBeMoved says that a resource may be the machine's VM in another group. A list by a tag does not show tags (Microsoft Learn,
// "Use tags to organize your Azure resources": results that are filtered by a tag come without tags).
func mayBeMoved(m cloud.Machine, id arm.ID) bool {
	return id.Is("Microsoft.Compute/virtualMachines") && strings.EqualFold(id.Name(), m.Name) &&
		id.Parent().Key() != homeOf(m).Parent().Key()
}

// isSame says whether a VM elsewhere is the machine's, by Azure's own ID of it. If that is not known, the marks say whether it
// may be.
func (a *account) isSame(ctx context.Context, m cloud.Machine, id arm.ID) (bool, error) {
	found, answer := a.calls.getVM(ctx, id)
	switch {
	case answer.effect() == fault.Gone:
		return false, nil
	case answer.verdict != nil:
		return false, answer.err()
	}
	known, has := knownOf(m, a.ledger.recall(m)).VMID, ""
	if found.Properties != nil {
		has = arm.UUID(found.Properties.VMID)
	}
	if known == "" || has == "" {
		return arm.Belongs(m, arm.ReadMark(found.Tags)), nil
	}
	return has == known, nil
}
