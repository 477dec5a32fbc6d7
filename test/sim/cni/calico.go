package cni

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// What runs in the containers of calico-node-windows (projectcalico/calico v3.32.1; the DaemonSet is tigera/operator's v1.42.4,
// pkg/render/windows.go).

const (
	calicoNode = `C:\var\lib\calico\nodename`
	// calicoBlock has the node's block of addresses, for which calico-ipam asks the API: see firstBlock.
	calicoBlock = `C:\var\lib\calico\block`
	// calicoBoot is by which start of Windows the networks were made (libs/calico/calico.psm1, Get-StoredLastBootTime).
	calicoBoot = `C:\CalicoWindows\last-boot`
)

// uninstallCalico is uninstall-calico.ps1, which removes a Calico of services. No image of the lab has one.
func uninstallCalico(context.Context, *Container, func()) error { return nil }

// installCalico is install.exe (cni-plugin/pkg/install/install.go): the programs and the configuration go to the folders that are
// mounted. From then on containerd calls the network ready.
func installCalico(ctx context.Context, c *Container, _ func()) error {
	const programs, folder = "/host/opt/cni/bin", "/host/etc/cni/net.d"
	err := c.needs("CNI_CONF_NAME", "CNI_NETWORK_CONFIG", "CNI_NET_DIR", "KUBERNETES_NODE_NAME", "KUBERNETES_SERVICE_HOST",
		"KUBERNETES_SERVICE_PORT")
	for _, path := range []string{programs, folder} {
		if c.Mounts[path].Host == "" {
			err = errors.Join(err, fmt.Errorf("%s is not mounted", path))
		}
	}
	if err != nil {
		return err
	}
	block, err := c.firstBlock(ctx, c.Env["KUBERNETES_NODE_NAME"])
	if err != nil {
		return err
	}
	text := strings.NewReplacer("__KUBERNETES_NODE_NAME__", c.Env["KUBERNETES_NODE_NAME"],
		"__NODENAME_FILE__", "c:/var/lib/calico/nodename", `"__DSR_SUPPORT__"`, "true").Replace(c.Env["CNI_NETWORK_CONFIG"])
	m := c.Machine
	return errors.Join(
		m.Put(c.Mounts[programs].Host+`\calico.exe`, []byte("calico")),
		m.Put(c.Mounts[programs].Host+`\calico-ipam.exe`, []byte("calico")),
		m.Put(calicoBlock, []byte(block.String())),
		m.Put(c.Mounts[folder].Host+`\calico-kubeconfig`, []byte("the account's")),
		m.Put(c.Mounts[folder].Host+`\`+c.Env["CNI_CONF_NAME"], []byte(text)))
}

// calicoService is node-service.ps1, and `calico-node.exe -startup`, which it starts.
func calicoService(ctx context.Context, c *Container, started func()) error {
	backend := c.Env["CALICO_NETWORKING_BACKEND"]
	if err := c.needs("CALICO_NETWORKING_BACKEND", "NODENAME", "VXLAN_VNI"); err != nil {
		return err
	}
	m := c.Machine
	if err := c.removeOldNetworks(ctx); err != nil {
		return err
	}
	if err := calicoExternal(m, backend, c.Env["VXLAN_ADAPTER"]); err != nil {
		return err
	}
	block, err := c.firstBlock(ctx, c.Env["NODENAME"])
	if err == nil {
		err = calicoNetwork(m, backend, block)
	}
	if err == nil {
		err = m.Put(calicoNode, []byte(c.Env["NODENAME"]))
	}
	if err != nil {
		return err
	}
	return forever(ctx, started)
}

// removeOldNetworks is before an address that is not Windows' own, for which the script waits.
func (c *Container) removeOldNetworks(ctx context.Context) error {
	m := c.Machine
	if err := calicoCleanup(m); err != nil {
		return err
	}
	end := m.Clock.Now().Add(90 * time.Second) // STARTUP_VALID_IP_TIMEOUT of config-hpc.ps1
	return until(ctx, m, func() (bool, error) {
		all, err := m.NetAddresses()
		return !m.Clock.Now().Before(end) || slices.ContainsFunc(all, func(a windows.Address) bool {
			return !windows.IPv6(a.Address) && !strings.HasPrefix(a.Address, "169.254.")
		}), err
	})
}

// calicoInitialized is what felix and confd wait for (Wait-ForCalicoInit).
func calicoInitialized(m *windows.Machine) (bool, error) {
	if !m.FileExists(calicoBoot) {
		return false, nil
	}
	stored, err := m.ReadFile(calicoBoot)
	return string(stored) == strconv.Itoa(m.Boots()), err
}

// calicoCleanup is what node-service.ps1 does first, once after each start of Windows: all networks go but those of nat, also
// those in which pods are.
func calicoCleanup(m *windows.Machine) error {
	if initialized, err := calicoInitialized(m); initialized || err != nil {
		return err
	}
	return removeNetworks(m)
}

// calicoExternal is the part of node-service.ps1 that makes the vSwitch: only a VXLAN names its adapter to HNS, if it is told
// one. For BGP it restarts RemoteAccess.
func calicoExternal(m *windows.Machine, backend, adapter string) error {
	kind := map[string]string{"vxlan": "Overlay", "windows-bgp": "L2Bridge"}[backend]
	if kind == "" {
		return fmt.Errorf("CALICO_NETWORKING_BACKEND %q has no network", backend)
	}
	there, err := hasNetwork(m, "External")
	if err == nil && !there {
		more := map[string]any{}
		if adapter != "" && backend == "vxlan" {
			more["NetworkAdapterName"] = adapter
		}
		err = makeNetwork(m, "External", kind, netip.MustParsePrefix("192.168.255.0/30"), more)
	}
	if err != nil {
		return err
	}
	if state, err := m.ServiceState("RemoteAccess"); kind == "L2Bridge" && (err != nil || state != windows.Running) {
		return errors.Join(err, errors.New("Restart-Service : Service RemoteAccess cannot be started: it is "+state))
	}
	return m.Put(calicoBoot, []byte(strconv.Itoa(m.Boots())))
}

// calicoNetwork is the pods' network with its endpoint, whose address pods do not get. calico-node makes it, and the plug-in
// where it is not there (cni-plugin/pkg/dataplane/windows/dataplane_windows.go: SetupVxlanNetwork, SetupL2bridgeNetwork).
func calicoNetwork(m *windows.Machine, backend string, block netip.Prefix) error {
	kind := map[string]string{"vxlan": "Overlay", "windows-bgp": "L2Bridge"}[backend]
	there, err := hasNetwork(m, networkOfCalico)
	if err == nil && !there {
		err = makeNetwork(m, networkOfCalico, kind, block, nil)
	}
	if err != nil {
		return err
	}
	const name = networkOfCalico + "_ep"
	network, err := getNetwork(m, networkOfCalico)
	old, failed := find(m, endpoints, "Name", name)
	if err := errors.Join(err, failed); err != nil || old.text("NetworkID") == network.text("ID") {
		return err
	}
	if old != nil {
		if err := remove(m, endpoints, old); err != nil {
			return err
		}
	}
	address := afterGateway(block).String()
	made, err := makeEndpoint(m, name, networkOfCalico, map[string]any{"IPAddress": address})
	if err == nil {
		err = m.Put(leases(networkOfCalico)+`\`+address, []byte(name))
	}
	if err == nil && kind == "L2Bridge" { // in a VXLAN it is one of another node, for HNS
		err = attach(m, made)
	}
	return err
}

// felix is felix-service.ps1: in a VXLAN it tells HNS where the pods of others are (felix/dataplane/windows/vxlan_mgr.go).
func felix(ctx context.Context, c *Container, started func()) error {
	if err := c.awaitCalico(ctx); err != nil {
		return err
	}
	if err := c.readTyphaFiles(); err != nil {
		return err
	}
	started()
	if c.Env["CALICO_NETWORKING_BACKEND"] != "vxlan" {
		<-ctx.Done()
		return nil
	}
	return c.follow(ctx, func(peers []peer) error {
		return setRemoteSubnets(ctx, c.Machine, networkOfCalico, peers)
	})
}

// readTyphaFiles looks for what felix needs to ask Typha (felix/config/config_params.go: each file must exist): its certificates
// are in folders that are mounted at these places of the drive C:.
func (c *Container) readTyphaFiles() error {
	for _, name := range []string{"FELIX_TYPHACAFILE", "FELIX_TYPHACERTFILE", "FELIX_TYPHAKEYFILE"} {
		path := c.Env[name]
		folder, file := path[:max(0, strings.LastIndex(path, "/"))], path[strings.LastIndex(path, "/")+1:]
		if _, mounted := c.Mounts["c:"+folder].Files[file]; !mounted {
			return fmt.Errorf("%s: open %s: The system cannot find the file specified", name, path)
		}
	}
	return nil
}

// confd is confd-service.ps1, which tells Windows' router of its neighbours; those tell it where the pods of others are
// (confd/windows-packaging/config-bgp.psm1).
func confd(ctx context.Context, c *Container, started func()) error {
	if err := c.awaitCalico(ctx); err != nil {
		return err
	}
	if c.Env["CALICO_NETWORKING_BACKEND"] != "windows-bgp" {
		return forever(ctx, started)
	}
	started()
	return c.follow(ctx, func(peers []peer) error {
		if state, err := c.Machine.ServiceState("RemoteAccess"); err != nil || state != windows.Running {
			return errors.Join(err, errors.New("RemoteAccess does not run"))
		}
		return setRoutes(c.Machine, networkOfCalico, peers)
	})
}

func (c *Container) awaitCalico(ctx context.Context) error {
	if err := c.needs("CALICO_NETWORKING_BACKEND", "NODENAME"); err != nil {
		return err
	}
	return until(ctx, c.Machine, func() (bool, error) { return calicoInitialized(c.Machine) })
}
