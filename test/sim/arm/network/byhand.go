package network

import (
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
)

// Moved says that a NIC has got another id.
func (n *Network) Moved(from, to doc.ID) {
	rekey(n.reserved, from, to)
	rekey(n.held, from, to)
	rekey(n.settled, from, to)
}

func rekey[T any](of map[string]T, from, to doc.ID) {
	if value, ok := of[from.Key()]; ok {
		delete(of, from.Key())
		of[to.Key()] = value
	}
}

// Add makes a NIC, or a public address, that no VM has, and that is done.
func (n *Network) Add(id doc.ID, location, subnet string) {
	body := doc.Object{"location": location, "properties": doc.Object{}}
	if id.Is(NIC) {
		doc.Set(body, doc.Objects(doc.Object{
			"name": "ip", "properties": doc.Object{"subnet": doc.Object{"id": subnet}},
		}), "properties", "ipConfigurations")
		body = n.shape(id, body)
		n.assign(body, n.free)
	} else {
		body["sku"] = doc.Object{"name": "Standard", "tier": "Regional"}
		doc.Set(body, "Static", "properties", "publicIPAllocationMethod")
		doc.Set(body, n.World.UUID(), "properties", "resourceGuid")
	}
	doc.Set(body, "Succeeded", "properties", "provisioningState")
	n.World.Put(id, body)
}
