package addresses

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// macOf is the MAC of adapter number i: 00:50:56:00:00:00 to 00:50:56:3f:ff:ff, the range that VMware reserves for chosen MACs,
// plus i and the last 18 bits of the adapter's first IPv4 address, or of its first address if it has no IPv4 address. So the
// adapters of a VM differ by i, and those in a network by their addresses. Distinct stops where they do not.
func macOf(i int, addresses []infrav1.NetworkAddress) string {
	var ips []netip.Addr
	for _, address := range addresses {
		ips = append(ips, netip.MustParsePrefix(address.Address).Addr())
	}
	first := ips[max(0, slices.IndexFunc(ips, netip.Addr.Is4))].As16()
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", i<<2|int(first[13]&3), first[14], first[15])
}

// Distinct keeps a second VM with the same MAC out of a network: pools of several subnets may give addresses that agree in the
// 18 bits that go into a MAC. It does not check a machine with our finalizer, which may have its VM already.
func (p *Pools) Distinct(ctx context.Context, windows *infrav1.WindowsMachine, networks []infrav1.MachineNetwork) error {
	if len(networks) == 0 || controllerutil.ContainsFinalizer(windows, infrav1.MachineFinalizer) {
		return nil
	}
	var all infrav1.WindowsMachineList
	if err := p.Client.List(ctx, &all, client.InNamespace(windows.Namespace)); err != nil {
		return fmt.Errorf("list windowsmachines: %w", err)
	}
	for _, other := range all.Items {
		i := slices.IndexFunc(networks, func(n infrav1.MachineNetwork) bool { return hasMAC(&other, windows, n) })
		if i >= 0 && keepsMAC(&other, windows) {
			return phase.Stall(infrav1.MACTakenReason,
				"MAC %s on network %s is made from address %s, and WindowsMachine %s has the same MAC: "+
					"their addresses have the same last 18 bits; correct the pools, then delete the Machine",
				networks[i].MACAddress, networks[i].Name, networks[i].Addresses[0].Address, other.Name)
		}
	}
	return nil
}

// hasMAC says whether the other machine has the MAC of this one's adapter on the same network.
func hasMAC(other, windows *infrav1.WindowsMachine, adapter infrav1.MachineNetwork) bool {
	return adapter.MACAddress != "" && other.Name != windows.Name && sameDatacenter(other, windows) &&
		slices.ContainsFunc(other.Status.Networks, func(n infrav1.MachineNetwork) bool {
			return n.MACAddress == adapter.MACAddress && n.Name == adapter.Name
		})
}

// sameDatacenter takes the name of the credentials for the name of a vCenter that is not known yet.
func sameDatacenter(other, windows *infrav1.WindowsMachine) bool {
	a, b := other.Spec.VSphere, windows.Spec.VSphere
	if a == nil || b == nil || a.Datacenter != b.Datacenter {
		return false
	}
	server := other.Annotations[infrav1.ServerAnnotation]
	return server == windows.Annotations[infrav1.ServerAnnotation] && server != "" || server == "" && a.IdentityRef == b.IdentityRef
}

// keepsMAC says whether the other of two machines keeps the MAC: it does if it may have its VM, or if it is older and stays.
func keepsMAC(other, windows *infrav1.WindowsMachine) bool {
	mayHaveVM := controllerutil.ContainsFinalizer(other, infrav1.MachineFinalizer)
	return mayHaveVM || other.DeletionTimestamp.IsZero() && older(other, windows)
}

func older(other, windows *infrav1.WindowsMachine) bool {
	a, b := other.CreationTimestamp, windows.CreationTimestamp
	return a.Before(&b) || a.Equal(&b) && other.Name < windows.Name
}
