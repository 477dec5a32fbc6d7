package plan

import "fmt"

// Adapter gives a network adapter a name, or keeps the name that it has as a fact. It never takes a virtual adapter, such as
// the one that shares its MAC with an adapter that has a vSwitch. TimeoutSeconds is 300 when 0.
//
// Already so: the adapter has the name, in the same case.
type Adapter struct {
	Common
	// MAC of the adapter, in any notation. When it is absent, the machine's only adapter is meant, or, if it has several, the
	// one of the best default route.
	MAC Value `json:"mac,omitempty"`
	// Rename is the name that the adapter gets. Another adapter with this name, even one that is no longer present, gets the
	// number of its interface behind the name.
	Rename Value `json:"rename,omitempty"`
	// Set is the fact that keeps the name; then nothing is renamed.
	Set string `json:"set,omitempty"`
}

// Address gives an adapter static addresses. It switches DHCP off and removes other addresses that came by DHCP or by hand;
// those of router advertisements stay. Name servers and an IPv4 default route that DHCP gave are replaced, even if they are the
// wanted ones, because Windows drops them with DHCP. TimeoutSeconds is 300 when 0.
//
// Already so: the addresses, routes, name servers and the MTU are set; each is compared on its own. A family (IPv4, IPv6)
// without a wanted address is left alone.
type Address struct {
	Common
	// MAC of the adapter, in any notation. Of two adapters with the same MAC, the virtual one is taken.
	MAC Value `json:"mac"`
	// Addresses with their prefix length: 10.0.0.5/24.
	Addresses []Value `json:"addresses"`
	// Gateways, at most one per family. Another default route of the interface is removed.
	Gateways []Value `json:"gateways,omitempty"`
	// DNS are the name servers in their order. When it is empty, those of the adapter stay.
	DNS []Value `json:"dns,omitempty"`
	// Routes besides those of the gateways.
	Routes []Hop `json:"routes,omitempty"`
	// MTU of the interface; it is left as it is when 0.
	MTU int `json:"mtu,omitempty"`
}

// Hop is a route to a destination by a neighbour.
type Hop struct {
	// To is the destination with its prefix length.
	To Value `json:"to"`
	// Via is the neighbour.
	Via Value `json:"via"`
}

// Route sends destinations the way of the best default route. It fails where there is no default route.
// TimeoutSeconds is 300 when 0.
//
// Already so: the interface of the default route has a route to the destination, by the same neighbour.
type Route struct {
	Common
	// Destinations with their prefix length.
	Destinations []Value `json:"destinations"`
}

// HNSNetwork makes a network of the Host Networking Service, waits for its management address and keeps that as the fact
// managementIP. HNS keeps the address that the adapter has when the network is made, so each attempt first waits up to 45 s for
// a preferred IPv4 address outside of 169.254.0.0/16 on the adapter that the request names in NetworkAdapterName, or on the
// adapter of its vSwitch; the reason is AddressMissing then. HNS itself refuses an adapter that does not exist. A management
// address of 169.254.0.0/16 is none; a prefix length behind it is left out. TimeoutSeconds is 180 when 0.
//
// Already so: a network has the Name and Type of the request. One with this Name and another Type is replaced.
type HNSNetwork struct {
	Common
	// Request to HNS. A network with this Name and Type counts as existing.
	Request Tree `json:"request"`
	// Wait is for a network that another program makes: only the Name of the request counts, and nothing is changed.
	Wait bool `json:"wait,omitempty"`
	// StillSeconds is how long the policies of the network must stay the same, once it has its address. When the time of the step
	// is over, the step goes on all the same.
	StillSeconds int `json:"stillSeconds,omitempty"`
}

// HNSEndpoint keeps the address of an endpoint of the Host Networking Service, which a CNI makes. It fails where there is none.
// TimeoutSeconds is 180 when 0.
//
// Already so: always, because it changes nothing.
type HNSEndpoint struct {
	Common
	// Endpoint is the name of the endpoint.
	Endpoint Value `json:"endpoint"`
	// Set is the fact that keeps the endpoint's address.
	Set string `json:"set"`
}

// HNSCleanup deletes endpoints, then networks of the Host Networking Service by name, with wildcards and without regard
// to case. Before the first of them it deletes all policy lists, which have no names and hold endpoints.
// TimeoutSeconds is 180 when 0.
//
// Already so: no network and no endpoint has such a name; then the policy lists stay, too.
type HNSCleanup struct {
	Common
	// Networks that are deleted.
	Networks []Value `json:"networks"`
	// Endpoints that are deleted.
	Endpoints []Value `json:"endpoints,omitempty"`
	// Keep lists exceptions: those that stay.
	Keep []Value `json:"keep,omitempty"`
}

func (s *Adapter) check(c *checker) {
	c.value("mac", s.MAC)
	c.value("rename", s.Rename)
	c.must((s.Rename == nil) != (s.Set == ""), "rename", "and set exclude each other, and one must be there")
	c.sets("set", s.Set)
}

func (s *Address) check(c *checker) {
	c.must(s.MAC != nil, "mac", "is missing")
	c.value("mac", s.MAC)
	c.list("addresses", s.Addresses)
	c.must(len(s.Gateways) <= 2, "gateways", "must be one per family at most")
	c.values("gateways", s.Gateways)
	c.values("dns", s.DNS)
	for i, hop := range s.Routes {
		c.must(hop.To != nil && hop.Via != nil, fmt.Sprintf("routes[%d]", i), "must have to and via")
		c.value("routes", hop.To)
		c.value("routes", hop.Via)
	}
	c.must(s.MTU == 0 || s.MTU >= 576 && s.MTU <= 9198, "mtu", "%d must be 576 to 9198", s.MTU)
}

func (s *Route) check(c *checker) { c.list("destinations", s.Destinations) }

func (s *HNSNetwork) check(c *checker) {
	c.text("request.Name", s.Request["Name"])
	if !s.Wait {
		c.text("request.Type", s.Request["Type"])
	}
	c.tree("request", map[string]any(s.Request))
	c.must(s.StillSeconds == 0 || s.Wait, "stillSeconds", "needs wait")
	c.atMost("stillSeconds", s.StillSeconds, 600)
	c.facts[FactManagementIP] = true
}

func (s *HNSEndpoint) check(c *checker) {
	c.must(s.Endpoint != nil, "endpoint", "is missing")
	c.value("endpoint", s.Endpoint)
	c.must(s.Set != "", "set", "is missing")
	c.sets("set", s.Set)
}

func (s *HNSCleanup) check(c *checker) {
	c.must(len(s.Networks)+len(s.Endpoints) > 0, "networks", "is empty, and endpoints too: there is nothing to clean up")
	c.values("networks", s.Networks)
	c.values("endpoints", s.Endpoints)
	c.values("keep", s.Keep)
}
