package linuxvm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path"

	"github.com/vmware/govmomi/find"
	govmomi "github.com/vmware/govmomi/object"
	sessions "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// errNoVM says that a VSphereVM has none in the vCenter.
var errNoVM = errors.New("there is no VM")

func ignore(err, one error) error {
	if errors.Is(err, one) {
		return nil
	}
	return err
}

// account in a vCenter, as a VSphereCluster or a VSphereVM has it.
type account struct {
	server, thumbprint string
	user               *url.Userinfo
}

func accountOf(o *object, login *corev1.Secret) account {
	return account{
		server: o.text("spec", "server"), thumbprint: o.text("spec", "thumbprint"),
		user: url.UserPassword(string(login.Data["username"]), string(login.Data["password"])),
	}
}

// session is a login to both APIs of a vCenter (pkg/session).
type session struct {
	client *vim25.Client
	soap   *sessions.Manager
	rest   *rest.Client
	*find.Finder
}

// try whether the vCenter lets the account in.
func (a account) try(ctx context.Context) error {
	s, err := a.logIn(ctx, "")
	if err == nil {
		s.leave(ctx)
	}
	return err
}

func (a account) logIn(ctx context.Context, datacenter string) (*session, error) {
	connection := soap.NewClient(&url.URL{Scheme: "https", Host: a.server, Path: vim25.Path}, a.thumbprint == "")
	connection.SetThumbprint(a.server, a.thumbprint)
	client, err := vim25.NewClient(ctx, connection)
	if err != nil {
		return nil, fmt.Errorf("failed to create vCenter session: %w", err)
	}
	s := &session{
		client: client, soap: sessions.NewManager(client), rest: rest.NewClient(client), Finder: find.NewFinder(client, false),
	}
	if err := s.soap.Login(ctx, a.user); err != nil {
		return nil, fmt.Errorf("failed to create client: failed to login: %w", err)
	}
	if err := s.rest.Login(ctx, a.user); err != nil {
		return nil, errors.Join(fmt.Errorf("failed to create tags manager: failed to login REST client: %w", err), s.soap.Logout(ctx))
	}
	if datacenter == "" {
		return s, nil
	}
	dc, err := s.Datacenter(ctx, datacenter)
	if err != nil {
		s.leave(ctx)
		return nil, fmt.Errorf("failed to find datacenter %q: %w", datacenter, err)
	}
	s.SetDatacenter(dc)
	return s, nil
}

func (s *session) leave(ctx context.Context) {
	_, _ = s.rest.Logout(ctx), s.soap.Logout(ctx) // which end by themselves, too
}

// findVM looks by the UUID of the BIOS, then by that of the VSphereVM, and then by the name in the folder (findVM in
// pkg/services/govmomi/util.go).
func (s *session) findVM(ctx context.Context, o *object) (*govmomi.VirtualMachine, error) {
	index := govmomi.NewSearchIndex(s.client)
	if bios := o.text("spec", "biosUUID"); bios != "" {
		return s.foundVM(index.FindByUuid(ctx, nil, bios, true, new(false)))
	}
	vm, err := s.foundVM(index.FindByUuid(ctx, nil, string(o.GetUID()), true, new(true)))
	if !errors.Is(err, errNoVM) {
		return vm, err
	}
	folder, err := s.FolderOrDefault(ctx, o.text("spec", "folder"))
	if err != nil {
		return nil, err
	}
	vm, err = s.VirtualMachine(ctx, path.Join(folder.InventoryPath, o.GetName()))
	if _, ok := errors.AsType[*find.NotFoundError](err); ok {
		return nil, errNoVM
	}
	return vm, err
}

func (s *session) foundVM(ref govmomi.Reference, err error) (*govmomi.VirtualMachine, error) {
	if err == nil && ref == nil {
		err = errNoVM
	}
	if err != nil {
		return nil, err
	}
	return govmomi.NewVirtualMachine(s.client, ref.Reference()), nil
}

// clone makes the VM, switched off (pkg/services/govmomi/vcenter/clone.go).
func (s *session) clone(ctx context.Context, o *object, userData []byte) (*govmomi.VirtualMachine, error) {
	template, err := s.VirtualMachine(ctx, o.text("spec", "template"))
	if err != nil {
		return nil, fmt.Errorf("unable to find template by name %q: %w", o.text("spec", "template"), err)
	}
	folder, err := s.FolderOrDefault(ctx, o.text("spec", "folder"))
	if err != nil {
		return nil, fmt.Errorf("unable to get folder for %q: %w", o.GetName(), err)
	}
	spec, err := s.cloneSpec(ctx, o, template)
	if err != nil {
		return nil, err
	}
	spec.Config.ExtraConfig = guestinfo("userdata", userData)
	spec.Location.Folder = new(folder.Reference())
	task, err := template.Clone(ctx, folder, o.GetName(), spec)
	if err != nil {
		return nil, fmt.Errorf("error trigging clone op for machine %s: %w", o.GetName(), err)
	}
	made, err := task.WaitForResult(ctx)
	if err != nil {
		return nil, err
	}
	ref, _ := made.Result.(types.ManagedObjectReference)
	return govmomi.NewVirtualMachine(s.client, ref), nil
}

// cloneSpec has the places, each looked up as the Finder does, and the sizes. From a template with a snapshot it is a linked
// clone, whose disk stays as it is.
func (s *session) cloneSpec(
	ctx context.Context, o *object, template *govmomi.VirtualMachine,
) (spec types.VirtualMachineCloneSpec, err error) {
	pool, err := s.ResourcePoolOrDefault(ctx, o.text("spec", "resourcePool"))
	if err != nil {
		return spec, fmt.Errorf("unable to get resource pool for %q: %w", o.GetName(), err)
	}
	datastore, err := s.DatastoreOrDefault(ctx, o.text("spec", "datastore"))
	if err != nil {
		return spec, fmt.Errorf("unable to get datastore %s for %q: %w", o.text("spec", "datastore"), o.GetName(), err)
	}
	var source mo.VirtualMachine
	if err := template.Properties(ctx, template.Reference(), []string{"snapshot", "config.hardware.device"}, &source); err != nil {
		return spec, fmt.Errorf("error getting devices for %q: %w", o.GetName(), err)
	}
	spec.Location.Pool, spec.Location.Datastore = new(pool.Reference()), new(datastore.Reference())
	spec.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate)
	spec.Config = &types.VirtualMachineConfigSpec{
		InstanceUuid: string(o.GetUID()), Flags: &types.VirtualMachineFlagInfo{DiskUuidEnabled: new(true)},
		VAppConfigRemoved: new(true),
		NumCPUs:           int32(min(max(2, o.number("spec", "numCPUs")), math.MaxInt32)), MemoryMB: o.number("spec", "memoryMiB"),
	}
	if spec.Config.MemoryMB == 0 {
		spec.Config.MemoryMB = 2048
	}
	devices := govmomi.VirtualDeviceList(source.Config.Hardware.Device)
	if source.Snapshot != nil {
		spec.Snapshot = source.Snapshot.CurrentSnapshot
		spec.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	} else if spec.Config.DeviceChange, err = resized(devices, o.number("spec", "diskGiB")<<20); err != nil {
		return spec, fmt.Errorf("error getting disk spec for %q: %w", o.GetName(), err)
	}
	adapters, err := s.adapters(ctx, o, devices)
	spec.Config.DeviceChange = append(spec.Config.DeviceChange, adapters...)
	return spec, err
}

// resized is the change of the first disk; none where no size is asked for (getDiskConfigSpec).
func resized(devices govmomi.VirtualDeviceList, wantKiB int64) ([]types.BaseVirtualDeviceConfigSpec, error) {
	disks := devices.SelectByType((*types.VirtualDisk)(nil))
	if len(disks) == 0 {
		return nil, errors.New("Invalid disk count: 0") //nolint:staticcheck // because these are the words of the provider
	}
	disk, _ := disks[0].(*types.VirtualDisk)
	if wantKiB > 0 && wantKiB < disk.CapacityInKB {
		return nil, fmt.Errorf("can't resize template disk down, initial capacity is larger: %dKiB > %dKiB", disk.CapacityInKB, wantKiB)
	}
	if wantKiB > 0 {
		disk.CapacityInKB = wantKiB
	}
	return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk,
	}}, nil
}

// adapters of the template go, and those of the machine come (getNetworkSpecs).
func (s *session) adapters(
	ctx context.Context, o *object, devices govmomi.VirtualDeviceList,
) (changes []types.BaseVirtualDeviceConfigSpec, err error) {
	for _, old := range devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: old})
	}
	wanted, _, _ := unstructured.NestedSlice(o.Object, "spec", "network", "devices")
	for i, one := range wanted {
		fields, _ := one.(map[string]any)
		name, _ := fields["networkName"].(string)
		network, err := s.Network(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("unable to find network %q: %w", name, err)
		}
		backing, err := network.EthernetCardBackingInfo(ctx)
		if err != nil {
			return nil, err
		}
		card, err := govmomi.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
		if err != nil {
			return nil, err
		}
		card.GetVirtualDevice().Key = int32(-100 - i)
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card})
	}
	return changes, nil
}

// guestinfo is a value for cloud-init (pkg/services/govmomi/extra).
func guestinfo(key string, value []byte) []types.BaseOptionValue {
	return []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo." + key, Value: base64.StdEncoding.EncodeToString(value)},
		&types.OptionValue{Key: "guestinfo." + key + ".encoding", Value: "base64"},
	}
}

// start gives the VM its metadata, which have the MACs, and switches it on. It returns the UUID of the BIOS, and what VMware
// Tools show of the network.
func (s *session) start(
	ctx context.Context, o *object, vm *govmomi.VirtualMachine,
) (bios string, network, addresses []any, err error) {
	var is mo.VirtualMachine
	err = vm.Properties(ctx, vm.Reference(), []string{"config.uuid", "runtime.powerState", "guest.net"}, &is)
	if err != nil {
		return "", nil, nil, err
	}
	if is.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return "", nil, nil, s.boot(ctx, o, vm)
	}
	for _, card := range is.Guest.Net {
		shown := []any{}
		for _, ip := range card.IpAddress {
			if address, err := netip.ParseAddr(ip); err == nil && address.IsGlobalUnicast() {
				shown = append(shown, ip)
			}
		}
		network = append(network, map[string]any{
			"connected": card.Connected, "ipAddrs": shown, "macAddr": card.MacAddress, "networkName": card.Network,
		})
		addresses = append(addresses, shown...)
	}
	return is.Config.Uuid, network, addresses, nil
}

func (s *session) boot(ctx context.Context, o *object, vm *govmomi.VirtualMachine) error {
	metadata := fmt.Appendf(nil, "instance-id: %q\nlocal-hostname: %q\nwait-on-network:\n  ipv4: true\n  ipv6: false\n",
		o.GetName(), o.GetName())
	task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: guestinfo("metadata", metadata)})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("unable to set metadata on vm %s: %w", o.GetName(), err)
	}
	if task, err = vm.PowerOn(ctx); err != nil {
		return err
	}
	return task.Wait(ctx)
}

// destroy switches the VM off and removes it (DestroyVM). The error is errNoVM once it is gone.
func (s *session) destroy(ctx context.Context, o *object) error {
	vm, err := s.findVM(ctx, o)
	if err != nil {
		return err
	}
	state, err := vm.PowerState(ctx)
	if err != nil {
		return err
	}
	act := vm.Destroy
	if state == types.VirtualMachinePowerStatePoweredOn {
		act = vm.PowerOff
	}
	task, err := act(ctx)
	if err != nil {
		return err
	}
	return task.Wait(ctx)
}
