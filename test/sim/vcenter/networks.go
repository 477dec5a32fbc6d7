package vcenter

import (
	"context"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Networks as a vCenter with NSX has them: several of one name, in one folder. A segment appears as an OpaqueNetwork for hosts
// with an N-VDS and as a port group on each distributed switch that NSX has prepared (issues of other tools that met it:
// eks-anywhere 3162, cluster-api-provider-vsphere 1919, openshift-installer 5673, terraform-provider-vsphere 925). The simulator
// refuses a name that is taken, and so does Rename_Task; NSX makes such networks by other means.

// NSX adds a segment and port groups on a distributed switch to the inventory.
func NSX(m *simulator.Model) { m.OpaqueNetwork, m.Portgroup = 1, 2 }

// Network returns the network of a kind and name.
func (o *Owner) Network(kind, name string) types.ManagedObjectReference {
	o.t.Helper()
	all, err := find.NewFinder(o.Client).NetworkList(context.Background(), "/"+Datacenter+"/network/"+name)
	o.Must(err)
	for _, one := range all {
		if one.Reference().Type == kind {
			return one.Reference()
		}
	}
	o.t.Fatalf("there is no %s %s", kind, name)
	return types.ManagedObjectReference{}
}

// Call gives an object a name, which another one may have.
func (o *Owner) Call(ref types.ManagedObjectReference, name string) {
	o.Update(ref, types.PropertyChange{Name: "name", Val: name})
}

// HostsHave sets the networks of the cluster's hosts.
func (o *Owner) HostsHave(networks ...types.ManagedObjectReference) {
	o.Update(o.model.Map().Any("ClusterComputeResource").Reference(), types.PropertyChange{Name: "network", Val: networks})
}
