package azure

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// oldEnough is how long an adapter or disk must have been without a VM before it is removed, and how long a request may still
// bring the VM.
const oldEnough = 10 * time.Minute

// remnant is an adapter or disk that no VM uses.
type remnant struct {
	next.Remnant
	id   arm.ID
	mark cloud.Marked
}

// of says whether it was made for a machine. Disks do not always get tags, so they are known by their names.
func (r remnant) of(m cloud.Machine) bool {
	if r.mark.Key == m.Key && r.mark.ProviderID == m.ProviderID {
		return true
	}
	named := strings.EqualFold(r.id.Name(), request.SystemDisk(m.Name))
	return r.mark.ProviderID == "" && r.id.Is("Microsoft.Compute/disks") && named
}

// listRemnants looks for adapters and disks that no VM uses.
func (a *account) listRemnants(ctx context.Context, s *scope) ([]cloud.Key, error) {
	adapters, answer := a.calls.listAdapters(ctx, s.group)
	if answer.verdict != nil {
		return nil, answer.err()
	}
	disks, answer := a.calls.listDisks(ctx, s.group)
	if answer.verdict != nil {
		return nil, answer.err()
	}
	now := a.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]remnant{}
	for _, list := range [][]resource{adapters, disks} {
		for _, one := range list {
			id, ok := arm.Parse(one.ID)
			if !ok || one.attached() {
				continue
			}
			r := remnant{id: id, mark: arm.ReadMark(one.Tags), Remnant: next.Remnant{ID: id.String(), Since: now}}
			if was, known := s.remnants[id.Key()]; known {
				r.Since = was.Since
			}
			found[id.Key()] = r
		}
	}
	s.remnants = found
	return s.takeAddresses(adapters), nil
}

// left is the oldest remnant of a machine.
func (s *scope) left(m cloud.Machine) (oldest *next.Remnant) {
	for _, r := range s.remnants {
		if r.of(m) && (oldest == nil || r.Since.Before(oldest.Since)) {
			oldest = &r.Remnant
		}
	}
	return oldest
}

// sweep removes what deletions left whose machines are gone, too.
func (a *account) sweep(ctx context.Context, s *scope) error {
	var errs []error
	for _, r := range a.stale(s) {
		errs = append(errs, a.removeRemnant(ctx, s, r.id))
	}
	return errors.Join(errs...)
}

// stale are the remnants with marks of a VM of this group that is not there and was not asked for lately.
func (a *account) stale(s *scope) (all []remnant) {
	now := a.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remnants {
		vm, ok := arm.ReadProviderID(r.mark.ProviderID)
		if !ok || vm.Parent().Key() != s.group.Key() || now.Sub(r.Since) < oldEnough {
			continue
		}
		if _, there := s.vms[strings.ToLower(vm.Name())]; !there && !a.ledger.requested(r.mark.ProviderID, now) {
			all = append(all, r)
		}
	}
	return all
}

func (a *account) removeRemnant(ctx context.Context, s *scope, id arm.ID) error {
	if answer := a.calls.deleteRemnant(ctx, id); answer.verdict != nil {
		return answer.err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.remnants, id.Key())
	return nil
}
