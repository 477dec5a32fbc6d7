// Package request writes the one request that makes a VM with its adapters and disks, so that one deletion removes them all. It
// asks nothing and remembers nothing.
package request

import (
	"encoding/base64"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/arm"
	"github.com/capwin/cluster-api-provider-windows/internal/cloud/azure/placement"
)

// Want is a VM that is to be made.
type Want struct {
	Machine   cloud.Machine
	Placement placement.Placement
	Choice    Choice
	// Accelerated says that the size has accelerated networking.
	Accelerated bool
	UserData    cloud.UserData
	Password    string
}

// MaxUserData is what Azure takes as custom data, before it is encoded.
const MaxUserData = 65535

// admin is the account that Azure demands. Its password is kept nowhere.
const admin = "capwin"

// CheckUserData refuses user data that Azure would refuse, before any call.
func CheckUserData(data cloud.UserData) error {
	if len(data) <= MaxUserData {
		return nil
	}
	return cloud.Errorf(cloud.Invalid, infrav1.BootstrapDataRefusedReason,
		"the user data have %d bytes, but Azure takes at most %d: remove files or commands from the WindowsBootstrapConfigTemplate",
		len(data), MaxUserData)
}

// VM is the body of the request. What the VM is made of has marks or names by which it is found again.
func VM(w Want) armcompute.VirtualMachine {
	vm := armcompute.VirtualMachine{
		Location: &w.Placement.Location,
		Tags:     tags(w),
		Properties: &armcompute.VirtualMachineProperties{
			HardwareProfile:    &armcompute.HardwareProfile{VMSize: new(armcompute.VirtualMachineSizeTypes(w.Choice.Size))},
			StorageProfile:     disks(w),
			OSProfile:          system(w),
			NetworkProfile:     adapters(w),
			DiagnosticsProfile: &armcompute.DiagnosticsProfile{BootDiagnostics: &armcompute.BootDiagnostics{Enabled: new(true)}},
		},
	}
	if w.Choice.Zone != "" {
		vm.Zones = []*string{&w.Choice.Zone}
	}
	return vm
}

func tags(w Want) map[string]*string {
	all := map[string]*string{}
	for name, value := range arm.Tags(w.Machine, w.Placement.Tags) {
		all[name] = &value
	}
	return all
}

// SystemDisk is the name of the disk of a VM. Disks do not always get the VM's tags, so they are known by their names.
func SystemDisk(vm string) string { return vm + "-os" }

func disks(w Want) *armcompute.StorageProfile {
	return &armcompute.StorageProfile{
		ImageReference: &armcompute.ImageReference{ID: &w.Machine.Spec.Azure.Image.ID},
		OSDisk: &armcompute.OSDisk{
			Name:         new(SystemDisk(w.Machine.Name)),
			OSType:       ptr.To(armcompute.OperatingSystemTypesWindows),
			CreateOption: ptr.To(armcompute.DiskCreateOptionTypesFromImage),
			DeleteOption: ptr.To(armcompute.DiskDeleteOptionTypesDelete),
		},
	}
}

// system is Windows' part. Windows is not updated by itself: nodes are replaced.
func system(w Want) *armcompute.OSProfile {
	return &armcompute.OSProfile{
		ComputerName:  &w.Machine.Name,
		AdminUsername: new(admin),
		AdminPassword: &w.Password,
		CustomData:    new(base64.StdEncoding.EncodeToString(w.UserData)),
		WindowsConfiguration: &armcompute.WindowsConfiguration{
			ProvisionVMAgent:       new(true),
			EnableAutomaticUpdates: new(false),
			PatchSettings:          &armcompute.PatchSettings{PatchMode: ptr.To(armcompute.WindowsVMGuestPatchModeManual)},
		},
	}
}

// adapters are part of the request for the VM: nothing is left of them if it is refused.
func adapters(w Want) *armcompute.NetworkProfile {
	profile := &armcompute.NetworkProfile{NetworkAPIVersion: ptr.To(armcompute.NetworkAPIVersionTwoThousandTwentyTwo1101)}
	for i, subnet := range w.Placement.Subnets {
		profile.NetworkInterfaceConfigurations = append(profile.NetworkInterfaceConfigurations,
			&armcompute.VirtualMachineNetworkInterfaceConfiguration{
				Name: new(adapterName(w.Machine, i)),
				Tags: tags(w),
				Properties: &armcompute.VirtualMachineNetworkInterfaceConfigurationProperties{
					Primary:                     new(i == 0),
					DeleteOption:                ptr.To(armcompute.DeleteOptionsDelete),
					EnableAcceleratedNetworking: &w.Accelerated,
					IPConfigurations: []*armcompute.VirtualMachineNetworkInterfaceIPConfiguration{
						{Name: new("first"), Properties: address(w, i == 0, subnet)},
					},
				},
			})
	}
	return profile
}

func adapterName(m cloud.Machine, i int) string {
	if named := m.Spec.Azure.NetworkInterfaces; i < len(named) {
		return m.Name + "-" + named[i].Name
	}
	return fmt.Sprint(m.Name, "-", i)
}

// address is that of an adapter. Only the first adapter joins the pool through which nodes reach the Internet.
func address(w Want, first bool, subnet string) *armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties {
	p := &armcompute.VirtualMachineNetworkInterfaceIPConfigurationProperties{
		Primary: new(true),
		Subnet:  &armcompute.SubResource{ID: &subnet},
	}
	if first && w.Placement.OutboundPool != "" {
		p.LoadBalancerBackendAddressPools = []*armcompute.SubResource{{ID: &w.Placement.OutboundPool}}
	}
	return p
}
