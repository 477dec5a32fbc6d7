package network

import (
	"fmt"
	"net/netip"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// CheckAddress returns why a node could not work with an address from a pool. It is called when the address is assigned, when a
// corrected pool still helps, and again by Render.
func CheckAddress(address infrav1.NetworkAddress) error {
	prefix, err := netip.ParsePrefix(address.Address)
	if err != nil || prefix.String() != address.Address || prefix.Addr().Is4In6() {
		return fmt.Errorf("%q is not an address with a prefix length", address.Address)
	}
	if problem := useless(prefix); problem != "" {
		return fmt.Errorf("%s %s", prefix, problem)
	}
	return checkGateway(prefix, address.Gateway)
}

// checkGateway: an IPv6 gateway may be a link-local address.
func checkGateway(prefix netip.Prefix, text string) error {
	gateway, ok := plainAddress(text)
	switch {
	case text == "":
		return nil
	case !ok || gateway.Is4() != prefix.Addr().Is4():
		return fmt.Errorf("gateway %q is not valid for %s", text, prefix)
	case gateway == prefix.Addr():
		return fmt.Errorf("%s is its own gateway", prefix)
	case !prefix.Contains(gateway) && (gateway.Is4() || !gateway.IsLinkLocalUnicast()):
		return fmt.Errorf("gateway %s is not in the network of %s", gateway, prefix)
	}
	return nil
}

// useless returns what else an address means: the first address of an IPv4 network is the network, the last its broadcast; the
// first of an IPv6 network is any router. Networks of one or two addresses use them all.
func useless(prefix netip.Prefix) string {
	address, host := prefix.Addr(), prefix.Addr().BitLen()-prefix.Bits()
	switch {
	case prefix.Bits() == 0:
		return "has every address in its network"
	case !address.IsGlobalUnicast():
		return "is not an address by which others reach a node"
	case host > 1 && address == prefix.Masked().Addr():
		return "is the address of the network itself"
	case host > 1 && address.Is4() && !prefix.Contains(address.Next()):
		return "is the broadcast address of its network"
	}
	return ""
}
