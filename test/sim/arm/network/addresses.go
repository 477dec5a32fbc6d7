package network

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Azure keeps the first four addresses of a subnet, and the last [D].
const kept = 4

// room refuses NICs for which a subnet has no addresses left [V].
func (n *Network) room(properties doc.Object) *reply.Error {
	wanted := map[string]int{}
	for _, ip := range doc.List(properties, "ipConfigurations") {
		wanted[doc.Key(doc.Text(ip, "properties", "subnet", "id"))]++
	}
	for id, more := range wanted {
		subnet := n.World.FindText(id)
		if subnet == nil {
			continue
		}
		prefix, err := netip.ParsePrefix(doc.Text(subnet.Body, "properties", "addressPrefix"))
		if err != nil {
			continue
		}
		if room := 1<<(prefix.Addr().BitLen()-prefix.Bits()) - kept - 1 - len(n.taken(id)); room < more {
			return reply.New(http.StatusBadRequest, "SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for "+
				"%d "+
				"IP addresses.", subnet.ID.Name(), prefix, more)
		}
	}
	return nil
}

// static refuses static addresses that are outside their subnet or another NIC's [V].
func (n *Network) static(nic doc.ID, properties doc.Object) *reply.Error {
	for _, ip := range doc.List(properties, "ipConfigurations") {
		inner := doc.Of(ip, "properties")
		address, err := netip.ParseAddr(doc.Text(inner, "privateIPAddress"))
		subnet := n.World.FindText(doc.Text(inner, "subnet", "id"))
		if err != nil || subnet == nil || doc.Text(inner, "privateIPAllocationMethod") != "Static" {
			continue
		}
		prefix, err := netip.ParsePrefix(doc.Text(subnet.Body, "properties", "addressPrefix"))
		if err != nil || !prefix.Contains(address) {
			return reply.New(http.StatusBadRequest, "PrivateIPAddressNotInSubnet",
				"Private static IP address %s does not belong to the range of subnet prefix %s.", address, prefix)
		}
		if owner := n.owner(address, subnet.ID); owner != "" && !doc.Same(owner, nic.String()) {
			return reply.New(http.StatusBadRequest, "PrivateIPAddressInUse", "IP configuration %s is using the private IP address %s "+
				"which is already allocated to resource %s.", doc.Text(ip, "name"), address, owner)
		}
	}
	return nil
}

// owner is the NIC that has an address of a subnet, "" if it is free.
func (n *Network) owner(address netip.Addr, subnet doc.ID) string {
	for _, nic := range n.World.All(world.Kind{Type: NIC}) {
		for _, ip := range doc.List(nic.Body, "properties", "ipConfigurations") {
			if doc.Same(doc.Text(ip, "properties", "subnet", "id"), subnet.String()) &&
				doc.Text(ip, "properties", "privateIPAddress") == address.String() {
				return nic.ID.String()
			}
		}
	}
	return ""
}

// assign gives addresses to all configurations of a NIC that have none.
func (n *Network) assign(nic doc.Object, free func(subnet string) (netip.Addr, bool)) {
	for _, ip := range doc.List(nic, "properties", "ipConfigurations") {
		if doc.Has(ip, "properties", "privateIPAddress") {
			continue
		}
		if address, ok := free(doc.Text(ip, "properties", "subnet", "id")); ok {
			doc.Set(ip, address.String(), "properties", "privateIPAddress")
		}
	}
}

func (n *Network) free(subnet string) (netip.Addr, bool) { return n.allFree(subnet)() }

// allFree returns one free address of a subnet after the other.
func (n *Network) allFree(subnet string) func() (netip.Addr, bool) {
	none := func() (netip.Addr, bool) { return netip.Addr{}, false }
	r := n.World.FindText(subnet)
	if r == nil {
		return none
	}
	prefix, err := netip.ParsePrefix(doc.Text(r.Body, "properties", "addressPrefix"))
	if err != nil {
		return none
	}
	taken, a := n.taken(subnet), prefix.Masked().Addr()
	for range kept - 1 {
		a = a.Next()
	}
	return func() (netip.Addr, bool) {
		a = a.Next()
		for prefix.Contains(a) && taken[a.String()] {
			a = a.Next()
		}
		return a, prefix.Contains(a.Next())
	}
}

// taken are the addresses of a subnet that NICs have.
func (n *Network) taken(subnet string) map[string]bool {
	taken := map[string]bool{}
	n.World.Each(world.Kind{Type: NIC}, func(nic *world.Resource) {
		for _, ip := range doc.List(nic.Body, "properties", "ipConfigurations") {
			if doc.Same(doc.Text(ip, "properties", "subnet", "id"), subnet) {
				if a := doc.Text(ip, "properties", "privateIPAddress"); a != "" {
					taken[a] = true
				}
			}
		}
	})
	return taken
}

// mac is a hardware address in Azure's range, written as Azure does.
func (n *Network) mac() string {
	s := n.World.Suffix(6)
	return fmt.Sprintf("00-0D-3A-%s-%s-%s", s[:2], s[2:4], s[4:])
}
