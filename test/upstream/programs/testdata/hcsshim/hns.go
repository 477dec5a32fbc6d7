// Package hcsshim stands in for that of HNS' first interface: see hcn.
package hcsshim

import (
	"encoding/json"
	"errors"
	"net"

	"github.com/Microsoft/hcsshim/hcn"
)

type Subnet struct {
	AddressPrefix  string
	GatewayAddress string
}

type HNSNetwork struct {
	Id, Name, Type string
	Subnets        []Subnet
	DNSServerList  string
	ManagementIP   string
}

func (n *HNSNetwork) Delete() (*HNSNetwork, error) { return n, hcn.Log("delete network", n) }

type HNSEndpoint struct {
	Id, Name, VirtualNetwork, DNSServerList, DNSSuffix, GatewayAddress, MacAddress string

	IPAddress net.IP
	Policies  []json.RawMessage
}

func (e *HNSEndpoint) Create() (*HNSEndpoint, error) { return e, hcn.Log("create endpoint", e) }
func (e *HNSEndpoint) Delete() (*HNSEndpoint, error) { return e, hcn.Log("delete endpoint", e) }
func (e *HNSEndpoint) ContainerDetach(string) error  { return nil }
func (e *HNSEndpoint) HostAttach(uint16) error       { return nil }

var (
	ErrComputeSystemDoesNotExist = errors.New("no such compute system")
	errNotFound                  = errors.New("not found")
)

func IsNotExist(err error) bool { return errors.Is(err, errNotFound) }

func GetHNSNetworkByName(name string) (*HNSNetwork, error) {
	network, err := hcn.GetNetworkByName(name)
	if err != nil {
		return nil, errNotFound
	}
	subnet := network.Ipams[0].Subnets[0]
	return &HNSNetwork{
		Id: network.Id, Name: network.Name, Type: string(network.Type), ManagementIP: "10.1.2.3",
		Subnets: []Subnet{{AddressPrefix: subnet.IpAddressPrefix, GatewayAddress: subnet.Routes[0].NextHop}},
	}, nil
}

func GetHNSEndpointByName(string) (*HNSEndpoint, error) { return nil, errNotFound }

func HNSNetworkRequest(method, _, request string) (*HNSNetwork, error) {
	return nil, errors.Join(errNotFound, hcn.Log(method+" network", json.RawMessage(request)))
}

func HotAttachEndpoint(string, string) error { return nil }

func HotDetachEndpoint(string, string) error { return nil }
