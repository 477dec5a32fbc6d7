// Package hypervisor plays the hosts of the simulated vCenter: it tells of VMs that are switched on and off, and shows a guest
// the VM that it runs in.
package hypervisor

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/capwin/cluster-api-provider-windows/test/sim/guest"
	"github.com/capwin/cluster-api-provider-windows/test/sim/vcenter"
)

// Play is what happens while a VM is on: it runs from power-on until ctx ends, which is power-off.
type Play func(ctx context.Context, vm *VM)

// Run plays every VM that is on, until ctx ends.
func Run(ctx context.Context, v *vcenter.VCenter, play Play) error {
	client, err := v.Hypervisor(ctx)
	if err != nil {
		return err
	}
	h := &hypervisor{vcenter: v, client: client, play: play, on: map[types.ManagedObjectReference]context.CancelFunc{}}
	defer h.guests.Wait()
	return vcenter.WatchVMs(ctx, client, []string{"runtime.powerState"}, func(update types.ObjectUpdate) error {
		return h.see(ctx, update)
	})
}

type hypervisor struct {
	vcenter *vcenter.VCenter
	client  *vim25.Client
	play    Play
	guests  sync.WaitGroup
	on      map[types.ManagedObjectReference]context.CancelFunc
}

// see starts or stops the guest of a VM. Updates may come twice, and an older one behind a newer one: the simulator (v0.56.0)
// tells what a VM is now, and then what it has become before. So an update only says where to look.
func (h *hypervisor) see(ctx context.Context, update types.ObjectUpdate) error {
	stop, isOn := h.on[update.Obj]
	if powersOn(update) == isOn {
		return nil
	}
	on, err := h.isOn(ctx, update.Obj)
	if err != nil {
		return err
	}
	switch {
	case on && !isOn:
		guest, stop := context.WithCancel(ctx)
		h.on[update.Obj] = stop
		vm := &VM{vcenter: h.vcenter, object: object.NewVirtualMachine(h.client, update.Obj)}
		h.guests.Go(func() { h.play(guest, vm) })
	case isOn && !on:
		stop()
		delete(h.on, update.Obj)
	}
	return nil
}

// isOn asks the vCenter. A VM that is gone is off.
func (h *hypervisor) isOn(ctx context.Context, ref types.ManagedObjectReference) (bool, error) {
	var vm mo.VirtualMachine
	err := property.DefaultCollector(h.client).RetrieveOne(ctx, ref, []string{"runtime.powerState"}, &vm)
	if fault.Is(err, &types.ManagedObjectNotFound{}) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read power state: %w", err)
	}
	return vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn, nil
}

func powersOn(update types.ObjectUpdate) bool {
	if update.Kind == types.ObjectUpdateKindLeave {
		return false
	}
	for _, change := range update.ChangeSet {
		if change.Name == "runtime.powerState" {
			return change.Val == types.VirtualMachinePowerStatePoweredOn
		}
	}
	return false
}

var _ guest.VM = (*VM)(nil)

// VM is what a guest can see and do of the VM it runs in.
type VM struct {
	vcenter *vcenter.VCenter
	object  *object.VirtualMachine
}

// Name of the VM in the vCenter. A guest does not see it.
func (m *VM) Name(ctx context.Context) (string, error) {
	name, err := m.object.ObjectName(ctx)
	if err != nil {
		return "", fmt.Errorf("read name of VM: %w", err)
	}
	return name, nil
}

// Reference of the VM in the vCenter.
func (m *VM) Reference() types.ManagedObjectReference { return m.object.Reference() }

// Hardware is what firmware tells.
func (m *VM) Hardware(ctx context.Context) (guest.Hardware, error) {
	var vm mo.VirtualMachine
	if err := m.object.Properties(ctx, m.object.Reference(), []string{"config"}, &vm); err != nil {
		return guest.Hardware{}, fmt.Errorf("read VM: %w", err)
	}
	var macs []string
	for _, card := range cards(vm.Config.Hardware.Device) {
		macs = append(macs, card.MacAddress)
	}
	return guest.Hardware{
		UUID: vm.Config.Uuid, CPUs: int(vm.Config.Hardware.NumCPU), MemoryMiB: int64(vm.Config.Hardware.MemoryMB), MACs: macs,
	}, nil
}

// cards are the adapters of a VM.
func cards(devices []types.BaseVirtualDevice) (all []*types.VirtualEthernetCard) {
	for _, device := range devices {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			all = append(all, card.GetVirtualEthernetCard())
		}
	}
	return all
}

// Guestinfo is what `rpctool info-get guestinfo.KEY` prints in the guest.
func (m *VM) Guestinfo(ctx context.Context, key string) (string, bool, error) {
	var vm mo.VirtualMachine
	if err := m.object.Properties(ctx, m.object.Reference(), []string{"config.extraConfig"}, &vm); err != nil {
		return "", false, fmt.Errorf("read guestinfo: %w", err)
	}
	value, found := object.OptionValueList(vm.Config.ExtraConfig).GetString(key)
	return value, found, nil
}

// SetGuestinfo is what `rpctool info-set guestinfo.KEY VALUE` does in the guest.
func (m *VM) SetGuestinfo(ctx context.Context, key, value string) error {
	return m.reconfigure(ctx, &types.OptionValue{Key: key, Value: value})
}

// SetNetwork is what VMware Tools report: the guest's name and its adapters. The host adds which card of the VM each is, by its
// MAC: a vEthernet has that of the adapter below its vSwitch. Those that are no card of the VM have no number.
func (m *VM) SetNetwork(ctx context.Context, hostname string, adapters []guest.Adapter) error {
	var vm mo.VirtualMachine
	if err := m.object.Properties(ctx, m.object.Reference(), []string{"config.hardware.device"}, &vm); err != nil {
		return fmt.Errorf("read cards of VM: %w", err)
	}
	reported := []types.GuestNicInfo{} // not nil: it says that there are none
	for _, adapter := range adapters {
		nic := types.GuestNicInfo{MacAddress: adapter.MAC, IpAddress: adapter.Addresses, Connected: true, DeviceConfigId: -1}
		for _, card := range cards(vm.Config.Hardware.Device) {
			if strings.EqualFold(card.MacAddress, adapter.MAC) {
				nic.Network, nic.DeviceConfigId = networkOf(card), card.Key
			}
		}
		reported = append(reported, nic)
	}
	m.vcenter.ReportGuest(m.object.Reference(), hostname, reported)
	return nil
}

// networkOf a card is the name of a standard network. Those of others are not known to the card.
func networkOf(card *types.VirtualEthernetCard) string {
	if backing, ok := card.Backing.(*types.VirtualEthernetCardNetworkBackingInfo); ok {
		return backing.DeviceName
	}
	return ""
}

func (m *VM) reconfigure(ctx context.Context, options ...types.BaseOptionValue) error {
	task, err := m.object.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: options})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("write guestinfo: %w", err)
	}
	return nil
}
