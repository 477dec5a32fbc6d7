package azure

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/request"
)

// remnant is an adapter or disk that no VM uses, or a public IP that no adapter has.
type remnant struct {
	next.Remnant
	id       arm.ID
	mark     cloud.Marked
	uniqueID string // Azure's own
}

// What belongs to VMs.
const (
	aDisk     = "disk"
	anAdapter = "network interface"
	aPublicIP = "public IP address"
)

func kindOf(id arm.ID) string {
	switch {
	case id.Is("Microsoft.Compute/disks"):
		return aDisk
	case id.Is("Microsoft.Network/publicIPAddresses"):
		return aPublicIP
	}
	return anAdapter
}

// entries are those of a record for a kind of resource.
func entries(of *infrav1.AzureRecord, kind string) *[]infrav1.AzureResource {
	switch kind {
	case aDisk:
		return &of.Disks
	case aPublicIP:
		return &of.PublicIPAddresses
	}
	return &of.NetworkInterfaces
}

// fits says that a resource has a name which we, or Azure, give to what is made with the machine's VM. Azure adds a suffix to the
// names of adapters and public IPs. Names prove nothing: anybody may give them.
func fits(id arm.ID, m cloud.Machine) bool {
	own := strings.ToLower(id.Name())
	return slices.ContainsFunc(namesOf(m), func(name string) bool {
		return own == name || kindOf(id) != aDisk && strings.HasPrefix(own, name+"-")
	})
}

// namesOf are the names of what is made with a machine's VM.
func namesOf(m cloud.Machine) []string {
	all := []string{request.SystemDisk(m.Name)}
	if m.Spec.Azure != nil {
		for _, disk := range m.Spec.Azure.DataDisks {
			all = append(all, request.DataDisk(m.Name, disk.Name))
		}
		for i := range max(1, len(m.Spec.Azure.NetworkInterfaces)) {
			all = append(all, request.AdapterName(m, i))
		}
	}
	for i, name := range all {
		all[i] = strings.ToLower(name)
	}
	return all
}

// resembles says that a machine may have left it.
func (r remnant) resembles(m cloud.Machine) bool {
	return fits(r.id, m) || r.mark.Key == m.Key && r.mark.ProviderID == m.ProviderID
}

// isProved says that it was made for a machine: it has a name that fits and all marks, and it is in the machine's record by
// Azure's own ID. An adapter or public IP may instead have the mark of our management cluster, and have been seen with the VM.
func (s *scope) isProved(r remnant, m cloud.Machine, record infrav1.AzureRecord) bool {
	if !fits(r.id, m) || !arm.Belongs(m, r.mark) {
		return false
	}
	return recorded(record, r.id, r.uniqueID) || kindOf(r.id) != aDisk && s.isOf(r, homeOf(m)) && isOurs(r.mark, m.Cluster.Manager)
}

// isOf says that this process has seen a remnant with a VM.
func (s *scope) isOf(r remnant, vm arm.ID) bool { return s.seenWith[r.id.Key()] == vm.Key() }

// isOurs says that the management cluster of a mark is ours.
func isOurs(mark cloud.Marked, manager types.UID) bool {
	return manager != "" && mark.Cluster.Manager == manager
}

func recorded(record infrav1.AzureRecord, id arm.ID, uniqueID string) bool {
	return uniqueID != "" && slices.ContainsFunc(*entries(&record, kindOf(id)), func(one infrav1.AzureResource) bool {
		return strings.EqualFold(one.Name, id.Name()) && one.UniqueID == uniqueID
	})
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
			all = append(all, kindOf(r.id)+" "+r.id.Name())
		}
	}
	slices.Sort(all)
	return all
}

// marked are the remnants with all marks of a VM of this group, which nothing has used for long. Their machines may be gone.
func (s *scope) marked(now time.Time) (all []cloud.Marked) {
	for _, r := range s.remnants {
		if _, ok := s.vmOf(r); ok && now.Sub(r.Since) >= oldEnough {
			r.mark.Kind, r.mark.Name = kindOf(r.id), r.id.Name()
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
// process saw with a VM which is gone, with all marks of ours: a disk may hold somebody's data.
func (a *account) stale(s *scope) (all []remnant) {
	now := a.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remnants {
		vm, ok := s.vmOf(r)
		if !ok || now.Sub(r.Since) < oldEnough {
			continue
		}
		w := a.ledger.of(r.mark.ProviderID)
		_, there := s.vms[strings.ToLower(vm.Name())]
		if w.lives(now) {
			ok = w.key == r.mark.Key && (w.failed[r.uniqueID] || w.failed[r.id.Key()]) && !w.separate.has(r.id)
		} else {
			ok = !there && kindOf(r.id) != aDisk && s.isOf(r, vm) && isOurs(r.mark, a.manager)
		}
		if ok {
			all = append(all, r)
		}
	}
	return all
}

// part is what a list shows as a VM's.
type part struct {
	id       arm.ID
	uniqueID string
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
	s.see(id.Key(), vm)
}

// saw remembers what a VM itself says that it has.
func (s *scope) saw(r vmRecord) {
	for _, key := range r.adapters {
		s.see(key, r.key)
	}
}

func (s *scope) see(what, vm string) {
	if s.seenWith == nil || len(s.seenWith) >= manyMachines {
		s.seenWith = map[string]string{}
	}
	s.seenWith[what] = vm
}
