package cni

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/capwin/cluster-api-provider-windows/test/sim/windows"
)

// peer is another node: the range of its pods, and the address that carries their packets.
type peer struct {
	pods    netip.Prefix
	address string
}

// peersOf finds the peers among the nodes.
type peersOf func(nodes []*corev1.Node) []peer

// linuxPeers are the Linux nodes. Calico and Antrea have objects of their own for that, which say the same.
func linuxPeers(nodes []*corev1.Node) []peer {
	var all []peer
	for _, node := range nodes {
		prefix, err := podCIDR(node)
		at := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
		if err == nil && at >= 0 && node.Labels[corev1.LabelOSStable] == "linux" {
			all = append(all, peer{prefix, node.Status.Addresses[at].Address})
		}
	}
	return all
}

// follow has tell write the peers whenever they are others, until ctx ends. What fails is told and tried again.
func follow(ctx context.Context, m *windows.Machine, client kubernetes.Interface, find peersOf, tell func([]peer) error) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	synced := nodes.Informer().HasSynced
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	written := map[peer]bool{}
	for {
		all, err := nodes.Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		wanted := map[peer]bool{}
		for _, one := range find(all) {
			wanted[one] = true
		}
		if synced() && !maps.Equal(written, wanted) && tell(slices.Collect(maps.Keys(wanted))) == nil {
			written = wanted
		}
		if err := m.Clock.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// setRemoteSubnets tells a VXLAN of HNS which node has which pods.
func setRemoteSubnets(ctx context.Context, m *windows.Machine, network string, peers []peer) error {
	in, err := getNetwork(m, network)
	if err != nil {
		return err
	}
	have, err := list(m, remoteSubnets)
	if err != nil {
		return err
	}
	missing := slices.Clone(peers)
	for _, one := range have {
		if one.text("Network") != in.text("ID") {
			continue // that of a network that is gone
		}
		prefix, err := netip.ParsePrefix(one.text("DestinationPrefix"))
		if err != nil {
			return err
		}
		is := peer{prefix, one.text("ProviderAddress")}
		if slices.Contains(peers, is) {
			missing = slices.DeleteFunc(missing, func(p peer) bool { return p == is })
			continue
		}
		if err := remove(m, remoteSubnets, one); err != nil {
			return err
		}
	}
	for _, one := range missing {
		if err := m.Clock.Sleep(ctx, m.PolicyTakes); err != nil {
			return err
		}
		_, err := create(m, remoteSubnets, map[string]any{
			"Network": in.text("ID"), "DestinationPrefix": one.pods.String(), "ProviderAddress": one.address,
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// provider is the node of a pod's address, as a VXLAN of HNS knows it; "" is none.
func provider(m *windows.Machine, network item, pod netip.Addr) (string, error) {
	all, err := list(m, remoteSubnets)
	for _, one := range all {
		prefix, failed := netip.ParsePrefix(one.text("DestinationPrefix"))
		if failed == nil && one.text("Network") == network.text("ID") && prefix.Contains(pod) {
			return one.text("ProviderAddress"), err
		}
	}
	return "", err
}

// setRoutes gives the host routes to the pods of others, by the adapter that has the management address of a network. No node of
// the lab leaves, so none is removed.
func setRoutes(m *windows.Machine, network string, peers []peer) error {
	in, err := getNetwork(m, network)
	if err != nil {
		return err
	}
	index, err := indexOf(m, in.text("ManagementIP"))
	for _, one := range peers {
		if err == nil {
			err = setRoute(m, windows.Route{Index: index, To: one.pods.String(), Via: one.address})
		}
	}
	return err
}

// setRoute replaces the routes to the same destination.
func setRoute(m *windows.Machine, route windows.Route) error {
	have, err := m.NetRoutes(route.To)
	for _, one := range have {
		switch {
		case one.Index == route.Index && one.Via == route.Via:
			return err
		case err == nil:
			err = m.RemoveRoute(one.Index, one.To, one.Via)
		}
	}
	if err != nil {
		return err
	}
	return m.AddRoute(route.Index, route.To, route.Via)
}

// indexOf is the number of the interface with an address.
func indexOf(m *windows.Machine, address string) (int, error) {
	all, err := m.NetAddresses()
	for _, one := range all {
		if own, _, _ := strings.Cut(one.Address, "/"); own == address {
			return one.Index, err
		}
	}
	return 0, errors.Join(err, fmt.Errorf("failed to find interface for IP Address %s", address))
}
