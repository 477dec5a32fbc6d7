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

// Folder is where containerd looks for the configuration of a CNI.
const Folder = `C:\etc\cni\net.d`

// NotReady is what containerd says as long as there is no configuration, and the kubelet repeats; empty if there is one.
func NotReady(m *windows.Machine) string {
	if found, err := m.Match(Folder + `\*.conf*`); err == nil && len(found) > 0 {
		return ""
	}
	return "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: cni plugin not initialized"
}

// HostGW is flanneld with its backend host-gw (flannel-io/flannel 0f89b8d5, pkg/backend/hostgw/hostgw_windows.go): it names no
// adapter to HNS, and its endpoint NAME_ep has the second address of the node.
func HostGW(m *windows.Machine) error {
	if there, err := hasNetwork(m, "cbr0"); there || err != nil {
		return err
	}
	return errors.Join(
		makeNetwork(m, "cbr0", "L2Bridge", nil), makeEndpoint(m, "cbr0_ep", nil), runPod(m, "cbr0", nil), writeSubnet(m))
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
	return errors.Join(makeNetwork(m, name, "Overlay", more), runPod(m, name, nil), writeSubnet(m))
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
		return errors.Join(
			m.Put(stored, []byte(strconv.Itoa(m.Boots()))), runPod(m, "Calico", nil),
			m.Put(Folder+`\10-calico.conf`, []byte(`{"cniVersion":"0.3.0"}`)))
	}
}

// Antrea is antrea-agent (antrea-io/antrea, docs/windows.md): it needs Hyper-V with its cmdlets and no firewall, and a network of
// an earlier start, whose extension Windows has turned off, keeps it from starting.
func Antrea(m *windows.Machine) error {
	features, err := m.Features([]string{"Hyper-V", "Hyper-V-PowerShell"})
	if err != nil {
		return err
	}
	there, err := hasNetwork(m, "antrea-hnsnetwork")
	switch {
	case err != nil:
		return err
	case features["Hyper-V"] != "Installed" || features["Hyper-V-PowerShell"] != "Installed":
		return fmt.Errorf("Get-VMNetworkAdapter is not recognized: %v", features)
	case m.FirewallOn():
		return errors.New("tunnels do not pass Windows' firewall")
	case there:
		return errors.New("the Open vSwitch Extension of antrea-hnsnetwork is disabled")
	}
	adapter, err := mainAdapter(m)
	if err != nil {
		return err
	}
	more := map[string]any{"NetworkAdapterName": adapter}
	return errors.Join(makeNetwork(m, "antrea-hnsnetwork", "Transparent", more), runPod(m, "antrea-hnsnetwork", nil),
		m.Put(Folder+`\10-antrea.conflist`, []byte(`{"cniVersion":"0.3.0"}`)))
}

// AzureVNet is what azure-vnet does for the first pod (Azure/azure-container-networking, network/network_windows.go and
// cni/network/invoker_azure.go): mode is not read since 8e8a5fde5, IPv6 is asked for only with ipv6Mode, and its state lies where
// containerd runs. Without the MAC for remote ARP nobody outside answers its pods. To HNS it names the
// adapter of its configuration: that of the subnet is a vEthernet, which it leaves out (pull request 813).
func AzureVNet(m *windows.Machine) error {
	var list struct {
		Plugins []struct{ IPv6Mode, AdapterName string }
	}
	text, err := m.ReadFile(Folder + `\10-azure.conflist`)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
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
	pod := map[string]any{}
	if list.Plugins[0].IPv6Mode != "" {
		if !m.FileExists(`C:\k\config`) {
			return errors.New(`azure-vnet-ipamv6: stat c:\k\config: The system cannot find the file specified`)
		}
		pod["IPv6Address"] = "fd00:10:244::9"
	}
	var adapter map[string]any
	if name := list.Plugins[0].AdapterName; name != "" {
		adapter = map[string]any{"NetworkAdapterName": name}
	}
	return errors.Join(makeNetwork(m, "azure", "L2Bridge", adapter), runPod(m, "azure", pod),
		m.Put(`C:\Windows\System32\azure-vnet.json`, []byte(`{}`)))
}

// Nothing is what WinBridge and WinOverlay have of a daemon.
func Nothing(*windows.Machine) error { return nil }

// Nobody is a CNI whose own DaemonSet only writes a configuration.
func Nobody(m *windows.Machine) error {
	return m.Put(Folder+`\10-own.conf`, []byte(`{"cniVersion":"0.3.0"}`))
}

func hasNetwork(m *windows.Machine, name string) (bool, error) {
	all, err := m.HNSCall("GET", "/networks", "")
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
