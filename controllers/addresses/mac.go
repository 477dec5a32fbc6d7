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
	lacksMAC := func(n infrav1.MachineNetworkInterface) bool { return n.MACAddress == "" }
	interfaces = slices.DeleteFunc(slices.Clone(interfaces), lacksMAC)
	if len(interfaces) == 0 || controllerutil.ContainsFinalizer(windows, infrav1.MachineFinalizer) {
		return nil
	}
	if !bootstrap.Addressed(windows) {
		return phase.Wait(phase.Self, infrav1.WaitingForIPAddressReason, "the MACs of the adapters are being written to the status")
	}
	for _, adapter := range interfaces {
		var found infrav1.WindowsMachineList
		err := p.Client.List(ctx, &found, client.InNamespace(windows.Namespace), client.MatchingFields{byMAC: adapter.MACAddress})
		if err != nil {
			return fmt.Errorf("list windowsmachines: %w", err)
		}
		for _, rival := range found.Items {
			if hasMAC(&rival, windows, adapter) && keepsMAC(&rival, windows) {
				return macTaken(adapter, rival.Name)
			}
		}
	}
	return nil
}

// byMAC finds the WindowsMachines in the cache that have a MAC.
const byMAC = "status.networkInterfaces.macAddress"

func macsOf(o client.Object) (macs []string) {
	windows, _ := o.(*infrav1.WindowsMachine)
	for _, adapter := range windows.Status.NetworkInterfaces {
		if adapter.MACAddress != "" {
			macs = append(macs, adapter.MACAddress)
		}
	}
	return macs
}

func macTaken(adapter infrav1.MachineNetworkInterface, rival string) error {
	if len(adapter.Addresses) == 0 {
		return phase.Stall(infrav1.MACTakenReason,
			"MAC %s of network interface %s is made from the VM's identity, and WindowsMachine %s happens to have the same MAC "+
				"on the same network; delete the Machine to get a new one",
			adapter.MACAddress, adapter.Name, rival)
	}
	return phase.Stall(infrav1.MACTakenReason,
		"MAC %s of network interface %s is made from address %s, and WindowsMachine %s has the same MAC on the same network: "+
			"their addresses have the same last 18 bits; correct the pools, then delete the Machine",
		adapter.MACAddress, adapter.Name, adapter.Addresses[0].Address, rival)
}

// hasMAC reports whether the other machine has the MAC of this one's adapter on the same network.
func hasMAC(rival, windows *infrav1.WindowsMachine, adapter infrav1.MachineNetworkInterface) bool {
	return adapter.MACAddress != "" && rival.Name != windows.Name && sameDatacenter(rival, windows) &&
		slices.ContainsFunc(rival.Status.NetworkInterfaces, func(n infrav1.MachineNetworkInterface) bool {
			return n.MACAddress == adapter.MACAddress &&
				networkOf(rival.Spec.VSphere, n.Name) == networkOf(windows.Spec.VSphere, adapter.Name)
		})
}

func networkOf(vm *infrav1.VSphereVM, name string) string {
	for _, adapter := range vm.NetworkInterfaces {
		if adapter.Name == name {
			return adapter.Network
		}
	}
	return ""
}

// sameDatacenter takes the name of the credentials for the name of a vCenter that is not known yet.
func sameDatacenter(rival, windows *infrav1.WindowsMachine) bool {
	a, b := rival.Spec.VSphere, windows.Spec.VSphere
	if a == nil || b == nil || a.Datacenter != b.Datacenter {
		return false
	}
	server := rival.Annotations[infrav1.ServerAnnotation]
	return server == windows.Annotations[infrav1.ServerAnnotation] && server != "" ||
		server == "" && rival.Spec.IdentityRef == windows.Spec.IdentityRef
}

// keepsMAC reports whether the other of two machines keeps the MAC: it does if it may have its VM, or if it is older and stays.
func keepsMAC(rival, windows *infrav1.WindowsMachine) bool {
	mayHaveVM := controllerutil.ContainsFinalizer(rival, infrav1.MachineFinalizer)
	return mayHaveVM || rival.DeletionTimestamp.IsZero() && older(rival, windows)
}

func older(rival, windows *infrav1.WindowsMachine) bool {
	a, b := rival.CreationTimestamp, windows.CreationTimestamp
	return a.Before(&b) || a.Equal(&b) && rival.Name < windows.Name
}
