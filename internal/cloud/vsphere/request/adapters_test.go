package request

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
	"github.com/capwin/cluster-api-provider-windows/test/kit/expect"
)

func TestAdapterChanges(t *testing.T) {
	const ofTemplate, edited = "00:50:56:aa:00:01", "edit 4000 *types.VirtualVmxnet3 a assigned "
	network := func(name string) types.BaseVirtualDeviceBackingInfo {
		return &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: name},
		}
	}
	networks := func(names ...string) (all []types.BaseVirtualDeviceBackingInfo) {
		for _, name := range names {
			all = append(all, network(name))
		}
		return all
	}
	for name, c := range map[string]struct {
		template int // adapters, the second of another kind and with a MAC that a person chose
		networks []types.BaseVirtualDeviceBackingInfo
		known    []infrav1.MachineNetworkInterface
		want     []string
	}{
		"the template's own": {2, nil, nil, []string{
			"edit 4000 *types.VirtualVmxnet3 template assigned ", "edit 4001 *types.VirtualE1000e template assigned ",
		}},
		"one":                   {1, networks("a"), nil, []string{edited}},
		"another is added":      {1, networks("a", "b"), nil, []string{edited, "add -2 *types.VirtualVmxnet3 b  "}},
		"the template has none": {0, networks("a"), nil, []string{"add -1 *types.VirtualVmxnet3 a  "}},
		"the template has more": {
			2, networks("a"), nil, []string{edited, "remove 4001 *types.VirtualE1000e template manual " + ofTemplate},
		},
		"kinds are the template": {2, networks("a", "b"), nil, []string{edited, "edit 4001 *types.VirtualE1000e b assigned "}},
		"addresses are known": {
			1, networks("a", "b", "c"),
			[]infrav1.MachineNetworkInterface{{MACAddress: "00:50:56:00:00:05"}, {}, {MACAddress: "00:50:56:08:00:05"}},
			[]string{
				"edit 4000 *types.VirtualVmxnet3 a manual 00:50:56:00:00:05", "add -2 *types.VirtualVmxnet3 b  ",
				"add -3 *types.VirtualVmxnet3 c manual 00:50:56:08:00:05",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := places.Placement{Networks: c.networks}
			for i := range c.template {
				var device places.Adapter = &types.VirtualVmxnet3{}
				addressType := "assigned"
				if i == 1 {
					device, addressType = &types.VirtualE1000e{}, "manual"
				}
				card := device.GetVirtualEthernetCard()
				card.Key, card.Backing, card.AddressType, card.MacAddress = int32(4000+i), network("template"), addressType, ofTemplate
				card.Connectable = &types.VirtualDeviceConnectInfo{}
				at.Adapters = append(at.Adapters, device)
			}
			var got []string
			for _, change := range AdapterChanges(at, c.known) {
				spec := change.GetVirtualDeviceConfigSpec()
				card := spec.Device.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
				backing := card.Backing.(*types.VirtualEthernetCardNetworkBackingInfo)
				got = append(got, fmt.Sprintf("%s %d %T %s %s %s",
					spec.Operation, card.Key, spec.Device, backing.DeviceName, card.AddressType, card.MacAddress))
				if stays := spec.Operation != "remove"; card.Connectable.StartConnected != stays {
					t.Errorf("%s: is it connected at power on: %t", got[len(got)-1], !stays)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i, adapter := range at.Adapters { // which other machines get, too
				card := adapter.GetVirtualEthernetCard()
				expect.Same(t, "the template's MAC and key", []any{ofTemplate, int32(4000 + i)}, []any{card.MacAddress, card.Key})
				expect.Same(t, "the template's adapter starts connected", false, card.Connectable.StartConnected)
			}
		})
	}
}

// TestUnplugged: a template whose adapter does not start connected would make a node that nothing can reach.
func TestUnplugged(t *testing.T) {
	t.Parallel()
	backing := &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{
		SwitchUuid: "switch", PortgroupKey: "group", PortKey: "8", ConnectionCookie: 5,
	}}
	unplugged, plugged, untold := &types.VirtualVmxnet3{}, &types.VirtualVmxnet3{}, &types.VirtualVmxnet3{}
	unplugged.Connectable = &types.VirtualDeviceConnectInfo{AllowGuestControl: true}
	plugged.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true}
	unplugged.Backing, plugged.Backing = backing, backing
	changes := AdapterChanges(places.Placement{Adapters: []places.Adapter{plugged, untold, unplugged}}, nil)
	if len(changes) != 1 {
		t.Fatalf("changes %+v, want that the one that is not plugged in will be", changes)
	}
	plug, _ := changes[0].GetVirtualDeviceConfigSpec().Device.(*types.VirtualVmxnet3)
	all := types.VirtualDeviceConnectInfo{StartConnected: true, Connected: true, AllowGuestControl: true}
	if *plug.Connectable != all {
		t.Errorf("it is connected as %+v", plug.Connectable)
	}
	wants, _ := plug.Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
	if (types.DistributedVirtualSwitchPortConnection{SwitchUuid: "switch", PortgroupKey: "group"}) != wants.Port {
		t.Errorf("the VM wants port %+v", wants.Port)
	}
	if backing.Port.PortKey != "8" || unplugged.Connectable.StartConnected {
		t.Error("what is known of the template was changed")
	}
}

// TestPortOfItsOwn: a port without a group has no other one that is as good.
func TestPortOfItsOwn(t *testing.T) {
	t.Parallel()
	lone := &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{
		SwitchUuid: "switch", PortKey: "8",
	}}
	if got := anyPort(lone); got != types.BaseVirtualDeviceBackingInfo(lone) {
		t.Errorf("the VM wants %+v", got)
	}
}
