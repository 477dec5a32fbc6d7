package network

import (
	"net/http"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// PublicIP is a type of resources.
const PublicIP = Provider + "/publicIPAddresses"

// public makes the public address that an address of an inline NIC describes. Its name gets a suffix, too [I].
func (n *Network) public(user string, vm doc.ID, location string, config doc.Object) doc.ID {
	id := doc.Resource(vm.Subscription, vm.Group, Provider, "publicIPAddresses", doc.Text(config, "name")+"-"+n.World.Suffix(8))
	properties := doc.Clone(doc.Of(config, "properties"))
	doc.Set(properties, "Succeeded", "provisioningState")
	doc.Set(properties, n.World.UUID(), "resourceGuid") // [D publicIpAddress.json: the GUID of the resource, read-only]
	doc.Set(properties, user, "ipConfiguration", "id")
	body := doc.Object{"location": location, "sku": doc.Clone(doc.Of(config, "sku")), "properties": properties}
	if tags := doc.Of(config, "tags"); tags != nil {
		body["tags"] = doc.Clone(tags)
	}
	n.World.Put(id, body)
	return id
}

// releasePublic says that a NIC is gone: its public addresses are free, and those go whose deleteOption says so.
func (n *Network) releasePublic(nic *world.Resource, leave bool) {
	for _, ip := range doc.List(nic.Body, "properties", "ipConfigurations") {
		at := n.World.FindText(doc.Text(ip, "properties", "publicIPAddress", "id"))
		if at == nil {
			continue
		}
		doc.Remove(at.Body, "properties", "ipConfiguration")
		n.World.Touch(at)
		if !leave && doc.Text(at.Body, "properties", "deleteOption") == "Delete" {
			n.World.Remove(at.ID)
		}
	}
}

// DeletePublic removes a public address. One that a NIC has is refused [V terraform-provider-azurerm #2566].
func (n *Network) DeletePublic(id doc.ID) (op *world.Operation, refused *reply.Error) {
	r := n.World.Find(id)
	if r == nil {
		return nil, nil
	}
	if user := doc.Text(r.Body, "properties", "ipConfiguration", "id"); user != "" {
		return nil, reply.New(http.StatusBadRequest, "PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted since "+
			"it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from "+
			"the resource.", id, user)
	}
	op = n.World.Begin(id, doc.Text(r.Body, "location"))
	n.World.Clock.After(n.Work, func() {
		n.World.Remove(id)
		n.World.End(op, nil)
	})
	return op, nil
}
