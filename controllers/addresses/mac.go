package addresses

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/bootstrap"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

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
