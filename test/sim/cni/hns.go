package cni

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// What the parts of this package ask HNS for.

// item is an object of HNS, as its JSON.
type item map[string]any

func (i item) text(field string) string {
	text, _ := i[field].(string) // a field that is not there is empty
	return text
}

// subnet is the first one of a network.
func (i item) subnet() netip.Prefix {
	list, _ := i["Subnets"].([]any)
	if len(list) == 0 {
		return netip.Prefix{}
	}
	first, _ := list[0].(map[string]any)
	prefix, err := netip.ParsePrefix(item(first).text("AddressPrefix"))
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// The kinds of objects. HNS has the last one as a policy of a network.
const (
	networks      = "/networks"
	endpoints     = "/endpoints"
	policies      = "/policylists"
	remoteSubnets = "/remotesubnets"
)

func list(m *windows.Machine, kind string) ([]item, error) {
	all, err := m.HNSCall("GET", kind, "")
	items := make([]item, 0, len(all))
	for _, one := range all {
		items = append(items, one)
	}
	return items, err
}

// find is nil where no object has this text in a field.
func find(m *windows.Machine, kind, field, text string) (item, error) {
	all, err := list(m, kind)
	for _, one := range all {
		if one.text(field) == text {
			return one, err
		}
	}
	return nil, err
}

func getNetwork(m *windows.Machine, name string) (item, error) {
	found, err := find(m, networks, "Name", name)
	if err == nil && found == nil {
		err = fmt.Errorf("HNS network %s is not there", name)
	}
	return found, err
}

func hasNetwork(m *windows.Machine, name string) (bool, error) {
	found, err := find(m, networks, "Name", name)
	return found != nil, err
}

func hasEndpoint(m *windows.Machine, name string) (bool, error) {
	found, err := find(m, endpoints, "Name", name)
	return found != nil, err
}

// networkType is that of a network; "" is one that is not there.
func networkType(m *windows.Machine, name string) (string, error) {
	found, err := find(m, networks, "Name", name)
	return found.text("Type"), err
}

// makeNetwork makes one with a subnet, whose first address is its gateway. Without a prefix it has none.
func makeNetwork(m *windows.Machine, name, kind string, prefix netip.Prefix, more map[string]any) error {
	request := map[string]any{"Name": name, "Type": kind}
	if prefix.IsValid() {
		request["Subnets"] = []any{map[string]any{
			"AddressPrefix": prefix.Masked().String(), "GatewayAddress": prefix.Masked().Addr().Next().String(),
		}}
	}
	_, err := create(m, networks, request, more)
	return err
}

// makeEndpoint makes one in a network.
func makeEndpoint(m *windows.Machine, name, network string, more map[string]any) (item, error) {
	in, err := find(m, networks, "Name", network)
	if err != nil {
		return nil, err
	}
	return create(m, endpoints, map[string]any{"Name": name, "VirtualNetwork": network, "NetworkID": in.text("ID")}, more)
}

// create makes an object, and returns it as HNS has it.
func create(m *windows.Machine, kind string, request, more map[string]any) (item, error) {
	maps.Copy(request, more)
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	all, err := m.HNSCall("POST", kind, string(text))
	if err != nil {
		return nil, err
	}
	return all[len(all)-1], nil
}

func remove(m *windows.Machine, kind string, one item) error {
	_, err := m.HNSCall("DELETE", kind+"/"+one.text("ID"), "")
	return err
}

// attach gives the host an endpoint's address.
func attach(m *windows.Machine, endpoint item) error {
	_, err := m.HNSCall("POST", endpoints+"/"+endpoint.text("ID")+"/attach", "{}")
	if err != nil && strings.HasSuffix(err.Error(), "0x803b0014") { // HCN_E_ENDPOINT_ALREADY_ATTACHED
		return nil
	}
	return err
}

// makeHostEndpoint gives the host an address in a network of pods, by the endpoint NETWORK_ep.
func makeHostEndpoint(m *windows.Machine, network, address string) error {
	endpoint, err := find(m, endpoints, "Name", network+"_ep")
	if err == nil && endpoint == nil {
		endpoint, err = makeEndpoint(m, network+"_ep", network, map[string]any{"IPAddress": address})
	}
	if err != nil {
		return err
	}
	return attach(m, endpoint)
}

// removeNetworks removes all but those of nat.
func removeNetworks(m *windows.Machine) error {
	all, err := list(m, networks)
	for _, network := range all {
		if err == nil && !strings.EqualFold(network.text("Type"), "nat") {
			err = remove(m, networks, network)
		}
	}
	return err
}
