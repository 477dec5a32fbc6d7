package preview

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
	"github.com/capwin/cluster-api-provider-windows/controllers/addresses/adapters"
)

// The networks of RFC 5737 and RFC 3849, which are for documentation only.
var (
	documentation4 = netip.MustParsePrefix("192.0.2.0/24")
	documentation6 = netip.MustParsePrefix("2001:db8::/64")
)

// firstHost is the number of the first address that stands in for one of a pool; the gateway has the number 1.
const firstHost = 10

// fillAdapters sets what the controller of WindowsMachine would write to status.networkInterfaces: the MACs, computed as there,
// and documentation addresses for those that pools will give.
func (m *Machine) fillAdapters(o *objects.Set) error {
	if bootstrap.Addressed(m.Windows) {
		return nil
	}
	host := firstHost
	var err error
	m.Windows.Status.NetworkInterfaces, err = adapters.Of(m.Windows, func(pool adapters.Pool) (infrav1.NetworkAddress, error) {
		address := placeholderAddress(pool, host, isIPv6Pool(o, m.Windows.Namespace, pool))
		host++
		m.standIn(fmt.Sprintf("the address %s, gateway %s and MAC of network interface %s, which come from %s %s",
			address.Address, address.Gateway, pool.Adapter.Name, pool.Kind, pool.Name))
		return address, nil
	})
	return err
}

// placeholderAddress is an address of a documentation network or, if the adapter has routes, of a network in which their gateways
// are.
func placeholderAddress(pool adapters.Pool, host int, six bool) infrav1.NetworkAddress {
	network, taken := documentation4, []netip.Addr{}
	if six {
		network = documentation6
	}
	for _, route := range pool.Adapter.Routes {
		via, err := netip.ParseAddr(route.Via)
		if err != nil || via.Zone() != "" || via.Is6() != six || via.IsLinkLocalUnicast() {
			continue // Render refuses it
		}
		if len(taken) == 0 {
			network = netip.PrefixFrom(via, network.Bits()).Masked()
		}
		for !network.Contains(via) {
			network = netip.PrefixFrom(via, network.Bits()-1).Masked()
		}
		taken = append(taken, via)
	}
	gateway := firstFree(network.Addr(), 1, taken)
	address := firstFree(network.Addr(), host, append(taken, gateway))
	return infrav1.NetworkAddress{
		Address: netip.PrefixFrom(address, network.Bits()).String(), Gateway: gateway.String(),
	}
}

// firstFree is the nth address behind a network's own, or the first one behind that which is not taken.
func firstFree(address netip.Addr, n int, taken []netip.Addr) netip.Addr {
	for n > 0 || slices.Contains(taken, address) {
		address = address.Next()
		n--
	}
	return address
}

// isIPv6Pool reports whether a pool among the files gives IPv6 addresses: those of Cluster API's own IPAM provider list them.
func isIPv6Pool(o *objects.Set, namespace string, pool adapters.Pool) bool {
	for _, object := range o.Items {
		if object.Kind != pool.Kind || object.Version.Group != pool.APIGroup || object.Key.Name != pool.Name ||
			object.Key.Namespace != namespace && object.Kind == "InClusterIPPool" {
			continue
		}
		gateway, err := objects.Field[string](object, "spec", "gateway")
		if err == nil && gateway != "" {
			address, err := netip.ParseAddr(gateway)
			return err == nil && address.Is6()
		}
		addresses, err := objects.Field[[]string](object, "spec", "addresses")
		if err == nil && len(addresses) > 0 {
			return strings.Contains(addresses[0], ":")
		}
	}
	return false
}
