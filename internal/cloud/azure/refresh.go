package azure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/lists"
)

// firstList lists the VMs and their power states for all callers that wait: a VM that ran before a restart must not be reported
// as one that may not run.
func (a *account) firstList(ctx context.Context, s *lists.Scope) error {
	if s.Unlisted() {
		if _, err := a.listVMs(ctx, s); err != nil {
			return err
		}
	}
	a.pollPowers(ctx, s.Power)
	awaited := false
	s.Do(func(state *lists.State) { awaited = !state.Powered })
	if awaited {
		return cloud.LaterIn(time.Second, "waiting for Azure's list of power states")
	}
	return nil
}

// listVMs lists the VMs of a scope for all callers, and returns the keys of those that changed. Concurrent callers get a Later
// error.
func (a *account) listVMs(ctx context.Context, s *lists.Scope) ([]cloud.Key, error) {
	listing := false
	s.Do(func(state *lists.State) { listing, state.Listing = state.Listing, true })
	if listing {
		return nil, cloud.LaterIn(time.Second, "waiting for Azure's list of VMs")
	}
	began := a.now()
	vms, answer := calls.Pages(ctx, a.calls, a.calls.VMsIn(s.Group), s.Held[lists.VMs], s.KeepVM)
	if answer.Effect() == fault.GroupGone {
		a.missGroup(ctx, s, began)
	}
	return s.End(vms, answer, began, a.keysOf)
}

// missGroup counts the answers that the group does not exist, those at once only once, and only while the subscription answers.
func (a *account) missGroup(ctx context.Context, s *lists.Scope, now time.Time) {
	if s.MayMiss(now) && a.answers(ctx, s.Power, now) {
		s.Miss(now)
	}
}

// answers reports whether Azure lets us in and shows us the subscription.
func (a *account) answers(ctx context.Context, p *lists.Powers, now time.Time) bool {
	return p.Fresh(now) || a.calls.IsVisible(ctx, p.Subscription, p.Held.Namespace)
}

// keysOf are the keys of the machine that a VM was made for, and of the machine that is known to have it: its tags may have
// changed by now. A copy of the VM wakes no machine.
func (a *account) keysOf(r lists.Record) (keys []cloud.Key) {
	if r.Original {
		keys = append(keys, r.Mark.Key)
	}
	if key, ok := a.ledger.owner(r.VMID); ok && !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return keys
}

// listAddresses lists the addresses of a scope's adapters, and returns the keys of the machines that got others.
func (a *account) listAddresses(ctx context.Context, s *lists.Scope) ([]cloud.Key, error) {
	asked, held := calls.ResourcesIn(s.Group, arm.AdapterType), s.Held[lists.Addresses]
	adapters, answer := calls.Pages(ctx, a.calls, asked, held, lists.KeepResource)
	s.NoteRefusal(lists.AdapterList, answer)
	if answer.Verdict != nil {
		return nil, answer.Err()
	}
	defer held.Hold(answer.Kept)
	return s.TakeAddresses(adapters, a.keysOf), nil
}

// listPowers lists the power states of a subscription, and returns the keys of the machines whose VMs changed.
func (a *account) listPowers(ctx context.Context, p *lists.Powers) ([]cloud.Key, error) {
	names := sync.OnceValue(a.ledger.names)
	vms, answer := calls.Pages(ctx, a.calls, a.calls.StatesIn(p.Subscription), p.Held, a.lists.KeepPower(names))
	if answer.Verdict != nil {
		if answer.Verdict.Lacks != "" {
			p.Refuse(answer.Verdict.Error)
		}
		return nil, answer.Err()
	}
	changed := p.Take(vms, answer.Began, a.now(), names())
	p.Held.Hold(answer.Kept)
	return a.lists.Changed(p, changed, a.keysOf), nil
}

// listRemnants looks for adapters, disks and public IPs that nothing uses, and returns the keys of the machines that got other
// addresses. If one of the lists must wait for its turn, those before it are not asked for again.
func (a *account) listRemnants(ctx context.Context, s *lists.Scope) (keys []cloud.Key, err error) {
	sweep := s.BeginSweep(a.now())
	read := func(name, kind string, dst *[]lists.Resource) bool {
		if *dst != nil {
			return true
		}
		items, answer := calls.Pages(ctx, a.calls, calls.ResourcesIn(s.Group, kind), s.Held[lists.Remnants], lists.KeepResource)
		s.NoteRefusal(name, answer)
		if err = answer.Err(); cloud.IsLater(err) {
			s.KeepSweep(sweep)
			return false
		}
		*dst, sweep.Kept = append([]lists.Resource{}, items...), sweep.Kept+answer.Kept
		return err == nil
	}
	fresh := sweep.Adapters == nil
	if !read(lists.AdapterList, arm.AdapterType, &sweep.Adapters) {
		return nil, err
	}
	if fresh {
		keys = s.TakeAddresses(sweep.Adapters, a.keysOf)
		s.Held[lists.Addresses].Hold(0) // they count with the adapters
	}
	if !read(lists.DiskList, arm.DiskType, &sweep.Disks) {
		if !cloud.IsLater(err) {
			s.DropSweep(sweep)
		}
		return keys, err
	}
	if s.HasPublic(sweep.Adapters) {
		read(lists.PublicList, arm.PublicIPType, &sweep.Public)
	}
	if cloud.IsLater(err) {
		return keys, err
	} // any other error was noted, and stops the sweep of nothing else
	s.TakeRemnants(sweep, err == nil, a.now())
	return keys, nil
}

// stale are the remnants that the sweep removes. Of a machine that this process knows to be there, these are what failed tries
// left: each by Azure's own ID, and never what was made before its VM. Of any other they are adapters and public IPs that this
// process saw with a VM which was a machine's and is gone, with all marks of ours: a disk may hold somebody's data.
func (a *account) stale(s *lists.Scope) (found []lists.Remnant) {
	now, works := a.now(), sync.OnceValue(a.ledger.byMark)
	s.Do(func(state *lists.State) {
		for _, r := range state.Remnants {
			vm, ok := state.VMOf(r)
			if !ok || now.Sub(r.FirstSeen) < lists.OldEnough {
				continue
			}
			_, exists := state.VMs[strings.ToLower(vm.Name())]
			owners := works()[lists.Mark{Key: r.Mark.Key, ProviderID: r.Mark.ProviderID}]
			if slices.ContainsFunc(owners, func(w work) bool { return w.lives(now) }) {
				ok = slices.ContainsFunc(owners, func(w work) bool { return w.failed[r.UniqueID] || w.failed[r.ID.Key()] }) &&
					!slices.ContainsFunc(owners, func(w work) bool { return w.separate.contains(r.ID) })
			} else {
				ok = !exists && belongings.KindOf(r.ID) != belongings.Disk && state.IsOf(r, vm) && lists.IsOurs(r.Mark, a.manager)
			}
			if ok {
				found = append(found, r)
			}
		}
	})
	return found
}

// checkRemnant looks at a remnant by its ID: the list that showed it may have been late. Another resource that has got its name
// is none, until a list shows it.
func (a *account) checkRemnant(ctx context.Context, s *lists.Scope, id arm.ID) error {
	now := a.now()
	found, answer := a.calls.GetResource(ctx, id)
	gone := answer.Effect() == fault.Gone
	if answer.Verdict != nil && !gone {
		return answer.Err()
	}
	s.Checked(id, found, gone, now)
	return nil
}

// sweep removes what deletions left whose machines are gone, too, and what failed tries of living ones left.
func (a *account) sweep(ctx context.Context, s *lists.Scope) error {
	var errs []error
	for _, r := range a.stale(s) {
		errs = append(errs, a.clear(ctx, s, r.ID))
	}
	return errors.Join(errs...)
}

// clear removes a remnant if a look still shows it as the lists did, which may be minutes old.
func (a *account) clear(ctx context.Context, s *lists.Scope, id arm.ID) error {
	if err := a.checkRemnant(ctx, s, id); err != nil || !s.IsRemnant(id) {
		return err
	}
	return a.removeRemnant(ctx, s, id)
}

func (a *account) removeRemnant(ctx context.Context, s *lists.Scope, id arm.ID) error {
	answer := a.calls.DeleteResource(ctx, id)
	s.NoteRefusal(lists.RemovalOf(id), answer)
	if answer.Verdict != nil {
		return answer.Err()
	}
	s.Removed(id)
	return nil
}
