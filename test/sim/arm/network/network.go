// Package network is the network provider: NICs, made alone or inline in the PUT of a VM, their addresses, and the things that
// they name.
//
//	network.go    what there is, faults and times
//	nics.go       PUT and DELETE of a NIC
//	inline.go     NICs that compute makes and removes with a VM
//	public.go     public addresses
//	addresses.go  subnets and their addresses
//	byhand.go     what people do beside us: moves, NICs and addresses of their own
package network

import (
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/world"
)

// The types that have behaviour; others are only read.
const (
	Provider = "Microsoft.Network"
	NIC      = Provider + "/networkInterfaces"
	Subnet   = Provider + "/virtualNetworks/subnets"
)

// Reserved is how long a NIC stays with a VM whose allocation failed [V karpenter-provider-azure, NicReservationDuration].
const Reserved = 180 * time.Second

// Network is the provider.
type Network struct {
	World *world.World
	// Address is how late a NIC gets its address, Work how long a PUT or DELETE of a NIC takes.
	Address, Work time.Duration
	// Leave has the cascade of a VM's deletion leave its NICs, and LeavePublic their public addresses alone.
	Leave, LeavePublic bool
	// Fail is how many PUTs of NICs end Failed, and Behind how long compute takes a NIC for busy that is done already.
	Fail   int
	Behind time.Duration

	// IgnorePreconditions has PUTs of NICs ignore If-Match and If-None-Match.
	IgnorePreconditions bool

	reserved map[string]reservation
	held     map[string]time.Time // until when the hardware address of a NIC is busy
	settled  map[string]time.Time // when compute takes a NIC for done
}

type reservation struct {
	vm    string
	until time.Time
}

// New returns the provider with usual times.
func New(w *world.World) *Network {
	return &Network{
		World: w, Address: 10 * time.Second, Work: 2 * time.Second, reserved: map[string]reservation{},
		held: map[string]time.Time{}, settled: map[string]time.Time{},
	}
}

// Check refuses properties of a NIC that name what does not exist.
func (n *Network) Check(by doc.ID, properties doc.Object) *reply.Error {
	ids := []string{doc.Text(properties, "networkSecurityGroup", "id")}
	for _, ip := range doc.List(properties, "ipConfigurations") {
		inner := doc.Of(ip, "properties")
		ids = append(ids, doc.Text(inner, "subnet", "id"), doc.Text(inner, "publicIPAddress", "id"))
		for _, list := range []string{"loadBalancerBackendAddressPools", "applicationSecurityGroups"} {
			for _, o := range doc.List(inner, list) {
				ids = append(ids, doc.Text(o, "id"))
			}
		}
	}
	for _, id := range ids {
		if id != "" && n.World.FindText(id) == nil {
			return reply.InvalidReference(id, by.String())
		}
	}
	if refused := n.static(by, properties); refused != nil {
		return refused
	}
	return n.room(properties)
}
