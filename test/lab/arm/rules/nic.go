package rules

import (
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/lab/arm/reply"
)

// nicTree is the body of a NIC's PUT, from the reference "Network Interfaces - Create Or Update" [D]. A client that read a NIC
// may send back what it read, so nothing but the first PUT refuses read-only members.
var nicTree = parseTree(`
id text
name text
type text
etag text
location text required
tags map
extendedLocation any
properties object required
  provisioningState text readonly
  resourceGuid text readonly
  macAddress text readonly
  virtualMachine any readonly
  primary bool readonly
  hostedWorkloads any readonly
  tapConfigurations any readonly
  vnetEncryptionSupported bool readonly
  nicType text values=Standard|Elastic
  workloadType text
  migrationPhase text
  enableAcceleratedNetworking bool
  enableIPForwarding bool
  disableTcpStateTracking bool
  auxiliaryMode text values=None|MaxConnections|Floating|AcceleratedConnections
  auxiliarySku text values=None|A1|A2|A4|A8
  networkSecurityGroup any
  dnsSettings object
    dnsServers texts
    internalDnsNameLabel text
    appliedDnsServers texts readonly
    internalFqdn text readonly
    internalDomainNameSuffix text readonly
  ipConfigurations list required
    id text
    name text required
    type text
    etag text
    properties object required
      provisioningState text readonly
      primary bool
      privateIPAddress text
      privateIPAddressPrefixLength int
      privateIPAllocationMethod text values=Static|Dynamic
      privateIPAddressVersion text values=IPv4|IPv6
      subnet any required
      publicIPAddress any
      applicationSecurityGroups any
      loadBalancerBackendAddressPools any
      loadBalancerInboundNatRules any
      applicationGatewayBackendAddressPools any
      gatewayLoadBalancer any
      virtualNetworkTaps any
      privateLinkConnectionProperties any readonly
`)

var nicRules = []Rule{
	{"static needs an address", eachIP(func(name string, ip doc.Object) *reply.Error {
		if doc.Text(ip, "privateIPAllocationMethod") == "Static" && doc.Text(ip, "privateIPAddress") == "" {
			return reply.New(400, "PrivateIPAddressNotProvidedForStaticAllocation", // [I]
				"Private IP address must be provided when private IP allocation method is Static for IP configuration %s.", name)
		}
		return nil
	})},
	{"one primary IP configuration", func(r Request) *reply.Error {
		return onePrimary(r.ID.String(), doc.List(r.Body, "properties", "ipConfigurations"))
	}},
}

func eachIP(check func(string, doc.Object) *reply.Error) func(Request) *reply.Error {
	return func(r Request) *reply.Error {
		for _, ip := range doc.List(r.Body, "properties", "ipConfigurations") {
			if refused := check(doc.Text(ip, "name"), doc.Of(ip, "properties")); refused != nil {
				return refused
			}
		}
		return nil
	}
}

// onePrimary: of several IP configurations one is the primary [V].
func onePrimary(nic string, all []doc.Object) *reply.Error {
	primaries := 0
	for _, ip := range all {
		if doc.Flag(ip, "properties", "primary") {
			primaries++
		}
	}
	if len(all) > 1 && primaries != 1 {
		return reply.New(400, "NetworkInterfaceMustHaveOnePrimaryIpConfig",
			"Network interface %s must have one IP configuration set as primary, but has %d.", nic, primaries)
	}
	return nil
}
