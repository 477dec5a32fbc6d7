// Package cni plays what CNIs do on a node: their daemons, containerd that looks for their configuration, and kube-proxy with the
// Services that pods reach. Each part names the source that it follows; nothing of it is our wish.
package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Daemon does on a node what a CNI's daemon does there when it starts: after the join, and after each start of Windows.
type Daemon func(m *windows.Machine) error

// The HNS networks whose names are not ours to choose.
const (
	networkOfCalico = "Calico"
	networkOfAntrea = "antrea-hnsnetwork"
	networkOfAzure  = "azure"
	// networkOfLab is none of HNS.
	networkOfLab = "lab"
)

// Calico is what the pods of Calico's DaemonSet make of a node, which calico.go plays one by one.
func Calico(kind string) Daemon {
	return func(m *windows.Machine) error {
		backend := map[string]string{"Overlay": "vxlan", "L2Bridge": "windows-bgp"}[kind]
		block := netip.MustParsePrefix("10.244.9.0/24")
		err := calicoCleanup(m)
		if err == nil {
			err = calicoExternal(m, backend, "")
		}
		if err == nil {
			err = calicoNetwork(m, backend, block)
		}
		if err != nil {
			return err
		}
		return errors.Join(RunPod(m, networkOfCalico, nil), installed(m, "calico"),
			m.Put(Folder+`\10-calico.conflist`, []byte(`{"cniVersion":"1.0.0","name":"Calico","plugins":[{"type":"calico"}]}`)))
	}
}

// installed puts a plug-in where containerd looks for it.
func installed(m *windows.Machine, kind string) error {
	return m.Put(Programs+`\`+kind+".exe", []byte("a plug-in"))
}

// AzureVNet is what azure-vnet does for the first pod (Azure/azure-container-networking, network/network_windows.go and
// cni/network/invoker_azure.go): mode is not read since 8e8a5fde5, IPv6 is asked for only with ipv6Mode, and its state lies where
// containerd runs. Without the MAC for remote ARP nobody outside answers its pods. To HNS it names the
// adapter of its configuration: that of the subnet is a vEthernet, which it leaves out (pull request 813).
func AzureVNet(m *windows.Machine) error {
	if there, err := hasNetwork(m, networkOfAzure); there || err != nil {
		return err
	}
	pod := map[string]any{}
	if list, err := azureList(m); err == nil && list.Plugins[0].IPv6Mode != "" {
		pod["IPv6Address"] = "fd00:10:244::9"
	}
	return errors.Join(azureNetwork(m), RunPod(m, networkOfAzure, pod))
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
	if there, err := hasNetwork(m, networkOfAzure); there || err != nil {
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
	return errors.Join(makeNetwork(m, networkOfAzure, "L2Bridge", netip.Prefix{}, adapter),
		m.Put(`C:\Windows\System32\azure-vnet.json`, []byte(`{}`)))
}

// RunPod starts a pod of this start of Windows in a network, which takes an address.
func RunPod(m *windows.Machine, network string, more map[string]any) error {
	_, err := makeEndpoint(m, fmt.Sprintf("pod%d_%s", m.Boots(), network), network, more)
	return errors.Join(err, m.Put(`C:\var\lib\cni\networks\`+network+`\10.244.9.9`, []byte("a pod")))
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
