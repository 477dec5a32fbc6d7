package network

import (
	"net/netip"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Inline makes the NIC that a VM's PUT describes. The platform chooses its name: the given one and a random suffix. Scale sets
// with flexible orchestration do so; for plain VMs no document says it [I], so no client may compute the name.
func (n *Network) Inline(vm doc.ID, location string, config doc.Object) doc.ID {
	id := doc.Resource(vm.Subscription, vm.Group, Provider, "networkInterfaces", doc.Text(config, "name")+"-"+n.World.Suffix(8))
	properties := doc.Clone(doc.Of(config, "properties"))
	delete(properties, "deleteOption")
	delete(properties, "primary")
	for _, ip := range doc.List(properties, "ipConfigurations") {
		if config := doc.Of(ip, "properties", "publicIPAddressConfiguration"); config != nil {
			user := id.String() + "/ipConfigurations/" + doc.Text(ip, "name")
			doc.Set(ip, doc.Object{"id": n.public(user, vm, location, config).String()}, "properties", "publicIPAddress")
		}
		doc.Remove(ip, "properties", "publicIPAddressConfiguration")
	}
	body := doc.Object{"location": location, "properties": properties}
	if tags := doc.Of(config, "tags"); tags != nil {
		body["tags"] = doc.Clone(tags)
	}
	r := n.World.Put(id, n.shape(id, body))
	doc.Set(r.Body, "Succeeded", "properties", "provisioningState")
	n.Attach(id, vm, doc.Flag(config, "properties", "primary"))
	n.addressLater(r)
	return id
}

// Copy makes NICs that are copies of another one, with their own addresses.
func (n *Network) Copy(of *world.Resource, texts []func(string) string) {
	subnets := map[string]func() (netip.Addr, bool){}
	free := func(subnet string) (netip.Addr, bool) {
		if subnets[subnet] == nil {
			subnets[subnet] = n.allFree(subnet)
		}
		return subnets[subnet]()
	}
	for _, text := range texts {
		body := doc.Change(of.Body, text)
		for _, ip := range doc.List(body, "properties", "ipConfigurations") {
			doc.Remove(ip, "properties", "privateIPAddress")
		}
		doc.Set(body, n.mac(), "properties", "macAddress")
		doc.Set(body, n.World.UUID(), "properties", "resourceGuid")
		n.assign(body, free)
		n.World.Copy(of, text, body)
	}
}

// Attach binds a NIC to its VM. One that was reserved for that VM has got it, and is an ordinary one again [I].
func (n *Network) Attach(nic, vm doc.ID, primary bool) {
	r := n.World.Find(nic)
	delete(n.reserved, r.ID.Key())
	doc.Set(r.Body, doc.Object{"id": vm.String()}, "properties", "virtualMachine")
	doc.Set(r.Body, primary, "properties", "primary")
	n.World.Touch(r)
}

// Power gives a NIC its hardware address, which it has from the first start of its VM on.
func (n *Network) Power(nic string) {
	r := n.World.FindText(nic)
	if r == nil || doc.Has(r.Body, "properties", "macAddress") {
		return
	}
	doc.Set(r.Body, n.mac(), "properties", "macAddress")
	n.World.Touch(r)
}

// MACBusy is how long a hardware address of a VM that was deleted by force may stay busy: up to 10 minutes [D delete.md].
const MACBusy = 10 * time.Minute

// Hold says that the VM of NICs was deleted by force. What stays of them keeps its hardware address, which is busy.
func (n *Network) Hold(nics []string) {
	for _, nic := range nics {
		if r := n.World.FindText(nic); r != nil && doc.Has(r.Body, "properties", "macAddress") {
			n.held[r.ID.Key()] = n.World.Clock.Now().Add(MACBusy)
		}
	}
}

// Held says that the hardware address of a NIC is still busy. What becomes of a VM that gets it no document says [I].
func (n *Network) Held(nic string) bool { return n.World.Clock.Now().Before(n.held[doc.Key(nic)]) }

// Reserve keeps a NIC for a VM whose allocation failed.
func (n *Network) Reserve(nic string, vm doc.ID) {
	n.reserved[doc.Key(nic)] = reservation{vm: vm.String(), until: n.World.Clock.Now().Add(Reserved)}
}

// Release says that the VM of a NIC is gone, and removes the NIC if its deleteOption says so. A NIC that is reserved stays, and
// so does one whose cascade failed: it has no VM then.
func (n *Network) Release(nic string, remove bool) {
	r := n.World.FindText(nic)
	if r == nil {
		return
	}
	doc.Remove(r.Body, "properties", "virtualMachine")
	n.World.Touch(r)
	held, ok := n.reserved[r.ID.Key()]
	if !remove || n.Leave || (ok && n.World.Clock.Now().Before(held.until)) {
		return
	}
	n.releasePublic(r, n.LeavePublic)
	delete(n.held, r.ID.Key())
	n.World.Remove(r.ID)
}

// Owner is the VM that has a NIC or for which it is reserved, "" if it is free.
func (n *Network) Owner(nic *world.Resource) string {
	if vm := doc.Text(nic.Body, "properties", "virtualMachine", "id"); vm != "" {
		return vm
	}
	if held, ok := n.reserved[nic.ID.Key()]; ok && n.World.Clock.Now().Before(held.until) {
		return held.vm
	}
	return ""
}
