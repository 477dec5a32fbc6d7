package azure

import (
	"context"
	"strings"
	"time"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// maxMoved is how many VMs of a machine's name in other groups a search looks at. If there are more, and the machine's is not
// found, the next search is due after seekAgain.
const (
	maxMoved  = 5
	seekAgain = 2 * time.Minute
)

// namesakes are the VMs of a subscription that have the names of machines' VMs, in any group, as its list of states shows them.
type namesakes struct {
	of     map[string][]arm.ID
	listed time.Time // when the list began; zero if there is none yet
}

// take takes over a VM of a list, if a machine's has its name, and as many as a search looks at.
func (n *namesakes) take(id arm.ID, wanted map[string]bool) {
	name := strings.ToLower(id.Name())
	if wanted[name] && len(n.of[name]) < maxMoved+2 { // one is at its place, and one is too many
		n.of[name] = append(n.of[name], id)
	}
}

// others are the VMs of the name of one in other groups, whether the list has that one at its place, too, and when it began.
func (p *powers) others(vm arm.ID) (others []arm.ID, home bool, listed time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.names.of[strings.ToLower(vm.Name())] {
		if id.Key() == vm.Key() {
			home = true
		} else {
			others = append(others, id)
		}
	}
	return others, home, p.names.listed
}

// searched reads from the list of the subscription whether the machine's VM may be in another group. A list that has a VM which a
// look did not find is older than that look.
func (p *powers) searched(vm arm.ID, w work, s *next.Survey) {
	others, home, listed := p.others(vm)
	s.Sought, s.Elsewhere, s.Unsearched = w.sought, w.elsewhere, p.refusal()
	if len(others) > 0 {
		s.Candidates = listed.After(w.sought)
	} else if listed.After(w.sought) && (!home || s.Seen != nil) {
		s.Sought, s.Elsewhere = listed, next.Elsewhere{}
	}
}

// searchSoon has the watch ask for the list of the subscription, for all machines whose VMs are missing.
func (p *powers) searchSoon(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.began.Add(whileBusy)
	if at.Before(now) {
		at = now
	}
	if p.due.After(at) {
		p.due = at
	}
}

// seek looks at the VMs of the machine's name that the list of the subscription has in other groups: a VM that was moved keeps
// its name and Azure's own ID of it, while tags may be changed by a policy of the other group.
func (a *account) seek(ctx context.Context, m cloud.Machine, at place) error {
	others, _, listed := at.scope.power.others(at.vm)
	elsewhere := next.Elsewhere{}
	for _, id := range others[:min(maxMoved, len(others))] {
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
	if elsewhere.Group == "" && len(others) > maxMoved {
		return tooMany(m)
	}
	a.ledger.note(m, a.now(), func(w *work) { w.sought, w.elsewhere = listed, elsewhere })
	return nil
}

// tooMany is told if the machine's VM may be one of those that were not looked at.
func tooMany(m cloud.Machine) *cloud.Error {
	err := cloud.Errorf(cloud.Exhausted, infrav1.VMMovedReason,
		"more than %d VMs named %q are in other resource groups, and the machine's VM may be one of them: remove those that nobody "+
			"needs", maxMoved, m.Name)
	err.After = seekAgain
	return err
}

// whoseIs looks whose a VM in another group is. With all marks of the machine it may be the machine's, even if nothing proves
// them: the machine may come from a backup. A VM of that name without them is nobody's that we know.
func (a *account) whoseIs(ctx context.Context, m cloud.Machine, id arm.ID) (cloud.Whose, error) {
	found, answer := a.calls.getVM(ctx, id)
	switch {
	case answer.effect() == fault.Gone, answer.effect() == fault.GroupGone:
		return cloud.Unseen, nil
	case answer.verdict != nil:
		return cloud.Unseen, answer.err()
	}
	r, ok := recordOf(found)
	if !ok {
		return cloud.Unseen, nil
	}
	known, shown := next.Survey{Known: knownOf(m, a.ledger.recall(m)).VMID}, r.shown(m)
	whose := known.Whose(m, shown)
	if whose == cloud.Unproved && !shown.Marked {
		return cloud.Foreign, nil
	}
	return whose, nil
}
