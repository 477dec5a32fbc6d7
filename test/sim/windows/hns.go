package windows

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HNSCall is the host network service: GET, POST and DELETE of /networks, /endpoints and /policylists, with JSON both ways, and
// POST of /endpoints/ID/attach, which gives the host the endpoint's address.
func (m *Machine) HNSCall(method, path, body string) ([]map[string]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("Send-HnsCall"); err != nil {
		return nil, err
	}
	kind, id, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch method {
	case "GET":
	case "DELETE":
		if code := m.missing(kind, id); code != "" {
			return nil, fmt.Errorf("HNS %s %s: %s", method, path, code)
		}
		m.remove(func(item map[string]any) bool { return item["ID"] == id })
	case "POST":
		if code := m.post(kind, id, body); code != "" {
			return nil, fmt.Errorf("HNS %s %s: %s", method, path, code)
		}
	default:
		return nil, fmt.Errorf("HNS %s %s: 0x80070057", method, path)
	}
	items := without(m.state.HNS, func(item map[string]any) bool { return item["kind"] != kind })
	if method == "GET" {
		return m.withPolicies(items), nil
	}
	return items, m.changed("hns %s %s %s", method, path, body)
}

// withPolicies shows each network with its policies, as HNS does: items of their own here, which may come later.
func (m *Machine) withPolicies(items []map[string]any) []map[string]any {
	for i, network := range items {
		var all []any
		for _, item := range m.state.HNS {
			since, _ := item["since"].(string)
			at, err := time.Parse(time.RFC3339, since)
			if item["kind"] != "remotesubnets" || item["Network"] != network["ID"] || err == nil && m.Clock.Now().Before(at) {
				continue
			}
			all = append(all, map[string]any{
				"Type": "RemoteSubnetRoute", "DestinationPrefix": item["DestinationPrefix"], "ProviderAddress": item["ProviderAddress"],
			})
		}
		if network["kind"] == "networks" && len(all) > 0 {
			items[i] = maps.Clone(network)
			items[i]["Policies"] = all
		}
	}
	return items
}

// post makes an item or attaches the host to one, or tells the code with which HNS refuses that.
func (m *Machine) post(kind, id, body string) string {
	item := map[string]any{}
	if json.Unmarshal([]byte(body), &item) != nil {
		return "0x80070057"
	}
	if id != "" {
		return m.attach(strings.TrimSuffix(id, "/attach"))
	}
	if kind == "networks" {
		if m.named(kind, item["Name"]) {
			return "0x803b0010" // HCN_E_NETWORK_ALREADY_EXISTS
		}
		if code := m.place(item); code != "" {
			return code
		}
	}
	if kind == "endpoints" && m.reserved(item) {
		return "0x803b002f" // HCN_E_ADDR_INVALID_OR_RESERVED
	}
	m.state.NextID++
	item["ID"], item["kind"] = "id-"+strconv.Itoa(m.state.NextID), kind
	if kind == "endpoints" && item["IPAddress"] == nil {
		item["IPAddress"] = fmt.Sprintf("192.0.2.%d", m.state.NextID)
	}
	m.state.HNS = append(m.state.HNS, item)
	return ""
}

// reserved tells that an endpoint asks for an address that its network does not give: the gateway's, or one of no subnet.
func (m *Machine) reserved(endpoint map[string]any) bool {
	address, err := netip.ParseAddr(fmt.Sprint(endpoint["IPAddress"]))
	at := slices.IndexFunc(m.state.HNS, func(item map[string]any) bool {
		return item["kind"] == "networks" && item["Name"] == endpoint["VirtualNetwork"]
	})
	if err != nil || at < 0 {
		return false
	}
	subnets, _ := m.state.HNS[at]["Subnets"].([]any)
	return len(subnets) > 0 && !slices.ContainsFunc(subnets, func(one any) bool {
		subnet, _ := one.(map[string]any)
		prefix, err := netip.ParsePrefix(fmt.Sprint(subnet["AddressPrefix"]))
		return err == nil && prefix.Contains(address) && subnet["GatewayAddress"] != address.String()
	})
}

// hostEndpoint is the interface of all endpoints that the host is attached to.
const hostEndpoint = 1000

func (m *Machine) attach(id string) string {
	at := slices.IndexFunc(m.state.HNS, func(item map[string]any) bool { return item["ID"] == id && item["kind"] == "endpoints" })
	if at < 0 {
		return "0x803b0002" // HCN_E_ENDPOINT_NOT_FOUND
	}
	address := fmt.Sprint(m.state.HNS[at]["IPAddress"]) + "/32"
	if slices.ContainsFunc(m.state.Addresses, func(a Address) bool { return a.Index == hostEndpoint && a.Address == address }) {
		return "0x803b0014" // HCN_E_ENDPOINT_ALREADY_ATTACHED
	}
	m.state.Addresses = append(m.state.Addresses, Address{Index: hostEndpoint, Address: address, Origin: "Manual"})
	return ""
}

func (m *Machine) named(kind string, name any) bool {
	return slices.ContainsFunc(m.state.HNS, func(item map[string]any) bool {
		return item["kind"] == kind && Same(fmt.Sprint(item["Name"]), fmt.Sprint(name))
	})
}

// notThere are HCN_E_NETWORK_NOT_FOUND and HCN_E_ENDPOINT_NOT_FOUND.
var notThere = map[string]string{"networks": "0x803b0001", "endpoints": "0x803b0002"}

// missing is why an item cannot be deleted.
func (m *Machine) missing(kind, id string) string {
	if slices.ContainsFunc(m.state.HNS, func(item map[string]any) bool { return item["kind"] == kind && item["ID"] == id }) {
		return ""
	}
	return notThere[kind]
}
