package conflicts

import (
	"net/netip"
	"strings"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/cmd/clusterctl-windows/objects"
)

// ipam is the group of the pools of Cluster API's own IPAM provider.
const ipam = "ipam.cluster.x-k8s.io"

// ipPool is what matters of such a pool.
type ipPool struct {
	Spec struct {
		Addresses []string
		Prefix    int
		Gateway   string
	}
}

// pools are those of addresses to which the adapters refer.
func (s Subject) pools() (notes []string) {
	if s.Windows.Spec.VSphere == nil {
		return nil
	}
	for _, adapter := range s.Windows.Spec.VSphere.NetworkInterfaces {
		for _, ref := range adapter.AddressesFromPools {
			notes = append(notes, s.pool(adapter.Name, ref)...)
		}
	}
	return notes
}

func (s Subject) pool(adapter string, ref infrav1.IPPoolReference) []string {
	isIPAMs := ref.Kind == "InClusterIPPool" || ref.Kind == "GlobalInClusterIPPool"
	if isIPAMs && ref.APIGroup != ipam {
		return note("network interface %s: addressesFromPools has the apiGroup %q, but a %s is of %s; write that", adapter,
			ref.APIGroup, ref.Kind, ipam)
	}
	var names []string
	for _, object := range s.Files.Items {
		if object.Kind != ref.Kind || object.Version.Group != ref.APIGroup {
			continue
		}
		if object.Key.Name == ref.Name && (object.Key.Namespace == s.Owner.Namespace || ref.Kind == "GlobalInClusterIPPool") {
			if isIPAMs {
				return gatewayOutside(object)
			}
			return nil
		}
		names = append(names, object.Key.Name)
	}
	if meant := objects.Nearest(ref.Name, names); meant != "" {
		return note("network interface %s takes its address from %s %s, which is not in %s; did you mean %s, which is there?", adapter,
			ref.Kind, ref.Name, s.Files.Source, meant)
	}
	return nil
}

// gatewayOutside compares the gateway of a pool with its addresses.
func gatewayOutside(object objects.Object) []string {
	pool := read[ipPool](object).Spec
	gateway, err := netip.ParseAddr(pool.Gateway)
	if err != nil || len(pool.Addresses) == 0 {
		return nil
	}
	first, _, _ := strings.Cut(pool.Addresses[0], "-")
	first, _, _ = strings.Cut(first, "/")
	address, err := netip.ParseAddr(strings.TrimSpace(first))
	if err != nil {
		return nil
	}
	network, err := address.Prefix(pool.Prefix)
	if err != nil || network.Contains(gateway) || gateway.IsLinkLocalUnicast() {
		return nil
	}
	return note("%s: spec.gateway is %s, which is outside of %s, the network of its addresses with spec.prefix %d: Windows "+
		"reaches nothing through it. Correct the one or the other", object, gateway, network, pool.Prefix)
}
