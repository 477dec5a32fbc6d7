package azure

import (
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/fault"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/next"
)

// vmRecord is what we keep of a VM that a list or a look showed.
type vmRecord struct {
	id       arm.ID
	name     string
	mark     cloud.Marked
	state    next.ProvisioningState
	zone     string
	size     string
	image    string   // its version
	adapters []string // their keys
}

// maxAdapters is what the largest size of Azure has.
const maxAdapters = 8

// recordOf reads a VM; false if Azure's answer has no valid ID.
func recordOf(vm armcompute.VirtualMachine) (vmRecord, bool) {
	id, ok := arm.Parse(deref(vm.ID))
	if !ok || !id.Is("Microsoft.Compute/virtualMachines") {
		return vmRecord{}, false
	}
	r := vmRecord{id: id, name: strings.ToLower(id.Name())}
	tags := map[string]string{}
	for name, value := range vm.Tags {
		tags[name] = deref(value)
	}
	r.mark = arm.ReadMark(tags)
	r.mark.Name = r.name
	if len(vm.Zones) > 0 {
		r.zone = cloud.Clean(deref(vm.Zones[0]), 64)
	}
	if p := vm.Properties; p != nil {
		if p.HardwareProfile != nil {
			r.size = cloud.Clean(string(deref(p.HardwareProfile.VMSize)), 64)
		}
		if p.StorageProfile != nil && p.StorageProfile.ImageReference != nil {
			r.image = cloud.Clean(deref(p.StorageProfile.ImageReference.ExactVersion), 64)
		}
		r.state = stateOf(deref(p.ProvisioningState))
		if p.NetworkProfile != nil {
			for _, one := range p.NetworkProfile.NetworkInterfaces[:min(len(p.NetworkProfile.NetworkInterfaces), maxAdapters)] {
				if id, ok := arm.Parse(deref(one.ID)); ok {
					r.adapters = append(r.adapters, id.Key())
				}
			}
		}
	}
	return r, true
}

func deref[T ~string](text *T) T {
	if text == nil {
		return ""
	}
	return *text
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
	return r.mark == other.mark && r.state == other.state && r.zone == other.zone && r.size == other.size &&
		r.image == other.image && slices.Equal(r.adapters, other.adapters)
}

func (r vmRecord) belongs(m cloud.Machine) bool {
	return r.mark.Key == m.Key && r.mark.ProviderID != "" && r.mark.ProviderID == m.ProviderID
}

// original says that the marks were made for this VM.
func (r vmRecord) original() bool { return arm.Original(r.mark, r.id) }

// sight is what is decided from.
func (r vmRecord) sight(m cloud.Machine, power next.Power, addresses []string) *next.Sight {
	s := &next.Sight{Ours: r.belongs(m), State: r.state, Power: power, VM: cloud.VM{FailureDomain: r.zone, ImageVersion: r.image}}
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
func powerOf(statuses []*armcompute.InstanceViewStatus) next.Power {
	for _, status := range statuses {
		if status == nil {
			continue
		}
		code := strings.ToLower(deref(status.Code))
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
func whyOf(statuses []*armcompute.InstanceViewStatus) fault.Verdict {
	for _, status := range statuses {
		if status == nil {
			continue
		}
		if a, ok := fault.OfView(deref(status.Code), deref(status.Message)); ok {
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
