package machine

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/controllers/phase"
)

// distinct keeps a second VM with the same MAC out of a network: pools of several subnets may give addresses that agree in
// the 18 bits which a MAC has of them. It is asked once: a machine that is held may have its VM.
func (r *Reconciler) distinct(ctx context.Context, f *facts) error {
	if len(f.networks) == 0 || controllerutil.ContainsFinalizer(f.machine, infrav1.MachineFinalizer) {
		return nil
	}
	var all infrav1.WindowsMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(f.machine.Namespace)); err != nil {
		return fmt.Errorf("list windowsmachines: %w", err)
	}
	for _, other := range all.Items {
		if network, alike := sameMAC(f.machine, f.networks, &other); alike && before(&other, f.machine) {
			return phase.Stall(infrav1.MACTakenReason,
				"%s on network %s follows from %s, and is the MAC of WindowsMachine %s too: their addresses agree in their last 18 bits; "+
					"mend the pools, then delete the Machine", network.MACAddress, network.Name, network.Addresses[0].Address, other.Name)
		}
	}
	return nil
}

// sameMAC finds an adapter that has a MAC of the other machine on the same network.
func sameMAC(m *infrav1.WindowsMachine, networks []infrav1.MachineNetwork, other *infrav1.WindowsMachine) (infrav1.MachineNetwork, bool) {
	if other.Name == m.Name || !sameDatacenter(m.Spec.VSphere, other.Spec.VSphere) {
		return infrav1.MachineNetwork{}, false
	}
	i := slices.IndexFunc(networks, func(a infrav1.MachineNetwork) bool {
		return a.MACAddress != "" && slices.ContainsFunc(other.Status.Networks, func(b infrav1.MachineNetwork) bool { return clash(a, b) })
	})
	if i < 0 {
		return infrav1.MachineNetwork{}, false
	}
	return networks[i], true
}

func clash(a, b infrav1.MachineNetwork) bool { return a.MACAddress == b.MACAddress && a.Name == b.Name }

// sameDatacenter: the credentials say what vCenter it is.
func sameDatacenter(a, b *infrav1.VSphereVM) bool {
	return a != nil && b != nil && a.CredentialsRef == b.CredentialsRef && a.Datacenter == b.Datacenter
}

// before says which of two machines keeps its MAC: one that may have its VM, or else the older one.
func before(other, m *infrav1.WindowsMachine) bool {
	held, going := controllerutil.ContainsFinalizer(other, infrav1.MachineFinalizer), !other.DeletionTimestamp.IsZero()
	return held || !going && older(other, m)
}

func older(other, m *infrav1.WindowsMachine) bool {
	a, b := other.CreationTimestamp, m.CreationTimestamp
	return a.Before(&b) || a.Equal(&b) && other.Name < m.Name
}
