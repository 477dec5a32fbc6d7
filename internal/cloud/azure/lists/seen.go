package lists

import (
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/calls"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// Record is what we keep of a VM that a list or a look showed.
type Record struct {
	ID        arm.ID
	Key       string // of the ID
	Name      string
	Mark      cloud.Marked
	State     next.ProvisioningState
	Zone      string
	Size      string
	Image     string   // its version
	Evictable bool     // a spot VM whose place Azure may take, which leaves it deallocated
	Adapters  []string // their keys
	Disks     []string // their keys
	Original  bool     // the marks were made for this VM, and are no copy
	VMID      string   // Azure's own, in lower case; empty if it gave none
	Digest    string   // of the user data with which it was made
}

// maxAdapters is what the largest size of Azure has, and maxKeys more bytes than the IDs of its disks.
const (
	maxAdapters = 8
	maxKeys     = 32 << 10
)

// RecordOf reads a VM; false if Azure's answer has no valid ID.
func RecordOf(vm calls.VM) (Record, bool) {
	id, ok := arm.Parse(vm.ID)
	if !ok || !id.HasType("Microsoft.Compute/virtualMachines") {
		return Record{}, false
	}
	r := Record{ID: id, Key: id.Key(), Name: strings.ToLower(id.Name())}
	r.Mark = arm.ReadMark(vm.Tags)
	r.Mark.Name, r.Original, r.Digest = r.Name, arm.Original(r.Mark, id), arm.ReadDigest(vm.Tags)
	if len(vm.Zones) > 0 {
		r.Zone = cloud.Clean(vm.Zones[0], 64)
	}
	if p := vm.Properties; p != nil {
		r.VMID = arm.UUID(p.VMID)
		r.Size = cloud.Clean(p.HardwareProfile.VMSize, 64)
		r.Image = cloud.Clean(p.StorageProfile.ImageReference.ExactVersion, 64)
		r.Evictable = strings.EqualFold(p.Priority, string(infrav1.AzurePrioritySpot)) &&
			strings.EqualFold(p.EvictionPolicy, string(infrav1.AzureEvictionDeallocate))
		r.State = stateOf(p.ProvisioningState)
		for _, adapter := range p.NetworkProfile.NetworkInterfaces[:min(len(p.NetworkProfile.NetworkInterfaces), maxAdapters)] {
			if id, ok := arm.Parse(adapter.ID); ok {
				r.Adapters = append(r.Adapters, id.Key())
			}
		}
		data := p.StorageProfile.DataDisks
		for _, disk := range append(data[:min(len(data), belongings.MaxDisks)], p.StorageProfile.OSDisk) {
			if id, ok := arm.Parse(disk.ManagedDisk.ID); ok && (len(r.Disks)+1)*len(disk.ManagedDisk.ID) <= maxKeys {
				r.Disks = append(r.Disks, id.Key())
			}
		}
	}
	return r, true
}

func stateOf(text string) next.ProvisioningState {
	for _, state := range []next.ProvisioningState{next.Creating, next.Failed, next.Deleting} {
		if strings.EqualFold(text, string(state)) {
			return state
		}
	}
	return next.Succeeded
}

// equal reports whether nothing has changed that is reported of a VM.
func (r Record) equal(previous Record) bool {
	return r.Mark == previous.Mark && r.Digest == previous.Digest && r.State == previous.State && r.Zone == previous.Zone &&
		r.Size == previous.Size && r.Image == previous.Image && r.VMID == previous.VMID && r.Evictable == previous.Evictable &&
		slices.Equal(r.Adapters, previous.Adapters) && slices.Equal(r.Disks, previous.Disks)
}

// Owns reports whether a resource is one that the VM itself names as its own.
func (r *Record) Owns(id arm.ID) bool {
	return r != nil && (slices.Contains(r.Adapters, id.Key()) || slices.Contains(r.Disks, id.Key()))
}

// Addresses are those of its adapters.
func (r Record) Addresses(byAdapter map[string][]string) (addresses []string) {
	for _, adapter := range r.Adapters {
		addresses = append(addresses, byAdapter[adapter]...)
	}
	return addresses
}

// Shown is the evidence of whose VM it is.
func (r Record) Shown(m cloud.Machine) next.Shown {
	return next.Shown{VMID: r.VMID, Marked: arm.Belongs(m, r.Mark), MadeFor: r.Mark.Cluster, Digest: r.Digest}
}

// Sight is the VM as decisions need it.
func (r Record) Sight(m cloud.Machine, power next.Power, addresses []string) *next.Sight {
	s := &next.Sight{
		State: r.State, Power: power, Evictable: r.Evictable,
		VM: cloud.VM{FailureDomain: r.Zone, ImageVersion: r.Image},
	}
	s.VM.Addresses = []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: m.Name}, {Type: clusterv1.MachineInternalDNS, Address: m.Name},
	}
	for _, address := range addresses {
		s.VM.Addresses = append(s.VM.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address})
	}
	return s
}

const powerCode = "powerstate/"

// powerOf reads a power state from the statuses of a VM. What is on its way to running or stopped is neither.
func powerOf(statuses []calls.Status) next.Power {
	for _, status := range statuses {
		switch code := next.Power(strings.ToLower(status.Code)); code {
		case powerCode + next.PoweredOn, powerCode + next.Stopped, powerCode + next.Deallocated:
			return code[len(powerCode):]
		}
	}
	return ""
}

// VerdictOf reads from a view why a VM failed.
func VerdictOf(statuses []calls.Status) fault.Verdict {
	for _, status := range statuses {
		if a, ok := fault.OfView(status.Code, status.Message); ok {
			return fault.Judge(a)
		}
	}
	return fault.Judge(fault.Answer{Code: "ProvisioningFailed"})
}

// Look is what a look or an answer showed of a VM; no record means that it was not there.
type Look struct {
	Began  time.Time
	Record *Record
}
