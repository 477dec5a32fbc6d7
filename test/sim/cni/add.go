package cni

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
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
	address, network := "", ""
	if err = loaded.findPlugins(m); err == nil {
		address, network, err = add(m, loaded, first)
	}
	if err == nil {
		endpoint := map[string]any{"IPAddress": address}
		if list, failed := azureList(m); first.Type == "azure-vnet" && failed == nil && list.Plugins[0].IPv6Mode != "" {
			endpoint["IPv6Address"] = "fd00:10:244::9"
		}
		_, err = makeEndpoint(m, pod+"_"+network, network, endpoint)
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
	return delegated(m, c.Name, conf.Delegate.Type, prefix.Masked(), afterGateway(prefix))
}

// bridgeAdd is win-bridge.exe or win-overlay.exe with host-local.exe (containernetworking/plugins
// 3d27709f, plugins/main/windows).
func bridgeAdd(m *windows.Machine, c *config, one plugin) (address, network string, err error) {
	var conf struct {
		IPAM struct {
			Ranges [][]struct{ Subnet, RangeStart string }
		}
	}
	if err := json.Unmarshal(one.text, &conf); err != nil {
		return "", "", err
	}
	if len(conf.IPAM.Ranges) == 0 || len(conf.IPAM.Ranges[0]) == 0 {
		return "", "", errors.New("no IP ranges specified")
	}
	from := conf.IPAM.Ranges[0][0]
	prefix, err := netip.ParsePrefix(from.Subnet)
	first, failed := netip.ParseAddr(from.RangeStart)
	if err := errors.Join(err, failed); err != nil {
		return "", "", err
	}
	return delegated(m, c.Name, one.Type, prefix, first)
}

// delegated: the programs must be there, then the network of HNS, and host-local takes the first free address.
func delegated(m *windows.Machine, network, kind string, prefix netip.Prefix, first netip.Addr) (address, in string, err error) {
	for _, program := range []string{kind, "host-local"} {
		if err := findPlugin(m, program); err != nil {
			return "", "", err
		}
	}
	if _, err := getNetwork(m, network); err != nil {
		return "", "", err
	}
	address, err = hostLocal(m, network, prefix, first)
	return address, network, err
}

// afterGateway is the first address that host-local gives where nobody tells it another one.
func afterGateway(prefix netip.Prefix) netip.Addr { return prefix.Masked().Addr().Next().Next() }

// leases are the addresses that host-local has given, a file for each. Calico has its own elsewhere, upstream in the API.
func leases(network string) string {
	if network == networkOfCalico {
		return `C:\var\lib\calico\ipam`
	}
	return `C:\var\lib\cni\networks\` + network
}

// hostLocal gives the first free address from first on.
func hostLocal(m *windows.Machine, network string, prefix netip.Prefix, first netip.Addr) (string, error) {
	for address := first; prefix.Contains(address); address = address.Next() {
		file := leases(network) + `\` + address.String()
		if !m.FileExists(file) {
			return address.String(), m.Put(file, []byte("a pod\r\neth0"))
		}
	}
	return "", fmt.Errorf("no IP addresses available in range set: %s", prefix)
}

// calicoAdd is calico.exe (projectcalico/calico 87c15906, cni-plugin/pkg/plugin/plugin.go and
// cni-plugin/pkg/dataplane/windows/dataplane_windows.go): it waits for calico-node only if it is told to, takes an address of the
// node's block, and makes the network where that is not there.
func calicoAdd(m *windows.Machine, c *config, one plugin) (address, network string, err error) {
	conf := struct {
		Mode                 string
		NodenameFileOptional bool `json:"nodename_file_optional"`
	}{}
	if err := json.Unmarshal(one.text, &conf); err != nil {
		return "", "", err
	}
	if err := findPlugin(m, "calico-ipam"); err != nil {
		return "", "", err
	}
	if !conf.NodenameFileOptional && !m.FileExists(calicoNode) {
		return "", "", fmt.Errorf("stat %s: no such file or directory: check that the calico/node container is running",
			calicoNode)
	}
	block, err := prefixIn(m, calicoBlock)
	if err != nil {
		return "", "", err
	}
	if err := calicoNetwork(m, conf.Mode, block); err != nil {
		return "", "", err
	}
	address, err = calicoAssign(m, c.Name, block)
	return address, c.Name, err
}

// prefixIn is the range of addresses in a file that a daemon has written.
func prefixIn(m *windows.Machine, path string) (netip.Prefix, error) {
	text, err := m.ReadFile(path)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.ParsePrefix(string(text))
}

// antreaAdd is antrea-cni.exe (antrea-io/antrea v2.7.0, pkg/cni): it asks the agent by a named pipe.
func antreaAdd(m *windows.Machine, _ *config, _ plugin) (address, network string, err error) {
	if answers, err := m.PipeAnswers(antreaPipe); err != nil || !answers {
		return "", "", errors.Join(err, errors.New(`rpc error: code = Unavailable desc = open \\.\pipe\`+antreaPipe+
			": The system cannot find the file specified"))
	}
	prefix, err := prefixIn(m, antreaRange)
	if err != nil {
		return "", "", err
	}
	address, err = hostLocal(m, networkOfAntrea, prefix, afterGateway(prefix))
	return address, networkOfAntrea, err
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
			address, err = hostLocal(m, networkOfAzure, prefix.Masked(), afterGateway(prefix).Next())
			return address, networkOfAzure, err
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
	address, err = hostLocal(m, networkOfLab, prefix, afterGateway(prefix))
	return address, networkOfLab, err
}
