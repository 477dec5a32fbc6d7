// Package hcn stands in for hcsshim's, whose calls are for Windows alone, so that the files for Windows of flanneld, win-bridge
// and win-overlay can be run here. It has what they name, by the names that HNS has in its JSON.
//
// There is one network, HNS_NETWORK, as JSON; each call that changes something writes what it got to the file HNS_LOG.
package hcn

import (
	"encoding/json"
	"errors"
	"os"
)

type (
	EndpointPolicyType string
	NetworkPolicyType  string
	SubnetPolicyType   string
	NetworkType        string
	NetworkFlags       uint32

	SchemaVersion struct{ Major, Minor int }
	Dns           struct {
		Domain     string   `json:",omitempty"`
		Search     []string `json:",omitempty"`
		ServerList []string `json:",omitempty"`
		Options    []string `json:",omitempty"`
	}
	Route    struct{ NextHop, DestinationPrefix string }
	IpConfig struct{ IpAddress string }
	Subnet   struct {
		IpAddressPrefix string
		Policies        []json.RawMessage `json:",omitempty"`
		Routes          []Route           `json:",omitempty"`
	}
	Ipam struct {
		Type    string
		Subnets []Subnet
	}
	SubnetPolicy struct {
		Type     SubnetPolicyType
		Settings json.RawMessage
	}
	NetworkPolicy struct {
		Type     NetworkPolicyType
		Settings json.RawMessage
	}
	EndpointPolicy struct {
		Type     EndpointPolicyType
		Settings json.RawMessage `json:",omitempty"`
	}
	PolicyNetworkRequest struct{ Policies []NetworkPolicy }
	VsidPolicySetting    struct{ IsolationId uint32 }

	DrMacAddressNetworkPolicySetting     struct{ Address string }
	ProviderAddressEndpointPolicySetting struct{ ProviderAddress string }
	RemoteSubnetRoutePolicySetting       struct {
		DestinationPrefix           string
		IsolationId                 uint16
		ProviderAddress             string
		DistributedRouterMacAddress string
	}
)

const (
	L2Bridge            NetworkType       = "L2Bridge"
	L2Tunnel            NetworkType       = "L2Tunnel"
	VSID                SubnetPolicyType  = "VSID"
	DrMacAddress        NetworkPolicyType = "DrMacAddress"
	HostRoute           NetworkPolicyType = "HostRoute"
	NetAdapterName      NetworkPolicyType = "NetAdapterName"
	ProviderAddress     NetworkPolicyType = "ProviderAddress"
	RemoteSubnetRoute   NetworkPolicyType = "RemoteSubnetRoute"
	EnableNonPersistent NetworkFlags      = 8
)

type HostComputeNetwork struct {
	Id, Name      string
	Type          NetworkType
	Policies      []NetworkPolicy
	Ipams         []Ipam
	Flags         NetworkFlags
	SchemaVersion SchemaVersion
}

func (n *HostComputeNetwork) Create() (*HostComputeNetwork, error) {
	return n, Log("create network", n)
}
func (n *HostComputeNetwork) Delete() error                          { return Log("delete network", n) }
func (n *HostComputeNetwork) AddPolicy(r PolicyNetworkRequest) error { return Log("add policy", r) }
func (n *HostComputeNetwork) RemovePolicy(r PolicyNetworkRequest) error {
	return Log("remove policy", r)
}

type HostComputeEndpoint struct {
	Id, Name             string
	HostComputeNetwork   string
	HostComputeNamespace string
	Policies             []EndpointPolicy
	IpConfigurations     []IpConfig
	Dns                  Dns
	Routes               []Route
	MacAddress           string
	SchemaVersion        SchemaVersion
}

func (e *HostComputeEndpoint) Create() (*HostComputeEndpoint, error) {
	return e, Log("create endpoint", e)
}
func (e *HostComputeEndpoint) Delete() error { return Log("delete endpoint", e) }

type HostComputeNamespace struct{ Id string }

var errNotFound = errors.New("element not found")

func IsNotFoundError(err error) bool { return errors.Is(err, errNotFound) }

func GetNetworkByName(name string) (*HostComputeNetwork, error) {
	var network HostComputeNetwork
	if err := json.Unmarshal([]byte(os.Getenv("HNS_NETWORK")), &network); err != nil || network.Name != name {
		return nil, errNotFound
	}
	return &network, nil
}

func GetNetworkByID(string) (*HostComputeNetwork, error) { return nil, errNotFound }

func GetEndpointByName(string) (*HostComputeEndpoint, error) { return nil, errNotFound }

func GetNamespaceByID(string) (*HostComputeNamespace, error) { return nil, errNotFound }

func AddNamespaceEndpoint(string, string) error { return nil }

func RemoveNamespaceEndpoint(string, string) error { return nil }

func RemoteSubnetSupported() error { return nil }

func DSRSupported() error { return nil }

// Log writes one line of JSON for each call that changes something.
func Log(call string, with any) error {
	file, err := os.OpenFile(os.Getenv("HNS_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return json.NewEncoder(file).Encode(map[string]any{call: with})
}
