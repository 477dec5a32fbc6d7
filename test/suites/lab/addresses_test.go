package lab_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/capwin/cluster-api-provider-windows/api/bootstrap/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
	"github.com/capwin/cluster-api-provider-windows/test/kit/servers"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
	"github.com/capwin/cluster-api-provider-windows/test/suites/lab"
)

// pooledNetworks are an adapter with addresses of the IPAM provider's pool, and another one.
const pooledNetworks = `[{name: node, network: VM Network, nameservers: [203.0.113.2],
          addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]},
          {name: storage, network: DC0_DVPG0}]`

// pooledNetwork is the only adapter of a VM, with an address of the same pool, a name server and a route.
const pooledNetwork = `[{name: node, network: VM Network, nameservers: [203.0.113.2],
          routes: [{to: 198.51.100.0/24, via: 203.0.113.9}],
          addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]}]`

// pooledRoutes are those of such a VM.
var pooledRoutes = []string{"0.0.0.0/0 via 203.0.113.1", "198.51.100.0/24 via 203.0.113.9"}

// staticLines tell what adapters have that does not come by DHCP.
func staticLines(state *windows.State) []string {
	var lines []string
	for _, address := range state.Addresses {
		onNode := func(a windows.Adapter) bool { return a.Index == address.Index }
		if address.Origin != "Manual" || !slices.ContainsFunc(state.Adapters, onNode) {
			continue
		}
		var routes []string
		for _, route := range state.Routes {
			if route.Index == address.Index && !strings.HasPrefix(route.To, "10.244.") { // the CNI's own, to pods of other nodes
				routes = append(routes, route.To+" via "+route.Via)
			}
		}
		slices.Sort(routes)
		lines = append(lines, staticLine(address.Address, strings.Join(state.DNS[address.Index], ","), routes...))
	}
	return lines
}

func staticLine(address, servers string, routes ...string) string {
	return fmt.Sprintf("static %s, name servers %s, routes %s", address, servers, strings.Join(routes, ", "))
}

// startIPAM runs an IPAM provider with a pool of addresses.
func (s *story) startIPAM(ctx context.Context) {
	s.Helper()
	s.must(servers.StartIPAM(ctx, s.lab.Management, s.Output()))
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
		"metadata": map[string]any{"namespace": lab.Namespace, "name": "nodes"},
		"spec":     map[string]any{"addresses": []any{"203.0.113.10-203.0.113.20"}, "prefix": int64(24), "gateway": "203.0.113.1"},
	}}
	s.must(s.lab.Client.Create(ctx, pool))
}

// configFromMap is a config with a file from a ConfigMap.
func (s *story) configFromMap(ctx context.Context) *bootstrapv1.WindowsBootstrapConfigSpec {
	s.Helper()
	app := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "app"}, Data: map[string]string{"app.conf": "a = b"},
	}
	s.must(s.lab.Client.Create(ctx, app))
	from := bootstrapv1.ContentSource{ConfigMap: bootstrapv1.KeyReference{Name: app.Name, Key: "app.conf"}}
	return &bootstrapv1.WindowsBootstrapConfigSpec{
		Custom: bootstrapv1.Custom{Files: []bootstrapv1.CustomFile{{Path: `C:\app\app.conf`, ContentFrom: from}}},
	}
}

// staticAddresses is a pool beside other machines, whose nodes have addresses of an IPAM provider and a second adapter.
func (s *story) staticAddresses(ctx context.Context, machines int) {
	s.Helper()
	s.startIPAM(ctx)
	s.must(s.lab.Apply(ctx, lab.Pool{Name: "static", Replicas: 2, NetworkInterfaces: pooledNetworks, Config: s.configFromMap(ctx)}))
	s.await(ctx, 2+machines)
	seen := map[string]bool{}
	for _, m := range s.machines(ctx) {
		if len(m.Status.NetworkInterfaces) == 0 {
			continue
		}
		prefix, err := netip.ParsePrefix(m.Status.NetworkInterfaces[0].Addresses[0].Address)
		s.must(err)
		address := prefix.Addr().String()
		seen[address] = true
		wait.Until(s, fmt.Sprintf("machine %s to have %s", m.Name, address), func() (any, bool) {
			s.must(s.lab.Client.Get(ctx, client.ObjectKeyFromObject(&m), &m))
			return m.Status.Addresses, slices.Contains(m.Status.Addresses,
				clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address})
		})
		node := &corev1.Node{}
		s.must(s.lab.WorkloadClient.Get(ctx, client.ObjectKey{Name: m.Status.NodeName}, node))
		if got := node.Annotations["alpha.kubernetes.io/provided-node-ip"]; got != address {
			s.Errorf("the kubelet of %s was told %q and not %s", m.Name, got, address)
		}
	}
	expect.Same(s, "addresses", map[string]bool{"203.0.113.10": true, "203.0.113.11": true}, seen)
	s.must(s.lab.Remove(ctx, "static"))
	s.await(ctx, machines)
	wait.Until(s, "the addresses to go", func() (any, bool) {
		var left ipamv1.IPAddressList
		s.must(s.lab.Client.List(ctx, &left))
		return left.Items, len(left.Items) == 0
	})
}
