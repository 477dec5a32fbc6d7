package azure

import (
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/belongings"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// vmRecord is what we keep of a VM that a list or a look showed.
type vmRecord struct {
	id        arm.ID
	key       string // of the ID
	name      string
	mark      cloud.Marked
	state     next.ProvisioningState
	zone      string
	size      string
	image     string   // its version
	evictable bool     // a spot VM whose place Azure may take, which leaves it deallocated
	adapters  []string // their keys
	disks     []string // their keys
	original  bool     // the marks were made for this VM, and are no copy
	vmID      string   // Azure's own, in lower case; empty if it did not say
	digest    string   // of the user data with which it was made
}

// vm is a VM as Azure shows it, as far as we read it. The SDK's own type takes several times as long to read.
type vm struct {
	ID         string
	Tags       map[string]string
	Zones      []string
	Properties *struct {
		VMID, ProvisioningState, Priority, EvictionPolicy string

		HardwareProfile struct{ VMSize string }
		StorageProfile  struct {
			ImageReference struct{ ExactVersion string }
			OSDisk         managedDisk
			DataDisks      []managedDisk
		}
		NetworkProfile struct {
			NetworkInterfaces []struct{ ID string }
		}
		InstanceView *view
	}
}

type managedDisk struct{ ManagedDisk struct{ ID string } }

// view is what a VM is doing.
type view struct{ Statuses []status }

type status struct{ Code, Message string }

// maxAdapters is what the largest size of Azure has.
const maxAdapters = 8

// recordOf reads a VM; false if Azure's answer has no valid ID.
func recordOf(of vm) (vmRecord, bool) {
	id, ok := arm.Parse(of.ID)
	if !ok || !id.Is("Microsoft.Compute/virtualMachines") {
		return vmRecord{}, false
	}
	r := vmRecord{id: id, key: id.Key(), name: strings.ToLower(id.Name())}
	r.mark = arm.ReadMark(of.Tags)
	r.mark.Name, r.original, r.digest = r.name, arm.Original(r.mark, id), arm.ReadDigest(of.Tags)
	if len(of.Zones) > 0 {
		r.zone = cloud.Clean(of.Zones[0], 64)
	}
	if p := of.Properties; p != nil {
		r.vmID = arm.UUID(p.VMID)
		r.size = cloud.Clean(p.HardwareProfile.VMSize, 64)
		r.image = cloud.Clean(p.StorageProfile.ImageReference.ExactVersion, 64)
		r.evictable = strings.EqualFold(p.Priority, string(infrav1.AzurePrioritySpot)) &&
			strings.EqualFold(p.EvictionPolicy, string(infrav1.AzureEvictionDeallocate))
		r.state = stateOf(p.ProvisioningState)
		for _, one := range p.NetworkProfile.NetworkInterfaces[:min(len(p.NetworkProfile.NetworkInterfaces), maxAdapters)] {
			if id, ok := arm.Parse(one.ID); ok {
				r.adapters = append(r.adapters, id.Key())
			}
		}
		data := p.StorageProfile.DataDisks
		for _, one := range append(data[:min(len(data), belongings.MaxDisks)], p.StorageProfile.OSDisk) {
			if id, ok := arm.Parse(one.ManagedDisk.ID); ok {
				r.disks = append(r.disks, id.Key())
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

// same says that nothing has changed that is told of a VM.
func (r vmRecord) same(other vmRecord) bool {
	return r.mark == other.mark && r.digest == other.digest && r.state == other.state && r.zone == other.zone &&
		r.size == other.size && r.image == other.image && r.vmID == other.vmID && r.evictable == other.evictable &&
		slices.Equal(r.adapters, other.adapters) && slices.Equal(r.disks, other.disks)
}

// has says that a resource is the VM's, as the VM itself says.
func (r *vmRecord) has(id arm.ID) bool {
	return r != nil && (slices.Contains(r.adapters, id.Key()) || slices.Contains(r.disks, id.Key()))
}

func (r vmRecord) addresses(of map[string][]string) (all []string) {
	for _, adapter := range r.adapters {
		all = append(all, of[adapter]...)
	}
	return all
}

func (r vmRecord) addressed(of map[string][]string) bool {
	return slices.ContainsFunc(r.adapters, func(adapter string) bool { return len(of[adapter]) > 0 })
}

// shown is what says whose it is.
func (r vmRecord) shown(m cloud.Machine) next.Shown {
	return next.Shown{VMID: r.vmID, Marked: arm.Belongs(m, r.mark), MadeFor: r.mark.Cluster, Digest: r.digest}
}

// sight is what is decided from.
func (r vmRecord) sight(m cloud.Machine, power next.Power, addresses []string) *next.Sight {
	s := &next.Sight{
		State: r.state, Power: power, Evictable: r.evictable,
		VM: cloud.VM{FailureDomain: r.zone, ImageVersion: r.image},
	}
	s.VM.Addresses = []clusterv1.MachineAddress{
		{Type: clusterv1.MachineHostName, Address: m.Name}, {Type: clusterv1.MachineInternalDNS, Address: m.Name},
	}
	for _, address := range addresses {
		s.VM.Addresses = append(s.VM.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address})
	}
	return s
}

const powerState = "powerstate/"

// powerOf reads a power state from the statuses of a VM. What is on its way to running or stopped is neither.
func powerOf(statuses []status) next.Power {
	for _, status := range statuses {
		code := strings.ToLower(status.Code)
		if !strings.HasPrefix(code, powerState) {
			continue
		}
		switch power := next.Power(code[len(powerState):]); power {
		case next.On, next.Stopped, next.Deallocated:
			return power
		}
	}
	return ""
}

// whyOf reads from a view why a VM failed.
func whyOf(statuses []status) fault.Verdict {
	for _, status := range statuses {
		if a, ok := fault.OfView(status.Code, status.Message); ok {
			return fault.Judge(a)
		}
	}
	return fault.Judge(fault.Answer{Code: "ProvisioningFailed"})
}

// look is what a look or an answer showed of a VM; no record means that it was not there.
type look struct {
	at     time.Time
	record *vmRecord
}
