package network

import (
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// Put makes or replaces a NIC. A PUT of NRP replaces what was there, it does not merge [D].
func (n *Network) Put(id doc.ID, body doc.Object) (created bool, op *world.Operation, refused *reply.Error) {
	if refused := n.Check(id, doc.Of(body, "properties")); refused != nil {
		return false, nil, refused
	}
	old := n.World.Find(id)
	var before doc.Object
	if old != nil {
		before = old.Body
	}
	if old != nil && doc.Text(old.Body, "properties", "provisioningState") == "Updating" {
		return false, nil, reply.LockedByAnother(id.String())
	}
	r := n.World.Put(id, n.shape(id, body))
	if old != nil {
		n.keep(r.Body, before)
	}
	op = n.World.Begin(id, doc.Text(body, "location"))
	end, failure := "Succeeded", (*reply.Error)(nil)
	if n.Fail > 0 {
		n.Fail--
		end, failure = "Failed", reply.New(http.StatusInternalServerError, "InternalServerError", "An error occurred.")
	}
	n.World.Clock.After(n.Work, func() {
		doc.Set(r.Body, end, "properties", "provisioningState")
		n.settled[id.Key()] = n.World.Clock.Now().Add(n.Behind)
		n.World.Touch(r)
		n.World.End(op, failure)
	})
	n.addressLater(r)
	return old == nil, op, nil
}

// Unready refuses a VM that names a NIC which is not done, or failed. That NRP answers so to what names an unfinished thing is
// [V], that compute passes it on for a NIC is [I].
func (n *Network) Unready(nic *world.Resource, vm doc.ID) *reply.Error {
	state := doc.Text(nic.Body, "properties", "provisioningState")
	if n.World.Clock.Now().Before(n.settled[nic.ID.Key()]) {
		state = "Updating"
	}
	if state == "Succeeded" {
		return nil
	}
	return reply.NotProvisioned(nic.ID.String(), vm.String(), state)
}

// keep has a NIC that is replaced keep what only the platform writes.
func (n *Network) keep(body, before doc.Object) {
	for _, field := range []string{"virtualMachine", "macAddress", "resourceGuid"} {
		if v := doc.Get(before, "properties", field); v != nil {
			doc.Set(body, v, "properties", field)
		}
	}
}

// Delete removes a NIC. done is true if there was none.
func (n *Network) Delete(id doc.ID) (op *world.Operation, refused *reply.Error) {
	r := n.World.Find(id)
	if r == nil {
		return nil, nil
	}
	if held, ok := n.reserved[id.Key()]; ok && n.World.Clock.Now().Before(held.until) {
		return nil, reply.NICReserved(held.vm)
	}
	if vm := doc.Text(r.Body, "properties", "virtualMachine", "id"); vm != "" {
		return nil, reply.NICInUse(id.String(), vm)
	}
	if doc.Text(r.Body, "properties", "provisioningState") == "Updating" {
		return nil, reply.LockedByAnother(id.String())
	}
	doc.Set(r.Body, "Deleting", "properties", "provisioningState")
	op = n.World.Begin(id, doc.Text(r.Body, "location"))
	n.World.Clock.After(n.Work, func() {
		n.releasePublic(r, true) // only the deletion of a VM heeds their deleteOption [D]
		delete(n.held, id.Key())
		n.World.Remove(id)
		n.World.End(op, nil)
	})
	return op, nil
}

// shape is a NIC as NRP shows it: what was sent, and what the platform adds. It has no address yet.
func (n *Network) shape(id doc.ID, sent doc.Object) doc.Object {
	body := doc.Clone(sent)
	doc.Set(body, "Updating", "properties", "provisioningState")
	doc.Set(body, n.World.UUID(), "properties", "resourceGuid")
	doc.Set(body, "Standard", "properties", "nicType")
	for _, field := range []string{"hostedWorkloads", "tapConfigurations"} {
		doc.Set(body, []any{}, "properties", field)
	}
	for _, flag := range []string{"enableAcceleratedNetworking", "enableIPForwarding", "vnetEncryptionSupported"} {
		doc.Set(body, doc.Flag(body, "properties", flag), "properties", flag)
	}
	doc.Set(body, n.World.Suffix(26)+".ax.internal.cloudapp.net", "properties", "dnsSettings", "internalDomainNameSuffix")
	for i, ip := range doc.List(body, "properties", "ipConfigurations") {
		n.shapeIP(id, i, ip)
	}
	return body
}

func (n *Network) shapeIP(nic doc.ID, i int, ip doc.Object) {
	ip["id"] = nic.String() + "/ipConfigurations/" + doc.Text(ip, "name")
	ip["type"] = NIC + "/ipConfigurations"
	doc.Set(ip, "Succeeded", "properties", "provisioningState")
	if !doc.Has(ip, "properties", "primary") {
		doc.Set(ip, i == 0, "properties", "primary")
	}
	for field, usual := range map[string]string{"privateIPAllocationMethod": "Dynamic", "privateIPAddressVersion": "IPv4"} {
		if !doc.Has(ip, "properties", field) {
			doc.Set(ip, usual, "properties", field)
		}
	}
}

// addressLater gives addresses when their time has come.
func (n *Network) addressLater(r *world.Resource) {
	n.World.Clock.After(n.Address, func() {
		if n.World.Find(r.ID) != r {
			return
		}
		n.assign(r.Body, n.free)
		n.World.Touch(r)
	})
}
