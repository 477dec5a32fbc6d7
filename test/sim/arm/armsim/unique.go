package armsim

import (
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/compute"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// uniqueIDs are the members in which the platform names a resource itself: a new value for each resource that is made, also one
// of the same name. Users cannot set them [D vmId of virtualMachine.json: "the VM unique ID which is a 128-bits identifier";
// uniqueId of disk.json: "Unique Guid identifying the resource"; resourceGuid of networkInterface.json and publicIpAddress.json].
// That a move to another group keeps them no document says [I]: the VM is not made anew.
var uniqueIDs = map[string]string{"vm": "vmId", "disk": "uniqueId"}

// UniqueID is what the platform calls a resource: vmId of a VM, uniqueId of a disk, resourceGuid of what the network provider
// has. It is "" if there is no such resource.
func (c *Cloud) UniqueID(id doc.ID) (unique string) {
	c.Change(func(w *Inside) { unique = w.uniqueID(id) })
	return unique
}

func (in *Inside) uniqueID(id doc.ID) string {
	r := in.World.Find(id)
	if r == nil {
		return ""
	}
	member := "resourceGuid"
	if doc.Same(id.Provider, compute.Provider) {
		member = uniqueIDs[short(id.Type())]
	}
	return doc.Text(r.Body, "properties", member)
}
