package vsphere

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/test/kit/wait"
)

// TestNetworkInterfaces: the VM's adapters are where the spec says, in its order, with the MACs that the guest looks for.
func TestNetworkInterfaces(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	spec := v.spec()
	spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{
		{Name: "node", Network: "DC0_DVPG0"},
		{Name: "storage", Network: "VM Network"},
		{Name: "backup", Network: "/DC0/network/DC0_DVPG0"},
	}
	const mac = "00:50:56:04:00:%d%d"
	a := v.account()
	for i, name := range []string{"m", "n"} { // both of one placement
		m := v.machine(name)
		m.Spec = spec
		for j := range spec.VSphere.NetworkInterfaces {
			m.NetworkInterfaces = append(m.NetworkInterfaces, infrav1.MachineNetworkInterface{MACAddress: fmt.Sprintf(mac, i, j)})
		}
		running(t, a, m)
		devices, err := v.VM(m.Name).Device(t.Context())
		v.Must(err)
		var got []string
		for _, d := range devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
			card := d.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
			got = append(got, fmt.Sprintf("%T %s", card.Backing, card.MacAddress))
		}
		want := []string{
			"*types.VirtualEthernetCardDistributedVirtualPortBackingInfo " + fmt.Sprintf(mac, i, 0),
			"*types.VirtualEthernetCardNetworkBackingInfo " + fmt.Sprintf(mac, i, 1),
			"*types.VirtualEthernetCardDistributedVirtualPortBackingInfo " + fmt.Sprintf(mac, i, 2),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("adapters of VM %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReservedMAC: the vCenter of our tests refuses a MAC that a real one refuses, so that no test passes with one.
func TestReservedMAC(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	m := v.machine("m")
	m.Spec.VSphere.NetworkInterfaces = []infrav1.VSphereNetworkInterface{{Name: "node", Network: "VM Network"}}
	m.NetworkInterfaces = []infrav1.MachineNetworkInterface{{MACAddress: "00:50:56:40:00:00"}}
	a := v.account()
	wait.Until(t, "the VM to be refused", func() (any, bool) {
		vm, err := a.Ensure(t.Context(), m)
		return []any{vm, err}, err != nil && strings.Contains(err.Error(), "conflicts with VMware reserved MACs")
	})
}
