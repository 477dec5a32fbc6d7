package azure

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// remnant is an adapter or disk that no VM uses, or a public IP that no adapter has.
type remnant struct {
	next.Remnant
	id       arm.ID
	mark     cloud.Marked
	uniqueID string // Azure's own
}

// resembles says that a machine may have left it.
func (r remnant) resembles(m cloud.Machine) bool {
	return belongings.Fits(r.id, m) || r.mark.Key == m.Key && r.mark.ProviderID == m.ProviderID
}

// isProved says that it was made for a machine: it has a name that fits and all marks, and it is in the machine's record by
// Azure's own ID. An adapter or public IP may instead have the mark of our management cluster, and have been seen with the VM.
func (s *scope) isProved(r remnant, m cloud.Machine, record infrav1.AzureRecord) bool {
	if !belongings.Fits(r.id, m) || !arm.Belongs(m, r.mark) {
		return false
	}
	seen := belongings.KindOf(r.id) != belongings.Disk && s.isOf(r, homeOf(m)) && isOurs(r.mark, m.Cluster.Manager)
	return seen || belongings.Recorded(record, r.id, r.uniqueID)
}

// isOf says that this process has seen a remnant with a VM, which was proved to be that of the machine whose marks the remnant
// has.
func (s *scope) isOf(r remnant, vm arm.ID) bool {
	return s.seenWith[r.id.Key()] == seenVM{vm.Key(), markOf{r.mark.Key, r.mark.ProviderID}}
}

// seenVM is a VM by its key, and the machine whose it was.
type seenVM struct {
	key string
	of  markOf
}

// isOurs says that the management cluster of a mark is ours.
func isOurs(mark cloud.Marked, manager types.UID) bool {
	return manager != "" && mark.Cluster.Manager == manager
}

// left is the remnant of a machine that is to be looked at first. One that is not proved to be the machine's is only waited for:
// it is no longer listed soon, or it stays.
func (s *scope) left(m cloud.Machine, record infrav1.AzureRecord, now time.Time) (first *next.Remnant) {
	for _, r := range s.remnants {
		if !r.resembles(m) || !s.isProved(r, m, record) && now.Sub(r.Since) >= oldEnough {
			continue
		}
		if first == nil || r.LookAt().Before(first.LookAt()) {
			first = &r.Remnant
		}
	}
	return first
}

// orphans are the remnants that a machine leaves because they are not proved to be its own.
func (s *scope) orphans(m cloud.Machine, record infrav1.AzureRecord) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remnants {
		if r.resembles(m) && !s.isProved(r, m, record) {
			all = append(all, belongings.KindOf(r.id)+" "+r.id.Name())
		}
	}
	slices.Sort(all)
	return all
}

// marked are the remnants with all marks of a VM of this group, which nothing has used for long. Their machines may be gone.
func (s *scope) marked(now time.Time) (all []cloud.Marked) {
	for _, r := range s.remnants {
		if _, ok := s.vmOf(r); ok && now.Sub(r.Since) >= oldEnough {
			r.mark.Kind, r.mark.Name = belongings.KindOf(r.id), r.id.Name()
			all = append(all, r.mark)
		}
	}
	return all
}

// vmOf is the VM of this group that the marks and the name of a remnant say it was made with.
func (s *scope) vmOf(r remnant) (vm arm.ID, ok bool) {
	vm, ok = arm.ReadProviderID(r.mark.ProviderID)
	return vm, ok && vm.Parent().Key() == s.group.Key() && arm.Complete(r.mark) &&
		strings.HasPrefix(strings.ToLower(r.id.Name()), strings.ToLower(vm.Name())+"-")
}

// stale are the remnants that the sweep removes. Of a machine that this process knows to be there, these are what failed tries
// left: each by Azure's own ID, and never what was made before its VM. Of any other they are adapters and public IPs that this
// process saw with a VM which was a machine's and is gone, with all marks of ours: a disk may hold somebody's data.
func (a *account) stale(s *scope) (found []remnant) {
	now, works := a.now(), a.ledger.byMark()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remnants {
		vm, ok := s.vmOf(r)
		if !ok || now.Sub(r.Since) < oldEnough {
			continue
		}
		_, there := s.vms[strings.ToLower(vm.Name())]
		all := works[markOf{r.mark.Key, r.mark.ProviderID}]
		if slices.ContainsFunc(all, func(w work) bool { return w.lives(now) }) {
			ok = slices.ContainsFunc(all, func(w work) bool { return w.failed[r.uniqueID] || w.failed[r.id.Key()] }) &&
				!slices.ContainsFunc(all, func(w work) bool { return w.separate.has(r.id) })
		} else {
			ok = !there && belongings.KindOf(r.id) != belongings.Disk && s.isOf(r, vm) && isOurs(r.mark, a.manager)
		}
		if ok {
			found = append(found, r)
		}
	}
	return found
}

// takeParts takes over what lists show as belonging to VMs, by the VM's key.
func (s *scope) takeParts(at sweeping) {
	s.parts = map[string][]part{}
	vmOf := map[string]string{} // of adapters
	for _, one := range slices.Concat(at.adapters, at.disks) {
		vm, ok := arm.Parse(one.user())
		if ok {
			vmOf[strings.ToLower(one.ID)] = vm.Key()
			s.takePart(one, vm.Key())
		}
	}
	for _, one := range at.public {
		if at, ok := arm.Parse(one.Properties.IPConfiguration.ID); ok && len(at.Names) > 1 {
			if vm := vmOf[at.Parent().Adapter(at.Names[0]).Key()]; vm != "" {
				s.takePart(one, vm)
			}
		}
	}
}

func (s *scope) takePart(one resource, vm string) {
	id, ok := arm.Parse(one.ID)
	if !ok || one.uniqueID() == "" {
		return
	}
	s.parts[vm] = append(s.parts[vm], part{id, one.uniqueID()})
}

// saw remembers what belongs to a VM that is proved to be a machine's. What belongs to any other VM is nobody's to sweep: whoever
// may write tags can give it our marks.
func (s *scope) saw(r vmRecord, m cloud.Machine) {
	if s.seenWith == nil || len(s.seenWith) >= manyParts {
		s.seenWith = map[string]seenVM{}
	}
	vm := seenVM{r.key, markOf{m.Key, m.ProviderID}}
	for _, key := range r.adapters {
		s.seenWith[key] = vm
	}
	for _, one := range s.parts[r.key] {
		if belongings.KindOf(one.id) != belongings.Disk {
			s.seenWith[one.id.Key()] = vm
		}
	}
}

// manyParts is how many adapters and public IPs are remembered with their VMs.
const manyParts = 4 * manyMachines

// rest are the remnants of requests that Azure has refused, or ended as failed, in this process: they may have made some of what
// was asked for. What may belong to the last request is none, as long as its VM does not say what it has; nor is what the record
// has already: that was seen with the VM, and people detach disks. All marks are to be there, with the UID of our management
// cluster, and the machine must have a claim to what has its identity.
func (s *scope) rest(m cloud.Machine, w work, r *vmRecord) (all []part) {
	failed := w.put.Answer == next.Refused || w.failed != nil
	if !failed || w.put.Answer == next.Accepted && r == nil {
		return nil
	}
	record := knownOf(m, w)
	for _, one := range s.remnants {
		ours := arm.Belongs(m, one.mark) && isOurs(one.mark, m.Cluster.Manager) && belongings.Fits(one.id, m)
		known := w.separate.has(one.id) || r.has(one.id) || belongings.Recorded(record, one.id, one.uniqueID)
		if ours && !known && w.claims(m, belongings.KindOf(one.id)) {
			all = append(all, part{one.id, one.uniqueID})
		}
	}
	return all
}

// claims says whether what has a machine's identity and marks, and no VM, may be what its own requests left. We rely on the API
// server, which chose the UID in an identity of the machine's own; or on the owning Machine, which users may write: with it, who
// can write all marks may have them removed, too. A machine whose VM was proved in another way, such as by its data or by the
// operator, asked in its place. It may have lost the record of a disk that people detached, so no disk counts.
func (w work) claims(m cloud.Machine, kind string) bool {
	return m.Own || m.Vouched || w.was && kind != belongings.Disk
}
