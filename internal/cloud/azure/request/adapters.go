package request

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
)

// Separate reports whether the adapters must be there before the VM, because the cloud wants it so or one has an address of its
// own: Azure's request for a VM has no place for it.
func Separate(w Want) bool {
	return w.Separate || slices.ContainsFunc(w.Machine.Spec.Azure.NetworkInterfaces, func(a infrav1.AzureNetworkInterface) bool {
		return a.PrivateAddress != ""
	})
}

// adapters are part of the request for the VM: nothing is left of them if it is refused. Separate ones are named.
func adapters(w Want) *armcompute.NetworkProfile {
	if Separate(w) {
		return &armcompute.NetworkProfile{NetworkInterfaces: named(w)}
	}
	profile := &armcompute.NetworkProfile{NetworkAPIVersion: new(armcompute.NetworkAPIVersionTwoThousandTwentyTwo1101)}
	for i := range w.Placement.SubnetIDs {
		profile.NetworkInterfaceConfigurations = append(profile.NetworkInterfaceConfigurations, adapter(w, i))
	}
	return profile
}

func adapter(w Want, i int) *armcompute.VirtualMachineNetworkInterfaceConfiguration {
	wanted := wantedAdapter(w.Machine, i)
	return &armcompute.VirtualMachineNetworkInterfaceConfiguration{
		Name: new(AdapterName(w.Machine, i)),
		Tags: inlineTags(w),
		Properties: &armcompute.VirtualMachineNetworkInterfaceConfigurationProperties{
			Primary:                     new(i == 0),
			DeleteOption:                new(armcompute.DeleteOptionsDelete),
			EnableAcceleratedNetworking: new(Accelerated(w, i)),
			EnableIPForwarding:          enabled(wanted.IPForwarding),
			DNSSettings:                 nameServers(wanted.DNSServers),
			NetworkSecurityGroup:        resource(wanted.NetworkSecurityGroupID),
			IPConfigurations:            addresses(w, i),
		},
	}
}

// wantedAdapter is an adapter as the spec has it; a VM whose spec has none gets one.
func wantedAdapter(m cloud.Machine, i int) infrav1.AzureNetworkInterface {
	if named := m.Spec.Azure.NetworkInterfaces; i < len(named) {
		return named[i]
	}
	return infrav1.AzureNetworkInterface{}
}

// AdapterName is the name of an adapter. Azure adds to it, unless the adapter is separate.
func AdapterName(m cloud.Machine, i int) string {
	return m.Name + "-" + cmp.Or(wantedAdapter(m, i).Name, strconv.Itoa(i))
}

// Accelerated reports whether an adapter has accelerated networking, which not every size has.
func Accelerated(w Want, i int) bool {
	if state := wantedAdapter(w.Machine, i).AcceleratedNetworking; state != "" {
		return state == infrav1.AzureEnabled
	}
	return w.Accelerated
}

func nameServers(servers []string) *armcompute.VirtualMachineNetworkInterfaceDNSSettingsConfiguration {
	if len(servers) == 0 {
		return nil
	}
	return &armcompute.VirtualMachineNetworkInterfaceDNSSettingsConfiguration{DNSServers: texts(servers)}
}

// addresses of an adapter: its own, and those for pods.
func addresses(w Want, i int) (configs []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration) {
	wanted := wantedAdapter(w.Machine, i)
	for n := range 1 + int(wanted.SecondaryAddresses) {
		name := "pod-" + strconv.Itoa(n)
		if n == 0 {
			name = "first"
		}
		configs = append(configs, &armcompute.VirtualMachineNetworkInterfaceIPConfiguration{
			Name: &name,
			Properties: &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
				Primary: new(n == 0), Subnet: resource(w.Placement.SubnetIDs[i]),
				ApplicationSecurityGroups: resources(wanted.ApplicationSecurityGroupIDs),
			},
		})
	}
	first := configs[0].Properties
	first.LoadBalancerBackendAddressPools = resources(Pools(w, i))
	if wanted.PublicIP == infrav1.AzureEnabled {
		first.PublicIPAddressConfiguration = public(AdapterName(w.Machine, i), inlineTags(w))
	}
	return configs
}

// Pools are those that an adapter joins. The first one also joins the pool through which nodes reach the Internet, unless it has
// an address there.
func Pools(w Want, i int) []string {
	wanted := wantedAdapter(w.Machine, i)
	pools := slices.Clone(wanted.LoadBalancerPoolIDs)
	out := w.Placement.OutboundPoolID
	if i == 0 && out != "" && wanted.PublicIP != infrav1.AzureEnabled && !slices.Contains(pools, out) {
		pools = append(pools, out)
	}
	return pools
}

// HasPublic reports whether a VM is to have a public IP.
func HasPublic(spec *infrav1.AzureVM) bool {
	return spec != nil && slices.ContainsFunc(spec.NetworkInterfaces, func(adapter infrav1.AzureNetworkInterface) bool {
		return adapter.PublicIP == infrav1.AzureEnabled
	})
}

// public has our marks, too: Azure is known to leave public IPs whatever their deleteOption is (azure-rest-api-specs #25475).
func public(name string, marks map[string]*string) *armcompute.VirtualMachinePublicIPAddressConfiguration {
	return &armcompute.VirtualMachinePublicIPAddressConfiguration{
		Name: &name, Tags: marks,
		SKU: &armcompute.PublicIPAddressSKU{Name: new(armcompute.PublicIPAddressSKUNameStandard)},
		Properties: &armcompute.VirtualMachinePublicIPAddressConfigurationProperties{
			DeleteOption:             new(armcompute.DeleteOptionsDelete),
			PublicIPAllocationMethod: new(armcompute.PublicIPAllocationMethodStatic),
		},
	}
}

func resources(ids []string) []*armcompute.SubResource {
	var refs []*armcompute.SubResource
	for _, id := range ids {
		refs = append(refs, resource(id))
	}
	return refs
}

func texts(values []string) []*string {
	var refs []*string
	for _, value := range values {
		refs = append(refs, &value)
	}
	return refs
}
