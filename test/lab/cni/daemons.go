// Package cni plays what CNIs do on a node: their daemons, containerd that looks for their configuration, and kube-proxy's first
// question. Each part names the source that it follows; nothing of it is our wish.
package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/capwin/cluster-api-provider-windows/test/lab/windows"
)

// Daemon does on a node what the pods of a CNI's DaemonSet do there when they start: after the join, and after each start of
// Windows.
type Daemon func(m *windows.Machine) error

// HostGW is flanneld with its backend host-gw (flannel-io/flannel 0f89b8d5, pkg/backend/hostgw/hostgw_windows.go): it names no
// adapter to HNS, and its endpoint NAME_ep has the second address of the node.
func HostGW(m *windows.Machine) error {
	if there, err := hasNetwork(m, "cbr0"); there || err != nil {
		return err
	}
	return errors.Join(hostGW(m, "cbr0", nil, ""), runPod(m, "cbr0", nil), writeSubnet(m))
}

func hostGW(m *windows.Machine, name string, subnet map[string]any, address string) error {
	there, err := hasNetwork(m, name)
	if err == nil && !there {
		err = makeNetwork(m, name, "L2Bridge", subnet)
	}
	has, failed := hasEndpoint(m, name+"_ep")
	if err := errors.Join(err, failed); err != nil || has {
		return err
	}
	endpoint := map[string]any{"VirtualNetwork": name}
	if address != "" {
		endpoint["IPAddress"] = address
	}
	return makeEndpoint(m, name+"_ep", endpoint)
}

// VXLAN is flanneld with its backend vxlan (flannel-io/flannel 00014d09, pkg/backend/vxlan): it names the interface of the
// default route to HNS, also one that has a vSwitch, and its network ends with this start (EnableNonPersistent).
func VXLAN(m *windows.Machine) error {
	const name = "flannel.4096"
	if there, err := hasNetwork(m, name); there || err != nil {
		return err
	}
	adapter, err := mainAdapter(m)
	if err != nil {
		return err
	}
	more := map[string]any{"NetworkAdapterName": adapter, "Flags": 8}
	return errors.Join(vxlan(m, name, more), runPod(m, name, nil), writeSubnet(m))
}

func vxlan(m *windows.Machine, name string, more map[string]any) error {
	if there, err := hasNetwork(m, name); there || err != nil {
		return err
	}
	return makeNetwork(m, name, "Overlay", more)
}

// writeSubnet is flanneld's last act before it goes on to watch other nodes (flannel-io/flannel cdf76059, main.go).
func writeSubnet(m *windows.Machine) error {
	return m.Put(`C:\run\flannel\subnet.env`, []byte("FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n"+
		"FLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"))
}

// Calico is node-service.ps1 and the CNI of Calico (projectcalico/calico 398201cc,
// node/windows-packaging/CalicoWindows/node/node-service.ps1): at its first run and after each start of Windows it removes all
// networks but those of nat, and makes its own External, without an adapter's name. For BGP it restarts RemoteAccess.
func Calico(kind string) Daemon {
	return func(m *windows.Machine) error {
		if err := calicoNetworks(m, kind); err != nil {
			return err
		}
		return errors.Join(runPod(m, "Calico", nil), installed(m, "calico"),
			m.Put(Folder+`\10-calico.conf`, []byte(`{"cniVersion":"0.3.0","type":"calico"}`)))
	}
}

func calicoNetworks(m *windows.Machine, kind string) error {
	const stored = `C:\CalicoWindows\last-boot`
	if old, err := m.ReadFile(stored); err != nil || string(old) != strconv.Itoa(m.Boots()) {
		if err := removeNetworks(m); err != nil {
			return err
		}
	}
	for _, name := range []string{"External", "Calico"} {
		there, err := hasNetwork(m, name)
		if err == nil && !there {
			err = makeNetwork(m, name, kind, nil)
		}
		if err != nil {
			return err
		}
	}
	if state, err := m.ServiceState("RemoteAccess"); kind == "L2Bridge" && (err != nil || state != windows.Running) {
		return errors.Join(err, errors.New("Restart-Service : Service RemoteAccess cannot be started: it is "+state))
	}
	return m.Put(stored, []byte(strconv.Itoa(m.Boots())))
}

// installed puts a plug-in where containerd looks for it.
func installed(m *windows.Machine, kind string) error {
	return m.Put(Programs+`\`+kind+".exe", []byte("a plug-in"))
}

// Antrea is antrea-agent (antrea-io/antrea, docs/windows.md): it needs Hyper-V with its cmdlets and no firewall, and a network of
// an earlier start, whose extension Windows has turned off, keeps it from starting.
func Antrea(m *windows.Machine) error {
	if err := antreaNetwork(m); err != nil {
		return err
	}
	return errors.Join(runPod(m, "antrea-hnsnetwork", nil), installed(m, "antrea"),
		m.Put(Folder+`\10-antrea.conflist`, []byte(`{"cniVersion":"0.3.0","plugins":[{"type":"antrea"}]}`)))
}

func antreaNetwork(m *windows.Machine) error {
	features, err := m.Features([]string{"Hyper-V", "Hyper-V-PowerShell"})
	if err != nil {
		return err
	}
	made := `C:\var\run\antrea\boot-` + strconv.Itoa(m.Boots())
	there, err := hasNetwork(m, "antrea-hnsnetwork")
	switch {
	case err != nil:
		return err
	case features["Hyper-V"] != "Installed" || features["Hyper-V-PowerShell"] != "Installed":
		return fmt.Errorf("Get-VMNetworkAdapter is not recognized: %v", features)
	case m.FirewallOn():
		return errors.New("tunnels do not pass Windows' firewall")
	case there && m.FileExists(made):
		return nil // the agent has only been started again
	case there:
		return errors.New("the Open vSwitch Extension of antrea-hnsnetwork is disabled")
	}
	adapter, err := mainAdapter(m)
	if err != nil {
		return err
	}
	more := map[string]any{"NetworkAdapterName": adapter}
	return errors.Join(makeNetwork(m, "antrea-hnsnetwork", "Transparent", more), m.Put(made, nil))
}

// AzureVNet is what azure-vnet does for the first pod (Azure/azure-container-networking, network/network_windows.go and
// cni/network/invoker_azure.go): mode is not read since 8e8a5fde5, IPv6 is asked for only with ipv6Mode, and its state lies where
// containerd runs. Without the MAC for remote ARP nobody outside answers its pods. To HNS it names the
// adapter of its configuration: that of the subnet is a vEthernet, which it leaves out (pull request 813).
func AzureVNet(m *windows.Machine) error {
	if there, err := hasNetwork(m, "azure"); there || err != nil {
		return err
	}
	pod := map[string]any{}
	if list, err := azureList(m); err == nil && list.Plugins[0].IPv6Mode != "" {
		pod["IPv6Address"] = "fd00:10:244::9"
	}
	return errors.Join(azureNetwork(m), runPod(m, "azure", pod))
}

// azureConf is the part of azure-vnet's configuration that is played.
type azureConf struct {
	Plugins []struct{ IPv6Mode, AdapterName string }
}

func azureList(m *windows.Machine) (*azureConf, error) {
	list := &azureConf{}
	text, err := m.ReadFile(Folder + `\10-azure.conflist`)
	if err == nil {
		err = json.Unmarshal(text, list)
	}
	if err == nil && len(list.Plugins) == 0 {
		err = errors.New("10-azure.conflist has no plug-in")
	}
	return list, err
}

// azureNetwork is azure-vnet's own, with its first pod.
func azureNetwork(m *windows.Machine) error {
	list, err := azureList(m)
	if err != nil {
		return err
	}
	mac, _, err := m.ReadRegistry(windows.ServicesKey+`\hns\State`, "SDNRemoteArpMacAddress")
	if err != nil || mac.Text != "12-34-56-78-9a-bc" {
		return errors.Join(err, fmt.Errorf("pods get no answer from outside: SDNRemoteArpMacAddress is %q", mac.Text))
	}
	if there, err := hasNetwork(m, "azure"); there || err != nil {
		return err
	}
	if m.FileExists(`C:\Windows\System32\azure-vnet.json`) {
		return errors.New("azure-vnet.json has a network that HNS does not have")
	}
	if list.Plugins[0].IPv6Mode != "" {
		if !m.FileExists(`C:\k\config`) {
			return errors.New(`azure-vnet-ipamv6: stat c:\k\config: The system cannot find the file specified`)
		}
	}
	var adapter map[string]any
	if name := list.Plugins[0].AdapterName; name != "" {
		adapter = map[string]any{"NetworkAdapterName": name}
	}
	return errors.Join(makeNetwork(m, "azure", "L2Bridge", adapter),
		m.Put(`C:\Windows\System32\azure-vnet.json`, []byte(`{}`)))
}

func hasNetwork(m *windows.Machine, name string) (bool, error) {
	all, err := m.HNSCall("GET", "/networks", "")
	return slices.ContainsFunc(all, func(n map[string]any) bool { return n["Name"] == name }), err
}

func hasEndpoint(m *windows.Machine, name string) (bool, error) {
	all, err := m.HNSCall("GET", "/endpoints", "")
	return slices.ContainsFunc(all, func(n map[string]any) bool { return n["Name"] == name }), err
}

func makeNetwork(m *windows.Machine, name, kind string, more map[string]any) error {
	return makeItem(m, "/networks", map[string]any{"Name": name, "Type": kind}, more)
}

func makeEndpoint(m *windows.Machine, name string, more map[string]any) error {
	return makeItem(m, "/endpoints", map[string]any{"Name": name}, more)
}

func makeItem(m *windows.Machine, path string, request, more map[string]any) error {
	maps.Copy(request, more)
	text, err := json.Marshal(request)
	if err == nil {
		_, err = m.HNSCall("POST", path, string(text))
	}
	return err
}

func removeNetworks(m *windows.Machine) error {
	all, err := m.HNSCall("GET", "/networks", "")
	for _, network := range all {
		if err == nil && !strings.EqualFold(fmt.Sprint(network["Type"]), "nat") {
			_, err = m.HNSCall("DELETE", fmt.Sprintf("/networks/%v", network["ID"]), "")
		}
	}
	return err
}

// runPod starts a pod, which takes an address.
func runPod(m *windows.Machine, network string, more map[string]any) error {
	return errors.Join(
		m.Put(`C:\var\lib\cni\networks\`+network+`\10.244.9.9`, []byte("a pod")),
		makeEndpoint(m, fmt.Sprintf("pod%d_%s", m.Boots(), network), more))
}

// mainAdapter is the one of the default route.
func mainAdapter(m *windows.Machine) (string, error) {
	routes, err := m.NetRoutes("0.0.0.0/0")
	adapters, failed := m.NetAdapters()
	if err := errors.Join(err, failed); err != nil {
		return "", err
	}
	for _, adapter := range adapters {
		if len(routes) > 0 && adapter.Index == routes[0].Index {
			return adapter.Name, nil
		}
	}
	return "", errors.New("failed to get default interface")
}
