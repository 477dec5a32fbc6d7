package azure

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// oldEnough is how long an adapter, disk or public IP must have been of no use before it is removed, and how long nobody must
// have asked for a machine that is to be removed before it counts as let go by hand.
const oldEnough = 10 * time.Minute

// sweeping is what a sweep has read already while it waits for its next list. A list that was read is not nil.
type sweeping struct {
	began                   time.Time
	adapters, disks, public []resource
}

// searchEvery is how often machines that are removed may have the lists asked for.
const searchEvery = 30 * time.Second

// sweepSoon has the watch ask for the lists, for all machines that wait for them.
func (s *scope) sweepSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.sweepBegan.Add(searchEvery); s.sweepDue.After(at) {
		s.sweepDue = at
	}
}

// listRemnants looks for adapters, disks and public IPs that nothing uses, and returns the keys of the machines that got other
// addresses. If one of the lists must wait for its turn, those before it are not asked for again.
func (a *account) listRemnants(ctx context.Context, s *scope) (keys []cloud.Key, err error) {
	s.mu.Lock()
	at := s.sweeping
	if s.sweeping = (sweeping{}); at.adapters == nil {
		at.began, s.sweepBegan = a.now(), a.now()
	}
	s.mu.Unlock()
	read := func(what string, into *[]resource, list func(context.Context, arm.ID) ([]resource, answer)) bool {
		if *into != nil {
			return true
		}
		all, answer := list(ctx, s.group)
		s.heed(what, answer)
		if _, waits := asLater(answer.err()); waits {
			s.mu.Lock()
			s.sweeping = at
			s.mu.Unlock()
		}
		err = answer.err()
		*into = append([]resource{}, all...)
		return err == nil
	}
	fresh := at.adapters == nil
	if !read(adapterList, &at.adapters, a.calls.listAdapters) {
		return nil, err
	}
	if fresh {
		s.mu.Lock()
		keys = s.takeAddresses(at.adapters, a.keysOf)
		s.mu.Unlock()
	}
	if !read(diskList, &at.disks, a.calls.listDisks) {
		return keys, err
	}
	if s.hasPublic(at.adapters) {
		read(publicList, &at.public, a.calls.listPublic)
	}
	if _, waits := asLater(err); waits {
		return keys, err
	} // what else went wrong is told, and stops the sweep of nothing else
	s.takeRemnants(at, a.now())
	if err == nil {
		s.mu.Lock()
		s.swept = at.began
		s.mu.Unlock()
	}
	return keys, nil
}

// hasPublic says that public IPs may be there which belong to machines: one wants one, or an adapter with marks has one. No other
// group is asked for them, so nobody else needs the right.
func (s *scope) hasPublic(adapters []resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.public = s.public || slices.ContainsFunc(adapters, func(one resource) bool {
		return one.public() && arm.ReadMark(one.Tags).ProviderID != ""
	})
	return s.public
}

// takeRemnants takes over what nothing uses, and what belongs to VMs.
func (s *scope) takeRemnants(at sweeping, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeParts(at)
	found, used := map[string]remnant{}, map[string]bool{}
	for _, one := range slices.Concat(at.adapters, at.disks, at.public) {
		if vm, ok := arm.Parse(one.user()); ok {
			used[strings.Clone(strings.ToLower(vm.Name()))] = true
		}
		id, ok := arm.Parse(one.ID)
		if !ok || one.attached() {
			continue
		}
		r := remnant{id: id, mark: arm.ReadMark(one.Tags), uniqueID: one.uniqueID(), Remnant: next.Remnant{ID: id.String(), Since: now}}
		if was, known := s.remnants[id.Key()]; known && was.uniqueID == r.uniqueID {
			r.Since, r.Looked = was.Since, was.Looked
		}
		found[id.Key()] = r
	}
	s.remnants, s.used = found, used
}

// What is done for all machines of a group, so that none is told at once if the identity may not do it.
const (
	adapterList = "list of adapters"
	diskList    = "list of disks"
	publicList  = "list of public IPs"
)

func removalOf(id arm.ID) string {
	switch {
	case id.Is("Microsoft.Compute/disks"):
		return "removal of disks"
	case id.Is("Microsoft.Network/publicIPAddresses"):
		return "removal of public IPs"
	}
	return "removal of adapters"
}

// heed remembers that the identity lacks a right, until Azure says otherwise.
func (s *scope) heed(what string, of answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case of.verdict == nil:
		delete(s.refused, what)
	case of.verdict.Lacks != "":
		s.refused[what] = of.verdict.Error
	}
}

// refusal is the first of what the identity may not do.
func (s *scope) refusal() *cloud.Error {
	if err := s.power.refusal(); err != nil {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(s.refused)) {
		return s.refused[what]
	}
	return nil
}

// hidden says that the identity may not list what a deletion may leave.
func (s *scope) hidden() *cloud.Error {
	return cmp.Or(s.refused[adapterList], s.refused[diskList], s.refused[publicList])
}

// checkRemnant looks at a remnant by its ID: the list that showed it may have been late. Another resource that has got its name
// is none, until a list shows it.
func (a *account) checkRemnant(ctx context.Context, s *scope, id arm.ID) error {
	now := a.now()
	found, answer := a.calls.getResource(ctx, id)
	gone := answer.effect() == fault.Gone
	if answer.verdict != nil && !gone {
		return answer.err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.remnants[id.Key()]
	if known {
		r.Looked = now
		s.remnants[id.Key()] = r
	}
	other := found.uniqueID() != "" && r.uniqueID != "" && found.uniqueID() != r.uniqueID
	if gone || other || found.attached() {
		delete(s.remnants, id.Key())
	}
	return nil
}

func (s *scope) isRemnant(id arm.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.remnants[id.Key()]
	return ok
}

// sweep removes what deletions left whose machines are gone, too, and what failed tries of living ones left.
func (a *account) sweep(ctx context.Context, s *scope) error {
	var errs []error
	for _, r := range a.stale(s) {
		errs = append(errs, a.clear(ctx, s, r.id))
	}
	return errors.Join(errs...)
}

// clear removes a remnant if a look still shows it as the lists did, which may be minutes old.
func (a *account) clear(ctx context.Context, s *scope, id arm.ID) error {
	if err := a.checkRemnant(ctx, s, id); err != nil || !s.isRemnant(id) {
		return err
	}
	return a.removeRemnant(ctx, s, id)
}

func (a *account) removeRemnant(ctx context.Context, s *scope, id arm.ID) error {
	answer := a.calls.deleteResource(ctx, id)
	s.heed(removalOf(id), answer)
	if answer.verdict != nil {
		return answer.err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.remnants, id.Key())
	s.swept = time.Time{} // it may have had a public IP
	return nil
}
