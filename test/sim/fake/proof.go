package fake

import (
	"fmt"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// isUnderWay says that a request for the machine's VM, or for its removal, is under way.
func (a *account) isUnderWay(what act, m cloud.Machine) bool {
	r := a.world.underWay(what, a.at(m.Name))
	return r != nil && a.whose(m, &r.vm) == cloud.Ours
}

// whose says whose a VM of the machine's name is: the cloud's own ID decides, and its marks where that is not known.
func (a *account) whose(m cloud.Machine, v *VM) cloud.Whose {
	if v == nil {
		return cloud.Unseen
	}
	known, marked := m.Record.GivenBy(a.name()).Azure.VMID, cloud.Marked{Key: v.Owner, ProviderID: v.ProviderID}.Of(m)
	switch {
	case known != "" && known == v.Own, known == "" && marked && m.Proves(v.Cluster, v.Digest):
		return cloud.Ours
	case marked, known == "" && (m.Asked != cloud.NeverAsked || a.asked[m.ID()]):
		return cloud.Unproved
	}
	return cloud.Foreign
}

func notProved(m cloud.Machine) error {
	return cloud.Errorf(cloud.Invalid, infrav1.VMNotProvedReason,
		"nothing proves whether the VM %q belongs to this machine: remove it if it does", m.Name)
}

// recordOf is what this cloud calls a VM.
func (a *account) recordOf(v *VM) *cloud.Record {
	return &cloud.Record{Azure: infrav1.AzureRecord{Server: a.name(), VMID: v.Own}}
}

// left says what to look for if this cloud did not accept a deletion of ours.
func (a *account) left(m cloud.Machine) string {
	record := m.Record.GivenBy(a.name()).Azure
	if a.deleted[m.ID()] || record.Deletion != "" || m.Asked == cloud.NeverAsked && !a.asked[m.ID()] && record.VMID == "" {
		return ""
	}
	return fmt.Sprintf("look for the VM %q with the ID %q", m.Name, record.VMID)
}
