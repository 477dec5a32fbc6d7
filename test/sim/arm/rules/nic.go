package rules

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/doc"
	"github.com/capwin/cluster-api-provider-windows/test/sim/arm/reply"
)

// nicTree is the body of a NIC's PUT, from the reference "Network Interfaces - Create Or Update" [D]. A client that read a NIC
// may send back what it read, so nothing but the first PUT refuses read-only members.
var nicTree = parseTree(`
id text
name text
type text
etag text
location text
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

// nicRules are those of the PUT of a NIC.
var nicRules = append([]Rule{
	{"NIC name", func(r Request) *reply.Error { return resourceNamed(r.ID.Name()) }},
	{"static needs an address", func(r Request) *reply.Error {
		for _, ip := range doc.List(r.Body, "properties", "ipConfigurations") {
			p := doc.Of(ip, "properties")
			if doc.Text(p, "privateIPAllocationMethod") == "Static" && doc.Text(p, "privateIPAddress") == "" {
				return reply.New(400, "PrivateIPAddressNotProvidedForStaticAllocation", // [I]
					"Private IP address must be provided when private IP allocation method is Static for IP configuration %s.",
					doc.Text(ip, "name"))
			}
		}
		return nil
	}},
}, addressRules(func(r Request) []adapter {
	return []adapter{{name: r.ID.String(), body: doc.Of(r.Body, "properties")}}
})...)

// adapter is a NIC, made alone or described in the PUT of a VM.
type adapter struct {
	name string
	body doc.Object // its properties
	// whole has its tags, too, if it is described in the PUT of a VM.
	whole doc.Object
}

// inlineRules are those of the NICs that the PUT of a VM describes.
var inlineRules = append([]Rule{
	{"NIC names", func(r Request) *reply.Error {
		seen := map[string]bool{}
		for _, nic := range inlineOf(r) {
			if refused := resourceNamed(nic.name); refused != nil {
				return refused
			}
			if seen[strings.ToLower(nic.name)] {
				return reply.InvalidParameter("networkProfile", "Network interface configurations must have unique names.")
			}
			seen[strings.ToLower(nic.name)] = true
		}
		return nil
	}},
	{"tags of NICs", func(r Request) *reply.Error {
		for _, nic := range inlineOf(r) {
			if refused := checkTagsOf(nic.whole); refused != nil {
				return refused
			}
		}
		return nil
	}},
	eachPublic("tags of public addresses", checkTagsOf),
	eachPublic("names of public addresses", func(config doc.Object) *reply.Error { return resourceNamed(doc.Text(config, "name")) }),
	eachPublic("domain label", func(config doc.Object) *reply.Error {
		label := doc.Text(config, "properties", "dnsSettings", "domainNameLabel")
		if label == "" || domainLabel.MatchString(label) {
			return nil
		}
		return reply.New(http.StatusBadRequest, "InvalidDomainNameLabel", "The domain name label %s is invalid. It must conform to "+
			"the following regular expression: ^[a-z][a-z0-9-]{1,61}[a-z0-9]$.", label) // [V]
	}),
}, addressRules(inlineOf)...)

var domainLabel = regexp.MustCompile(`^[a-z][a-z0-9-]{1,61}[a-z0-9]$`)

func inlineOf(r Request) (all []adapter) {
	for _, nic := range doc.List(r.Body, "properties", "networkProfile", "networkInterfaceConfigurations") {
		all = append(all, adapter{name: doc.Text(nic, "name"), body: doc.Of(nic, "properties"), whole: nic})
	}
	return all
}

// checkTagsOf has what is made with a VM keep the limits of tags: the network provider makes it by a PUT of its own [I].
func checkTagsOf(made doc.Object) *reply.Error { return CheckTags(Request{Body: made}) }

func eachPublic(name string, check func(doc.Object) *reply.Error) Rule {
	return Rule{Name: name, Check: func(r Request) *reply.Error {
		for _, nic := range inlineOf(r) {
			for _, ip := range doc.List(nic.body, "ipConfigurations") {
				if config := doc.Of(ip, "properties", "publicIPAddressConfiguration"); config != nil {
					if refused := check(config); refused != nil {
						return refused
					}
				}
			}
		}
		return nil
	}}
}

// addressRules are about the IP configurations of NICs, wherever they stand.
func addressRules(of func(Request) []adapter) []Rule {
	each := func(name string, check func(nic string, all []doc.Object) *reply.Error) Rule {
		return Rule{Name: name, Check: func(r Request) *reply.Error {
			for _, nic := range of(r) {
				if refused := check(nic.name, doc.List(nic.body, "ipConfigurations")); refused != nil {
					return refused
				}
			}
			return nil
		}}
	}
	return []Rule{
		each("names of IP configurations", func(_ string, all []doc.Object) *reply.Error {
			for _, ip := range all {
				if refused := resourceNamed(doc.Text(ip, "name")); refused != nil {
					return refused
				}
			}
			return nil
		}),
		each("IP configuration twice", ipTwice),
		each("one primary IP configuration", onePrimary),
		each("one subnet", oneSubnet),
	}
}

// ipTwice is NRP's refusal of two parts of a resource with one name [V migAz #218].
func ipTwice(nic string, all []doc.Object) *reply.Error {
	seen := map[string]bool{}
	for _, ip := range all {
		name := strings.ToLower(doc.Text(ip, "name"))
		if seen[name] {
			refused := reply.New(http.StatusBadRequest, "InvalidRequestFormat", "Cannot parse the request.")
			refused.Details = []reply.Error{*reply.New(http.StatusBadRequest, "DuplicateResourceName",
				"Resource %s has two child resources with the same name (%s).", nic, doc.Text(ip, "name"))}
			return refused
		}
		seen[name] = true
	}
	return nil
}

// oneSubnet: all addresses of a NIC are in one subnet [V azure-sdk-for-java #1865, the .NET SDK's recordings].
func oneSubnet(_ string, all []doc.Object) *reply.Error {
	for _, ip := range all {
		subnet := doc.Text(ip, "properties", "subnet", "id")
		if first := doc.Text(all[0], "properties", "subnet", "id"); !doc.Same(first, subnet) {
			return reply.New(http.StatusBadRequest, "IPConfigsOnNicInDifferentSubnets", // [I] the code
				"IPConfigurations on a Nic cannot belong to different subnets.")
		}
	}
	return nil
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
