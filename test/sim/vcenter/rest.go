package vcenter

import (
	"github.com/vmware/govmomi/simulator"
	vapi "github.com/vmware/govmomi/vapi/simulator"
)

// serveREST adds the vCenter's other API, beside SOAP. Our provider does not call it. The provider of Linux machines, Cluster API
// Provider vSphere, logs in to both before it does anything, with the same account.
func serveREST(service *simulator.Service, inventory *simulator.Registry) {
	paths, handler := vapi.New(service.Listen, inventory)
	for _, path := range paths {
		service.Handle(path, handler)
	}
}
