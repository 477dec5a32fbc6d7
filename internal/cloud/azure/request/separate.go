package request

import (
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
)

// object is a part of a body.
type object = map[string]any

// named are separate adapters in the request for their VM, which removes them when it goes.
func named(w Want) (refs []*armcompute.NetworkInterfaceReference) {
	for i := range w.Placement.SubnetIDs {
		refs = append(refs, &armcompute.NetworkInterfaceReference{
			ID: new(w.group().Adapter(AdapterName(w.Machine, i)).String()),
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

func separateAddresses(w Want, i int) (configs []any) {
	wanted := wantedAdapter(w.Machine, i)
	for n := range 1 + int(wanted.SecondaryAddresses) {
		address := object{"primary": n == 0, "subnet": object{"id": w.Placement.SubnetIDs[i]}}
		if groups := references(wanted.ApplicationSecurityGroupIDs); len(groups) > 0 {
			address["applicationSecurityGroups"] = groups
		}
		if pools := references(Pools(w, i)); n == 0 && len(pools) > 0 {
			address["loadBalancerBackendAddressPools"] = pools
		}
		if n == 0 && wanted.PrivateAddress != "" {
			address["privateIPAllocationMethod"], address["privateIPAddress"] = "Static", wanted.PrivateAddress
		}
		configs = append(configs, object{"name": addressName(n), "properties": address})
	}
	return configs
}

func references(ids []string) (refs []any) {
	for _, id := range ids {
		refs = append(refs, object{"id": id})
	}
	return refs
}
