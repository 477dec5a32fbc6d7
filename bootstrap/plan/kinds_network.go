package plan

import "fmt"

// PortRange sets the dynamic ports of all four families.
type PortRange struct {
	Common
	Start int `json:"start"`
	Count int `json:"count"`
}

// Address gives an adapter static addresses.
type Address struct {
	Common
	// MAC finds the adapter; of two with the same, the virtual one.
	MAC Value `json:"mac"`
	// Addresses with their prefix length: 10.0.0.5/24.
	Addresses []Value `json:"addresses"`
	// Gateways, at most one per family.
	Gateways []Value `json:"gateways,omitempty"`
	DNS      []Value `json:"dns,omitempty"`
	Routes   []Hop   `json:"routes,omitempty"`
	MTU      int     `json:"mtu,omitempty"`
}

// Hop is a route: what is reached, and by which neighbour.
type Hop struct {
	To  Value `json:"to"`
	Via Value `json:"via"`
}

// Route sends destinations the way of the best default route.
type Route struct {
	Common
	Destinations []Value `json:"destinations"`
}

// HNSNetwork makes a network of the Host Networking Service, waits for its management address and keeps that as the
// fact managementIP.
type HNSNetwork struct {
	Common
	// Request is what HNS is asked; Name and Type tell whether the network is there already.
	Request Tree `json:"request"`
}

// HNSCleanup deletes endpoints and networks by name, with wildcards.
type HNSCleanup struct {
	Common
	Networks  []Value `json:"networks"`
	Endpoints []Value `json:"endpoints,omitempty"`
	Keep      []Value `json:"keep,omitempty"`
}

// FactManagementIP is set by HNSNetwork.
const FactManagementIP = "managementIP"

// Kind is "portRange".
func (*PortRange) Kind() Kind { return "portRange" }

// Kind is "address".
func (*Address) Kind() Kind { return "address" }

// Kind is "route".
func (*Route) Kind() Kind { return "route" }

// Kind is "hnsNetwork".
func (*HNSNetwork) Kind() Kind { return "hnsNetwork" }

// Kind is "hnsCleanup".
func (*HNSCleanup) Kind() Kind { return "hnsCleanup" }

func (s *PortRange) check(c *checker) {
	c.must(s.Start >= 1025 && s.Start <= 65535, "start", "%d must be 1025 to 65535", s.Start)
	c.must(s.Count >= 255 && s.Start+s.Count <= 65536, "count", "%d must be 255 or more and end at port 65535", s.Count)
}

func (s *Address) check(c *checker) {
	c.must(s.MAC != nil, "mac", "is missing")
	c.value("mac", s.MAC)
	c.list("addresses", s.Addresses)
	c.must(len(s.Gateways) <= 2, "gateways", "must be one per family at most")
	for _, value := range append(append([]Value{}, s.Gateways...), s.DNS...) {
		c.value("gateways and dns", value)
	}
	for i, hop := range s.Routes {
		c.must(hop.To != nil && hop.Via != nil, fmt.Sprintf("routes[%d]", i), "must have to and via")
		c.value("routes", hop.To)
		c.value("routes", hop.Via)
	}
	c.must(s.MTU == 0 || s.MTU >= 576 && s.MTU <= 9198, "mtu", "%d must be 576 to 9198", s.MTU)
}

func (s *Route) check(c *checker) { c.list("destinations", s.Destinations) }

func (s *HNSNetwork) check(c *checker) {
	for _, field := range []string{"Name", "Type"} {
		c.must(s.Request[field] != nil, "request."+field, "is missing")
	}
	c.tree("request", map[string]any(s.Request))
	c.facts[FactManagementIP] = true
}

func (s *HNSCleanup) check(c *checker) {
	c.must(len(s.Networks)+len(s.Endpoints) > 0, "networks", "is empty, and endpoints too: there is nothing to clean up")
	for _, list := range [][]Value{s.Networks, s.Endpoints, s.Keep} {
		for _, pattern := range list {
			c.value("networks, endpoints and keep", pattern)
		}
	}
}
