package lab_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// poolServer is the name server of the nodes whose addresses come from pools.
const poolServer = "198.51.100.2"

// gateway is the first address of the cell's network.
func (c *cell) gateway() string { return c.address()[:strings.LastIndex(c.address(), ".")+1] + "1" }

// fromPool gives the machine an address, a gateway and a name server of pools.
func (c *cell) fromPool(m *infrav1.WindowsMachine) {
	m.Spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{{
		Name: "node", Network: "VM Network", Nameservers: []string{poolServer},
		AddressesFromPools: []infrav1.IPPoolReference{{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "nodes"}},
	}}
	m.Status.NetworkInterfaces = []infrav1.MachineNetworkInterface{{
		Name: "node", MACAddress: "00:50:56:00:00:01",
		Addresses: []infrav1.NetworkAddress{{Address: c.address() + "/24", Gateway: c.gateway()}},
	}}
}

// withoutDHCP is a network in which no server answers.
func withoutDHCP(s *windows.State) { s.Addresses, s.Routes = nil, nil }

// prepareAntrea is what docs/network-details.md demands for Antrea.
func prepareAntrea(custom *bootstrapv1.Custom) {
	const name, content = "prepare-antrea", `C:\k\antrea\Prepare-AntreaAgent.ps1 -RunOVSServices $false`
	custom.PreJoin = []bootstrapv1.CustomScript{{Name: name, Content: content}}
	custom.EveryBoot = []bootstrapv1.BootScript{{Name: name, Content: content}}
}

// lost says what of a pool the node has no more: with no default route it reaches an API server in its own subnet alone. The host
// has one adapter with an address of the machines' network, which the CNI may have made.
func (c *cell) lost() string {
	var state windows.State
	text, err := os.ReadFile(filepath.Join(c.guest.Dir, "machine.json"))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return err.Error()
	}
	at := slices.IndexFunc(state.Addresses, func(a windows.Address) bool { return a.Address == c.address()+"/24" })
	if at < 0 {
		return "no adapter has the address of the pool"
	}
	index := state.Addresses[at].Index
	isDefault := func(r windows.Route) bool { return r.Index == index && r.To == "0.0.0.0/0" && r.Via == c.gateway() }
	if !slices.ContainsFunc(state.Routes, isDefault) || !slices.Equal(state.DNS[index], []string{poolServer}) {
		return fmt.Sprintf("the adapter of the pool's address has routes %v and name servers %v", state.Routes, state.DNS[index])
	}
	return ""
}
