package cni

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// Subnet is the file by which flanneld tells its plug-in of the node's network.
const Subnet = `C:\run\flannel\subnet.env`

// adds are what the plug-ins do for a new pod: they return its address and the HNS network that it is in.
var adds = map[string]func(m *windows.Machine, c *config, one plugin) (address, network string, err error){
	"flannel": flannelAdd, "win-bridge": bridgeAdd, "win-overlay": bridgeAdd, "calico": calicoAdd, "antrea": antreaAdd,
	"azure-vnet": azureAdd, "lab": labAdd,
}

// Add gives a pod its network, as containerd does: the configuration, the programs, the network of HNS, an address of the node's
// range, and an endpoint.
func Add(_ context.Context, m *windows.Machine, pod string) (string, error) {
	loaded, err := load(m)
	if err != nil {
		return "", err
	}
	first := loaded.plugins[0]
	add := adds[first.Type]
	if add == nil {
		return "", fmt.Errorf("plugin type=%q is not played by the lab", first.Type)
	}
	address, network, err := add(m, loaded, first)
	if err == nil {
		endpoint := map[string]any{"IPAddress": address, "VirtualNetwork": network}
		if list, failed := azureList(m); first.Type == "azure-vnet" && failed == nil && list.Plugins[0].IPv6Mode != "" {
			endpoint["IPv6Address"] = "fd00:10:244::9"
		}
		err = makeEndpoint(m, pod+"_"+network, endpoint)
	}
	if err != nil {
		return "", fmt.Errorf("plugin type=%q failed (add): %w", first.Type, err)
	}
	return address, nil
}

// flannelAdd is flannel.exe (flannel-io/cni-plugin 092e6d2, flannel.go and flannel_windows.go): it reads what flanneld has
// written, and hands it to win-bridge or win-overlay with host-local.
func flannelAdd(m *windows.Machine, c *config, one plugin) (address, network string, err error) {
	var conf struct {
		SubnetFile string
		Delegate   struct{ Type string }
	}
	if err := json.Unmarshal(one.text, &conf); err != nil {
		return "", "", err
	}
	if conf.SubnetFile == "" {
		conf.SubnetFile = Subnet
	}
	text, err := m.ReadFile(conf.SubnetFile)
	if err != nil {
		return "", "", fmt.Errorf("loadFlannelSubnetEnv failed: open %s: The system cannot find the file specified", conf.SubnetFile)
	}
	subnet := ""
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "FLANNEL_SUBNET="); ok {
			subnet = value
		}
	}
	prefix, err := netip.ParsePrefix(subnet)
	if err != nil {
		return "", "", fmt.Errorf("%s is missing FLANNEL_SUBNET", conf.SubnetFile)
	}
	if conf.Delegate.Type == "" {
		conf.Delegate.Type = "win-bridge"
	}
	return delegated(m, c.Name, conf.Delegate.Type, prefix.Masked())
}

// bridgeAdd is win-bridge.exe or win-overlay.exe with host-local.exe (containernetworking/plugins
// 3d27709f, plugins/main/windows).
func bridgeAdd(m *windows.Machine, c *config, one plugin) (address, network string, err error) {
	var conf struct {
		IPAM struct {
			Type, Subnet string
			Ranges       [][]struct{ Subnet string }
		}
	}
	if err := json.Unmarshal(one.text, &conf); err != nil {
		return "", "", err
	}
	subnet := conf.IPAM.Subnet
	if len(conf.IPAM.Ranges) > 0 && len(conf.IPAM.Ranges[0]) > 0 {
		subnet = conf.IPAM.Ranges[0][0].Subnet
	}
	prefix, err := netip.ParsePrefix(subnet)
	if err != nil {
		return "", "", fmt.Errorf("no IP ranges specified: %w", err)
	}
	return delegated(m, c.Name, one.Type, prefix)
}

// delegated: the programs must be there, then the network of HNS, and host-local takes the first free address.
func delegated(m *windows.Machine, network, kind string, prefix netip.Prefix) (address, in string, err error) {
	for _, program := range []string{kind, "host-local"} {
		if err := findPlugin(m, program); err != nil {
			return "", "", err
		}
	}
	there, err := hasNetwork(m, network)
	if err != nil || !there {
		return "", "", errors.Join(err, fmt.Errorf("HNS network %s is not there", network))
	}
	address, err = hostLocal(m, network, prefix)
	return address, network, err
}

// leases are the addresses that host-local has given, a file for each. Calico has its own elsewhere, upstream in the API.
func leases(network string) string {
	if network == "Calico" {
		return `C:\var\lib\calico\ipam`
	}
	return `C:\var\lib\cni\networks\` + network
}

// hostLocal gives the first free address behind the gateway's.
func hostLocal(m *windows.Machine, network string, prefix netip.Prefix) (string, error) {
	for address := prefix.Addr().Next().Next(); prefix.Contains(address); address = address.Next() {
		file := leases(network) + `\` + address.String()
		if !m.FileExists(file) {
			return address.String(), m.Put(file, []byte("a pod\r\neth0"))
		}
	}
	return "", fmt.Errorf("no IP addresses available in range set: %s", prefix)
}

// calicoAdd is calico.exe (projectcalico/calico 87c15906, cni-plugin/pkg/plugin): it works once calico-node has told its name,
// with a network of its own.
func calicoAdd(m *windows.Machine, _ *config, _ plugin) (address, network string, err error) {
	if err := findPlugin(m, "calico-ipam"); err != nil {
		return "", "", err
	}
	text, err := m.ReadFile(calicoNode)
	if err != nil {
		return "", "", fmt.Errorf("stat %s: no such file or directory: check that the calico/node container is running", calicoNode)
	}
	if there, err := hasNetwork(m, "Calico"); err != nil || !there {
		return "", "", errors.Join(err, errors.New("HNS network Calico is not there"))
	}
	prefix, err := netip.ParsePrefix(string(text))
	if err != nil {
		return "", "", err
	}
	address, err = hostLocal(m, "Calico", prefix)
	return address, "Calico", err
}

// antreaAdd is antrea-cni.exe (antrea-io/antrea fc70f2bb, pkg/cni): it asks the agent by a named pipe.
func antreaAdd(m *windows.Machine, _ *config, _ plugin) (address, network string, err error) {
	if answers, err := m.PipeAnswers(antreaPipe); err != nil || !answers {
		return "", "", errors.Join(err, errors.New(`rpc error: code = Unavailable desc = open \\.\pipe\`+antreaPipe+
			": The system cannot find the file specified"))
	}
	text, err := m.ReadFile(antreaRange)
	if err != nil {
		return "", "", err
	}
	prefix, err := netip.ParsePrefix(string(text))
	if err != nil {
		return "", "", err
	}
	address, err = hostLocal(m, "antrea-hnsnetwork", prefix)
	return address, "antrea-hnsnetwork", err
}

// azureAdd is azure-vnet.exe, which asks azure-vnet-ipam.exe for an address of the virtual network.
func azureAdd(m *windows.Machine, _ *config, _ plugin) (address, network string, err error) {
	if err := findPlugin(m, "azure-vnet-ipam"); err != nil {
		return "", "", err
	}
	if err := azureNetwork(m); err != nil {
		return "", "", err
	}
	addresses, err := m.NetAddresses()
	for _, own := range addresses {
		prefix, failed := netip.ParsePrefix(own.Address)
		if failed == nil && prefix.Addr().Is4() && prefix.Bits() <= 24 {
			address, err = hostLocal(m, "azure", netip.PrefixFrom(prefix.Masked().Addr().Next(), prefix.Bits()))
			return address, "azure", err
		}
	}
	return "", "", errors.Join(err, errors.New("IPAM: no address of the virtual network"))
}

// labAdd is the CNI of clusters whose own is not known.
func labAdd(m *windows.Machine, _ *config, one plugin) (address, network string, err error) {
	var conf struct{ Subnet string }
	if err := json.Unmarshal(one.text, &conf); err != nil {
		return "", "", err
	}
	prefix, err := netip.ParsePrefix(conf.Subnet)
	if err != nil {
		return "", "", err
	}
	address, err = hostLocal(m, "lab", prefix)
	return address, "lab", err
}
