package request

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"k8s.io/utils/ptr"
)

// object is a part of a body.
type object = map[string]any

// named are separate adapters in the request for their VM, which removes them when it goes.
func named(w Want) (all []*armcompute.NetworkInterfaceReference) {
	for i := range w.Placement.Subnets {
		all = append(all, &armcompute.NetworkInterfaceReference{
			ID: new(w.Placement.Group.Adapter(AdapterName(w.Machine, i)).String()),
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary: new(i == 0), DeleteOption: ptr.To(armcompute.DeleteOptionsDelete),
			},
		})
	}
	return all
}

// Adapter is the body of the request that makes a separate adapter, in the form of Microsoft.Network. It is only made before its
// VM, never changed.
func Adapter(w Want, i int) map[string]any {
	wanted := wantedAdapter(w.Machine, i)
	properties := object{
		"enableAcceleratedNetworking": Accelerated(w, i),
		"ipConfigurations":            separateAddresses(w, i),
	}
	if on := enabled(wanted.IPForwarding); on != nil {
		properties["enableIPForwarding"] = *on
	}
	if len(wanted.DNSServers) > 0 {
		properties["dnsSettings"] = object{"dnsServers": wanted.DNSServers}
	}
	if id := wanted.NetworkSecurityGroupID; id != "" {
		properties["networkSecurityGroup"] = object{"id": id}
	}
	return object{"location": w.Placement.Location, "tags": tags(w), "properties": properties}
}

// Accelerated says whether an adapter has accelerated networking, which not every size has.
func Accelerated(w Want, i int) bool { return accelerated(w, wantedAdapter(w.Machine, i)) }

func separateAddresses(w Want, i int) []any {
	wanted, subnet := wantedAdapter(w.Machine, i), object{"id": w.Placement.Subnets[i]}
	own := object{"primary": true, "subnet": subnet}
	if wanted.PrivateAddress != "" {
		own["privateIPAllocationMethod"], own["privateIPAddress"] = "Static", wanted.PrivateAddress
	}
	groups := references(wanted.ApplicationSecurityGroupIDs)
	if len(groups) > 0 {
		own["applicationSecurityGroups"] = groups
	}
	if joined := references(Pools(w, i)); len(joined) > 0 {
		own["loadBalancerBackendAddressPools"] = joined
	}
	all := []any{object{"name": firstAddress, "properties": own}}
	for n := range int(wanted.SecondaryAddresses) {
		next := object{"primary": false, "subnet": subnet}
		if len(groups) > 0 {
			next["applicationSecurityGroups"] = groups
		}
		all = append(all, object{"name": nextAddress(n), "properties": next})
	}
	return all
}

func references(ids []string) (all []any) {
	for _, id := range ids {
		all = append(all, object{"id": id})
	}
	return all
}
