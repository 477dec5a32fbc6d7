package network

import (
	"fmt"
	"net/netip"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// CheckAddress says why a node cannot work with an address of a pool. It is asked before the address is kept as well as
// before it is rendered: early on, a mended pool still helps.
func CheckAddress(one infrav1.NetworkAddress) error {
	prefix, err := netip.ParsePrefix(one.Address)
	if err != nil || prefix.String() != one.Address || prefix.Addr().Is4In6() {
		return fmt.Errorf("%q is no address with a prefix length", one.Address)
	}
	if why := useless(prefix); why != "" {
		return fmt.Errorf("%s %s", prefix, why)
	}
	return checkGateway(prefix, one.Gateway)
}

// checkGateway: one of IPv6 may be on the link.
func checkGateway(prefix netip.Prefix, text string) error {
	gateway, ok := plainAddress(text)
	switch {
	case text == "":
		return nil
	case !ok || gateway.Is4() != prefix.Addr().Is4():
		return fmt.Errorf("gateway %q is none for %s", text, prefix)
	case gateway == prefix.Addr():
		return fmt.Errorf("%s is its own gateway", prefix)
	case !prefix.Contains(gateway) && (gateway.Is4() || !gateway.IsLinkLocalUnicast()):
		return fmt.Errorf("gateway %s is not in the network of %s", gateway, prefix)
	}
	return nil
}

// useless: the first address of an IPv4 network means the network, the last one all in it; in IPv6 the first one means any
// router. Networks of one or two addresses use them all.
func useless(prefix netip.Prefix) string {
	address, host := prefix.Addr(), prefix.Addr().BitLen()-prefix.Bits()
	switch {
	case prefix.Bits() == 0:
		return "has the whole world for its network"
	case !address.IsGlobalUnicast():
		return "is no address that others reach a node by"
	case host > 1 && address == prefix.Masked().Addr():
		return "is the address of the network itself"
	case host > 1 && address.Is4() && !prefix.Contains(address.Next()):
		return "is the broadcast address of its network"
	}
	return ""
}
