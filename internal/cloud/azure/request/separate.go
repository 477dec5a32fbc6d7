package request

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
)

// object is a part of a body.
type object = map[string]any

// named are separate adapters in the request for their VM, which removes them when it goes.
func named(w Want) (refs []*armcompute.NetworkInterfaceReference) {
	for i := range w.Placement.Subnets {
		refs = append(refs, &armcompute.NetworkInterfaceReference{
			ID: new(w.Placement.Group.Adapter(AdapterName(w.Machine, i)).String()),
			Properties: &armcompute.NetworkInterfaceReferenceProperties{
				Primary: new(i == 0), DeleteOption: new(armcompute.DeleteOptionsDelete),
			},
		})
	}
	return refs
}

// Adapter is the body of the request that makes a separate adapter, in the form of Microsoft.Network. It is only made before its
// VM, never changed.
func Adapter(w Want, i int) map[string]any {
	wanted := wantedAdapter(w.Machine, i)
	properties := object{
		"enableAcceleratedNetworking": Accelerated(w, i),
		"ipConfigurations":            separateAddresses(w, i),
	}
	if forwarding := enabled(wanted.IPForwarding); forwarding != nil {
		properties["enableIPForwarding"] = *forwarding
	}
	if len(wanted.DNSServers) > 0 {
		properties["dnsSettings"] = object{"dnsServers": wanted.DNSServers}
	}
	if id := wanted.NetworkSecurityGroupID; id != "" {
		properties["networkSecurityGroup"] = object{"id": id}
	}
	return object{"location": w.Placement.Location, "tags": tags(w), "properties": properties}
}

// Accelerated reports whether an adapter has accelerated networking, which not every size has.
func Accelerated(w Want, i int) bool { return accelerated(w, wantedAdapter(w.Machine, i)) }

func separateAddresses(w Want, i int) []any {
	wanted, subnet := wantedAdapter(w.Machine, i), object{"id": w.Placement.Subnets[i]}
	first := object{"primary": true, "subnet": subnet}
	if wanted.PrivateAddress != "" {
		first["privateIPAllocationMethod"], first["privateIPAddress"] = "Static", wanted.PrivateAddress
	}
	groups := references(wanted.ApplicationSecurityGroupIDs)
	if len(groups) > 0 {
		first["applicationSecurityGroups"] = groups
	}
	if joined := references(Pools(w, i)); len(joined) > 0 {
		first["loadBalancerBackendAddressPools"] = joined
	}
	configs := []any{object{"name": firstAddress, "properties": first}}
	for n := range int(wanted.SecondaryAddresses) {
		next := object{"primary": false, "subnet": subnet}
		if len(groups) > 0 {
			next["applicationSecurityGroups"] = groups
		}
		configs = append(configs, object{"name": nextAddress(n), "properties": next})
	}
	return configs
}

func references(ids []string) (refs []any) {
	for _, id := range ids {
		refs = append(refs, object{"id": id})
	}
	return refs
}
