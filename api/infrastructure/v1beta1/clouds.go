package v1beta1

import "cmp"

// The clouds. Each name is that of the cloud's part of a spec, and stands in metrics, in commands and in CloudLabel.
const (
	CloudVSphere = "vsphere"
	CloudAzure   = "azure"
)

// CloudLabel of a Cluster names the cloud whose add-ons the flavors bring for it.
const CloudLabel = "capwin.io/cloud"

// VMRecord is what a cloud calls what it made for a machine, each for as long as that exists, and nothing else ever. Each part
// has the server that gave it, and whether that accepted our own request to delete the VM.
//
// +kubebuilder:object:generate=false
type VMRecord struct {
	VSphere VSphereRecord
	Azure   AzureRecord
}

// Record returns what the status has.
func (s *WindowsMachineStatus) Record() (record VMRecord) {
	record.VSphere = s.VSphere
	if s.Azure != nil {
		record.Azure = s.Azure.AzureRecord
	}
	return record
}

// SetRecord writes the record into the status. The status of a machine that has no place in Azure has no room for Azure's part.
func (s *WindowsMachineStatus) SetRecord(record VMRecord) {
	s.VSphere = record.VSphere
	if s.Azure != nil {
		s.Azure.AzureRecord = record.Azure
	}
}

// Server is the one that gave the record; empty if none did, or if an earlier release did not write it down.
func (r VMRecord) Server() string { return cmp.Or(r.VSphere.Server, r.Azure.Server) }

// VM is the cloud's own ID of the VM.
func (r VMRecord) VM() string { return cmp.Or(r.VSphere.Reference, r.Azure.VMID) }

// GivenBy is what of a record counts at a server: what another one gave is as if it were not there.
func (r VMRecord) GivenBy(server string) VMRecord {
	if server == "" || r.VSphere.Server != server {
		r.VSphere = VSphereRecord{}
	}
	if server == "" || r.Azure.Server != server {
		r.Azure = AzureRecord{}
	}
	return r
}

// WhereItIs is the part of the status that has which VM it is, where, and with which addresses.
func (s *WindowsMachineStatus) WhereItIs() WindowsMachineStatus {
	return WindowsMachineStatus{NetworkInterfaces: s.NetworkInterfaces, VSphere: s.VSphere, Azure: s.Azure}
}
