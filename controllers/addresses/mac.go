package addresses

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// VMware reserves 00:50:56:00:00:00 to 00:50:56:3f:ff:ff for chosen MACs. Those of ten adapters with addresses end at 27:ff:ff;
// adapters without an address share the rest.
const firstIdentityMAC, identityMACs = 0x280000, 0x180000

// macOf is the MAC of the adapter behind those before it, by which the guest finds it. It follows from what a move keeps. The
// only adapter of a VM is found without one, so with DHCP it keeps the MAC that the vCenter assigns; it has none here.
func macOf(
	windows *infrav1.WindowsMachine, before []infrav1.MachineNetworkInterface, addresses []infrav1.NetworkAddress,
) string {
	i, wanted := len(before), windows.Spec.VSphere.NetworkInterfaces
	switch {
	case len(addresses) > 0:
		return macOfAddress(i, addresses)
	case len(wanted) > 1:
		return macOfIdentity(windows.Spec.ProviderID, wanted[i].Name, before)
	}
	return ""
}

// macOfAddress has i and the last 18 bits of the adapter's first IPv4 address, or of its first address if it has no IPv4
// address. So the adapters of a VM differ by i, and those in a network by their addresses. Distinct stops where they do not.
func macOfAddress(i int, addresses []infrav1.NetworkAddress) string {
	var ips []netip.Addr
	for _, address := range addresses {
		ips = append(ips, netip.MustParsePrefix(address.Address).Addr())
	}
	first := ips[max(0, slices.IndexFunc(ips, netip.Addr.Is4))].As16()
	return showMAC((i<<2|int(first[13]&3))<<16 | int(first[14])<<8 | int(first[15]))
}

// macOfIdentity is a hash of the VM's identity and the adapter's name. If an adapter before it has the same MAC, it takes the
// next one.
func macOfIdentity(providerID, name string, before []infrav1.MachineNetworkInterface) string {
	sum := sha256.Sum256([]byte(providerID + "/" + name))
	for n := int(binary.BigEndian.Uint32(sum[:])); ; n++ {
		mac := showMAC(firstIdentityMAC + n%identityMACs)
		if !slices.ContainsFunc(before, func(other infrav1.MachineNetworkInterface) bool { return other.MACAddress == mac }) {
			return mac
		}
	}
}

func showMAC(end int) string {
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", end>>16, end>>8&0xff, end&0xff)
}

// Distinct keeps a second VM with the same MAC out of a network: pools of several subnets may give addresses that agree in the
// 18 bits that go into a MAC, and hashes may agree too. It looks at what others have in their status, so that this machine's
// MACs must be in its own first. It does not check a machine with our finalizer, which may have its VM already.
func (p *Pools) Distinct(
	ctx context.Context, windows *infrav1.WindowsMachine, interfaces []infrav1.MachineNetworkInterface,
) error {
	without := func(n infrav1.MachineNetworkInterface) bool { return n.MACAddress == "" }
	interfaces = slices.DeleteFunc(slices.Clone(interfaces), without)
	if len(interfaces) == 0 || controllerutil.ContainsFinalizer(windows, infrav1.MachineFinalizer) {
		return nil
	}
	if !bootstrap.Addressed(windows) {
		return phase.Wait(phase.Self, infrav1.WaitingForIPAddressReason, "the MACs of the adapters are being written to the status")
	}
	for _, adapter := range interfaces {
		var same infrav1.WindowsMachineList
		err := p.Client.List(ctx, &same, client.InNamespace(windows.Namespace), client.MatchingFields{byMAC: adapter.MACAddress})
		if err != nil {
			return fmt.Errorf("list windowsmachines: %w", err)
		}
		for _, other := range same.Items {
			if hasMAC(&other, windows, adapter) && keepsMAC(&other, windows) {
				return macTaken(adapter, other.Name)
			}
		}
	}
	return nil
}

// byMAC finds the WindowsMachines in the cache that have a MAC.
const byMAC = "status.networkInterfaces.macAddress"

func macsOf(o client.Object) (all []string) {
	windows, _ := o.(*infrav1.WindowsMachine)
	for _, adapter := range windows.Status.NetworkInterfaces {
		if adapter.MACAddress != "" {
			all = append(all, adapter.MACAddress)
		}
	}
	return all
}

func macTaken(adapter infrav1.MachineNetworkInterface, other string) error {
	if len(adapter.Addresses) == 0 {
		return phase.Stall(infrav1.MACTakenReason,
			"MAC %s of network interface %s is made from the VM's identity, and WindowsMachine %s happens to have the same MAC "+
				"on the same network; delete the Machine to get a new one",
			adapter.MACAddress, adapter.Name, other)
	}
	return phase.Stall(infrav1.MACTakenReason,
		"MAC %s of network interface %s is made from address %s, and WindowsMachine %s has the same MAC on the same network: "+
			"their addresses have the same last 18 bits; correct the pools, then delete the Machine",
		adapter.MACAddress, adapter.Name, adapter.Addresses[0].Address, other)
}

// hasMAC says whether the other machine has the MAC of this one's adapter on the same network.
func hasMAC(other, windows *infrav1.WindowsMachine, adapter infrav1.MachineNetworkInterface) bool {
	return adapter.MACAddress != "" && other.Name != windows.Name && sameDatacenter(other, windows) &&
		slices.ContainsFunc(other.Status.NetworkInterfaces, func(n infrav1.MachineNetworkInterface) bool {
			return n.MACAddress == adapter.MACAddress &&
				networkOf(other.Spec.VSphere, n.Name) == networkOf(windows.Spec.VSphere, adapter.Name)
		})
}

func networkOf(vm *infrav1.VSphereVM, name string) string {
	for _, one := range vm.NetworkInterfaces {
		if one.Name == name {
			return one.Network
		}
	}
	return ""
}

// sameDatacenter takes the name of the credentials for the name of a vCenter that is not known yet.
func sameDatacenter(other, windows *infrav1.WindowsMachine) bool {
	a, b := other.Spec.VSphere, windows.Spec.VSphere
	if a == nil || b == nil || a.Datacenter != b.Datacenter {
		return false
	}
	server := other.Annotations[infrav1.ServerAnnotation]
	return server == windows.Annotations[infrav1.ServerAnnotation] && server != "" ||
		server == "" && other.Spec.IdentityRef == windows.Spec.IdentityRef
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
