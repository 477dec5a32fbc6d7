// Package adapters computes the adapters of a VM in a vCenter, with their MACs and addresses. It is pure: the controller calls it
// with the addresses that pools gave, and the plugin of clusterctl before there is a cluster.
package adapters

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// Pool is one that an adapter gets an address from.
type Pool struct {
	infrav1.IPPoolReference
	Adapter infrav1.VSphereNetworkInterface
}

// Of returns the adapters of a spec as status.networkInterfaces has them. It asks for the address of each pool, in the order of
// the spec. The MACs follow from spec.providerID and the addresses.
func Of(
	windows *infrav1.WindowsMachine, addressOf func(Pool) (infrav1.NetworkAddress, error),
) ([]infrav1.MachineNetworkInterface, error) {
	var adapters []infrav1.MachineNetworkInterface
	for _, spec := range windows.Spec.VSphere.NetworkInterfaces {
		adapter := infrav1.MachineNetworkInterface{Name: spec.Name}
		for _, pool := range spec.AddressesFromPools {
			address, err := addressOf(Pool{pool, spec})
			if err != nil {
				return nil, err
			}
			adapter.Addresses = append(adapter.Addresses, address)
		}
		adapter.MACAddress = macOf(windows, adapters, adapter.Addresses)
		adapters = append(adapters, adapter)
	}
	return adapters, nil
}

// VMware reserves 00:50:56:00:00:00 to 00:50:56:3f:ff:ff for chosen MACs. Those of ten adapters with addresses end at 27:ff:ff;
// adapters without an address share the rest.
const firstIdentityMAC, identityMACs = 0x280000, 0x180000

// macOf is the MAC of the adapter behind those before it, by which the guest finds it. It follows from what a move keeps. The
// only adapter of a VM is found without one, so with DHCP it keeps the MAC that the vCenter assigns; it has none here.
func macOf(
	windows *infrav1.WindowsMachine, previous []infrav1.MachineNetworkInterface, addresses []infrav1.NetworkAddress,
) string {
	i, wanted := len(previous), windows.Spec.VSphere.NetworkInterfaces
	switch {
	case len(addresses) > 0:
		return macOfAddress(i, addresses)
	case len(wanted) > 1:
		return macOfIdentity(windows.Spec.ProviderID, wanted[i].Name, previous)
	}
	return ""
}

// macOfAddress has i and the last 18 bits of the adapter's first IPv4 address, or of its first address if it has no IPv4
// address. So the adapters of a VM differ by i, and those in a network by their addresses. Distinct stops where they do not.
func macOfAddress(i int, addresses []infrav1.NetworkAddress) string {
	var ips []netip.Addr
	for _, address := range addresses {
		ips = append(ips, netip.MustParsePrefix(address.Address).Addr())
	}
	first := ips[max(0, slices.IndexFunc(ips, netip.Addr.Is4))].As16()
	return showMAC((i<<2|int(first[13]&3))<<16 | int(first[14])<<8 | int(first[15]))
}

// macOfIdentity is a hash of the VM's identity and the adapter's name. If an adapter before it has the same MAC, it takes the
// next one.
func macOfIdentity(providerID, name string, previous []infrav1.MachineNetworkInterface) string {
	sum := sha256.Sum256([]byte(providerID + "/" + name))
	for n := int(binary.BigEndian.Uint32(sum[:])); ; n++ {
		mac := showMAC(firstIdentityMAC + n%identityMACs)
		if !slices.ContainsFunc(previous, func(adapter infrav1.MachineNetworkInterface) bool { return adapter.MACAddress == mac }) {
			return mac
		}
	}
}

func showMAC(end int) string {
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", end>>16, end>>8&0xff, end&0xff)
}
