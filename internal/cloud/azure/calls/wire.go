package calls

import (
	"cmp"

	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
)

// VM is a VM as Azure shows it, as far as we read it. The SDK's own type takes several times as long to read.
type VM struct {
	ID         string
	Tags       map[string]string
	Zones      []string
	Properties *struct {
		VMID, ProvisioningState, Priority, EvictionPolicy string

		HardwareProfile struct{ VMSize string }
		StorageProfile  struct {
			ImageReference struct{ ExactVersion string }
			OSDisk         ManagedDisk
			DataDisks      []ManagedDisk
		}
		NetworkProfile struct {
			NetworkInterfaces []struct{ ID string }
		}
		InstanceView *View
	}
}

// ManagedDisk is a disk as its VM has it.
type ManagedDisk struct{ ManagedDisk struct{ ID string } }

// View is what a VM is doing.
type View struct{ Statuses []Status }

// Status is one of the states of a VM.
type Status struct{ Code, Message string }

// Resource is an adapter, a disk or a public IP, as far as we read it.
type Resource struct {
	ID         string
	Tags       map[string]string
	ManagedBy  string
	Properties struct {
		VirtualMachine    struct{ ID string }
		UniqueID          string // of a disk
		ResourceGUID      string // of the others
		ProvisioningState string

		EnableAcceleratedNetworking bool

		IPConfigurations []struct {
			Properties struct {
				PrivateIPAddress string
				PublicIPAddress  struct{ ID string }
			}
		}
		IPConfiguration struct{ ID string } // that has the public IP
	}
}

// UniqueID is Azure's own ID of it; empty if Azure gave none.
func (r Resource) UniqueID() string {
	return arm.UUID(cmp.Or(r.Properties.UniqueID, r.Properties.ResourceGUID))
}

// User is the VM that an adapter or disk belongs to; empty if there is none.
func (r Resource) User() string { return cmp.Or(r.ManagedBy, r.Properties.VirtualMachine.ID) }

// Attached reports whether something uses it.
func (r Resource) Attached() bool { return r.User() != "" || r.Properties.IPConfiguration.ID != "" }
