package request

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/vsphere/places"
)

// AdapterChanges puts the template's adapters on the networks of the spec, in order, adds the adapters that it lacks, and
// removes those that are too many. Those in known have the MACs that they must get.
func AdapterChanges(placement places.Placement, nics []infrav1.MachineNetworkInterface) []types.BaseVirtualDeviceConfigSpec {
	if len(placement.Networks) == 0 {
		return unpluggedChanges(placement.Adapters)
	}
	return networkChanges(placement, nics)
}

func networkChanges(placement places.Placement, nics []infrav1.MachineNetworkInterface) []types.BaseVirtualDeviceConfigSpec {
	var changes []types.BaseVirtualDeviceConfigSpec
	change := func(operation types.VirtualDeviceConfigSpecOperation, device types.BaseVirtualDevice) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: operation, Device: device})
	}
	// A single adapter with DHCP is not listed.
	nics = slices.Concat(nics, make([]infrav1.MachineNetworkInterface, len(placement.Networks)))
	for i, network := range placement.Networks {
		if i < len(placement.Adapters) {
			change(types.VirtualDeviceConfigSpecOperationEdit, connected(placement.Adapters[i], network, nics[i].MACAddress))
			continue
		}
		added := &types.VirtualVmxnet3{}
		added.Key = int32(-1 - i)
		change(types.VirtualDeviceConfigSpecOperationAdd, connected(added, network, nics[i].MACAddress))
	}
	for i := len(placement.Networks); i < len(placement.Adapters); i++ {
		change(types.VirtualDeviceConfigSpecOperationRemove, placement.Adapters[i])
	}
	return changes
}

// unpluggedChanges has those of the template's adapters start connected that would not: image builders leave them so, and the VM
// would be cut off. They also get a MAC and a port of their own, and keep everything else.
func unpluggedChanges(adapters []places.Adapter) (changes []types.BaseVirtualDeviceConfigSpec) {
	for _, adapter := range adapters {
		card := adapter.GetVirtualEthernetCard()
		if c := card.Connectable; c == nil || c.StartConnected {
			continue
		}
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: connected(adapter, anyPort(card.Backing), ""),
		})
	}
	return changes
}

// anyPort is the same network without the template's port in it.
func anyPort(backing types.BaseVirtualDeviceBackingInfo) types.BaseVirtualDeviceBackingInfo {
	ofSwitch, ok := backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
	if !ok || ofSwitch.Port.PortgroupKey == "" {
		return backing
	}
	free := *ofSwitch
	free.Port = types.DistributedVirtualSwitchPortConnection{
		SwitchUuid: ofSwitch.Port.SwitchUuid, PortgroupKey: ofSwitch.Port.PortgroupKey,
	}
	return &free
}

// connected is a copy of an adapter, as machines share the template's. It has a network and a MAC, and is plugged in, which the
// template's need not be. Without a MAC the vCenter assigns one, because two VMs must not share the template's, and the vCenter
// does not assign one to an adapter with a manual address.
func connected(adapter places.Adapter, network types.BaseVirtualDeviceBackingInfo, mac string) places.Adapter {
	const manual, assigned = string(types.VirtualEthernetCardMacTypeManual), string(types.VirtualEthernetCardMacTypeAssigned)
	copied := reflect.New(reflect.TypeOf(adapter).Elem())
	copied.Elem().Set(reflect.ValueOf(adapter).Elem())
	adapter, _ = reflect.TypeAssert[places.Adapter](copied)
	card := adapter.GetVirtualEthernetCard()
	card.Backing, card.MacAddress = network, mac
	card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, Connected: true, AllowGuestControl: true}
	switch {
	case mac != "":
		card.AddressType = manual
	case card.AddressType == manual:
		card.AddressType = assigned
	}
	return adapter
}
