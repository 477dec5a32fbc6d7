package cni

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// Antrea's agent, its script, and what its pods do (antrea-io/antrea v2.7.0).

const (
	// antreaPipe is where antrea-agent listens for its plug-in (pkg/cni/default_windows.go).
	antreaPipe = "cnisock"
	// antreaRange has the pod CIDR of the node, which upstream's agent keeps to itself.
	antreaRange = `C:\var\run\antrea\range`
	antreaConf  = Folder + `\10-antrea.conflist`
	// antreaBridge is the name that the agent gives to the vEthernet, which becomes the port of Open vSwitch's bridge.
	antreaBridge = "br-int"

	antreaConfText = `{"cniVersion":"0.3.0","name":"antrea","plugins":[{"type":"antrea","ipam":{"type":"host-local"}}]}`
)

// Antrea is antrea-agent with a pod.
func Antrea(m *windows.Machine) error {
	if err := antreaNetwork(m); err != nil {
		return err
	}
	return errors.Join(RunPod(m, networkOfAntrea, nil), installed(m, "antrea"), m.Put(antreaConf, []byte(antreaConfText)))
}

// antreaNetwork is prepareHNSNetworkAndOVSExtension (pkg/agent/agent_windows.go). It needs Hyper-V with its cmdlets and no
// firewall. A network of an earlier start, whose extension Windows has turned off, must have gone before (docs/windows.md, "Known
// issues"). The adapter is that of the node's address. A vEthernet is refused, an adapter without a default route is not.
func antreaNetwork(m *windows.Machine) error {
	features, err := m.Features([]string{"Hyper-V", "Hyper-V-PowerShell"})
	if err != nil {
		return err
	}
	there, err := hasNetwork(m, networkOfAntrea)
	switch {
	case err != nil:
		return err
	case features["Hyper-V"] != "Installed" || features["Hyper-V-PowerShell"] != "Installed":
		return fmt.Errorf("Get-VMNetworkAdapter is not recognized: %v", features)
	case m.FirewallOn():
		return errors.New("tunnels do not pass Windows' firewall")
	case there && extensionOn(m):
		return nil // the agent has only been started again
	case there:
		return errors.New("the Open vSwitch Extension of antrea-hnsnetwork is disabled")
	}
	uplink, err := nodeAdapter(m)
	if err != nil {
		return err
	}
	if uplink.Virtual {
		return fmt.Errorf("uplink %q is not a physical adapter", uplink.Name)
	}
	return makeAntreaNetwork(m, uplink)
}

// makeAntreaNetwork is PrepareHNSNetwork (pkg/agent/util/net_windows.go). The management address is given with its prefix length,
// and HNS returns it so (test/integration/agent/net_windows_test.go). Only where Windows has not moved the address to the
// vEthernet does the agent set it there, with the gateway and the name servers: what Windows drops beside a moved address stays
// lost.
func makeAntreaNetwork(m *windows.Machine, uplink windows.Adapter) error {
	routes, err := m.NetRoutes("0.0.0.0/0")
	servers, failed := m.DNSServers(uplink.Index)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	more := map[string]any{"NetworkAdapterName": uplink.Name, "ManagementIP": m.ManagementIP + "/24"}
	if err := makeNetwork(m, networkOfAntrea, "Transparent", netip.Prefix{}, more); err != nil {
		return err
	}
	bridge, err := vEthernetOf(m, uplink)
	if err != nil {
		return err
	}
	addresses, err := m.AllAddresses()
	if err != nil {
		return err
	}
	moved := func(a windows.Address) bool { return a.Index == bridge.Index && a.Address == m.ManagementIP+"/24" }
	if !slices.ContainsFunc(addresses, moved) {
		err = m.AddAddress(bridge.Index, m.ManagementIP+"/24")
		for _, route := range routes {
			if route.Index == uplink.Index {
				err = errors.Join(err, m.AddRoute(bridge.Index, route.To, route.Via))
			}
		}
		if len(servers) > 0 {
			err = errors.Join(err, m.SetDNSServers(bridge.Index, servers))
		}
	}
	return errors.Join(err, m.RenameAdapter(bridge.Index, antreaBridge), m.Put(extensionMark(m), nil))
}

// extensionMark is there while the Open vSwitch Extension is on: Windows turns it off at each start.
func extensionMark(m *windows.Machine) string {
	return `C:\var\run\antrea\boot-` + strconv.Itoa(m.Boots())
}

func extensionOn(m *windows.Machine) bool { return m.FileExists(extensionMark(m)) }

// nodeAdapter has the address of the node.
func nodeAdapter(m *windows.Machine) (windows.Adapter, error) {
	index, err := indexOf(m, m.ManagementIP)
	if err != nil {
		return windows.Adapter{}, err
	}
	return adapterWith(m, func(a windows.Adapter) bool { return a.Index == index })
}

func vEthernetOf(m *windows.Machine, uplink windows.Adapter) (windows.Adapter, error) {
	return adapterWith(m, func(a windows.Adapter) bool { return a.Virtual && a.MAC == uplink.MAC })
}

func adapterWith(m *windows.Machine, is func(windows.Adapter) bool) (windows.Adapter, error) {
	all, err := m.NetAdapters()
	at := slices.IndexFunc(all, is)
	if at < 0 {
		return windows.Adapter{}, errors.Join(err, errors.New("unable to find a network adapter"))
	}
	return all[at], err
}

// PrepareAntrea is hack/windows/Prepare-AntreaAgent.ps1 with Clean-AntreaNetwork.ps1: a network whose extension is on stays, any
// other goes with its vSwitch, and with the vSwitch its ports, which the endpoints of pods are.
func PrepareAntrea(m *windows.Machine) error {
	there, err := find(m, networks, "Name", networkOfAntrea)
	if err != nil || there == nil || extensionOn(m) {
		return err
	}
	ports, err := list(m, endpoints)
	for _, port := range ports {
		if err == nil && port.text("NetworkID") == there.text("ID") {
			err = remove(m, endpoints, port)
		}
	}
	return errors.Join(err, remove(m, networks, there))
}

// installAntrea is Install-WindowsCNI.ps1 (build/charts/antrea-windows/conf).
func installAntrea(_ context.Context, c *Container, _ func()) error {
	return errors.Join(installed(c.Machine, "antrea"), c.Machine.Put(antreaConf, []byte(antreaConfText)))
}

// antreaAgent is Run-AntreaAgent.ps1: the agent, which does Services itself, and the tunnels to other nodes, by Open vSwitch.
// Here both are in HNS.
func antreaAgent(ctx context.Context, c *Container, started func()) error {
	if err := c.needs("NODE_NAME", "POD_NAMESPACE"); err != nil {
		return err
	}
	prefix, err := c.podRange(ctx, c.Env["NODE_NAME"])
	if err != nil {
		return err
	}
	m := c.Machine
	if err := errors.Join(antreaNetwork(m), m.Put(antreaRange, []byte(prefix.String()))); err != nil {
		return err
	}
	client, err := c.Account()
	if err != nil {
		return err
	}
	m.OpenPipe(antreaPipe)
	defer m.ClosePipe(antreaPipe)
	started()
	both, end := context.WithCancel(ctx)
	var tunnels sync.WaitGroup
	tunnels.Go(func() {
		_ = c.follow(both, func(peers []peer) error { return setRemoteSubnets(both, m, networkOfAntrea, peers) })
	})
	defer tunnels.Wait()
	defer end()
	return proxy(both, m, client, networkOfAntrea)
}
