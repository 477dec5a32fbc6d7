package request

import (
	"cmp"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	infrav1 "github.com/capwin/cluster-api-provider-windows/api/infrastructure/v1beta1"
)

// SystemDisk is the name of the disk of a VM. Disks do not always get the VM's tags, so they are known by their names.
func SystemDisk(vm string) string { return vm + "-os" }

// DataDisk is the name of another disk of a VM.
func DataDisk(vm, name string) string { return vm + "-" + name }

func disks(w Want) *armcompute.StorageProfile {
	spec := w.Machine.Spec.Azure
	profile := &armcompute.StorageProfile{
		ImageReference:     Image(w),
		OSDisk:             systemDisk(w.Machine.Name, spec),
		DiskControllerType: optional(armcompute.DiskControllerTypes(spec.DiskController)),
	}
	for i, wanted := range spec.DataDisks {
		profile.DataDisks = append(profile.DataDisks, dataDisk(w.Machine.Name, wanted, int32(i)))
	}
	return profile
}

func dataDisk(vm string, wanted infrav1.AzureDataDisk, lun int32) *armcompute.DataDisk {
	return &armcompute.DataDisk{
		Name:         new(DataDisk(vm, wanted.Name)),
		Lun:          cmp.Or(wanted.LUN, &lun),
		CreateOption: new(armcompute.DiskCreateOptionTypesEmpty),
		DeleteOption: new(armcompute.DiskDeleteOptionTypesDelete),
		DiskSizeGB:   &wanted.SizeGiB,
		Caching:      optional(armcompute.CachingTypes(wanted.Caching)),
		ManagedDisk:  managed(string(wanted.Type), wanted.DiskEncryptionSetID),
	}
}

func systemDisk(vm string, spec *infrav1.AzureVM) *armcompute.OSDisk {
	wanted := spec.OSDisk
	disk := &armcompute.OSDisk{
		Name:         new(SystemDisk(vm)),
		OSType:       new(armcompute.OperatingSystemTypesWindows),
		CreateOption: new(armcompute.DiskCreateOptionTypesFromImage),
		DeleteOption: new(armcompute.DiskDeleteOptionTypesDelete),
		DiskSizeGB:   optional(wanted.SizeGiB),
		Caching:      optional(armcompute.CachingTypes(wanted.Caching)),
		ManagedDisk:  managed(string(wanted.Type), wanted.DiskEncryptionSetID),
	}
	if spec.SecurityProfile.SecurityType == infrav1.AzureConfidentialVM {
		disk.ManagedDisk = confidential(wanted)
	}
	if wanted.EphemeralPlacement != "" {
		disk.Caching = new(armcompute.CachingTypesReadOnly) // which Azure demands of it
		disk.DiffDiskSettings = &armcompute.DiffDiskSettings{
			Option: new(armcompute.DiffDiskOptionsLocal), Placement: new(ephemeralPlacements[wanted.EphemeralPlacement]),
		}
	}
	return disk
}

var ephemeralPlacements = map[infrav1.AzureEphemeralPlacement]armcompute.DiffDiskPlacement{
	infrav1.AzureEphemeralCache:    armcompute.DiffDiskPlacementCacheDisk,
	infrav1.AzureEphemeralResource: armcompute.DiffDiskPlacementResourceDisk,
	infrav1.AzureEphemeralNVMe:     armcompute.DiffDiskPlacementNvmeDisk,
}

func managed(kind, encryptionSet string) *armcompute.ManagedDiskParameters {
	if kind == "" && encryptionSet == "" {
		return nil
	}
	return &armcompute.ManagedDiskParameters{
		StorageAccountType: optional(armcompute.StorageAccountTypes(kind)), DiskEncryptionSet: encryption(encryptionSet),
	}
}

// confidential is the disk of a confidential VM. If the guest encrypts the disk, the key is for that.
func confidential(wanted infrav1.AzureOSDisk) *armcompute.ManagedDiskParameters {
	kind := cmp.Or(wanted.SecurityEncryptionType, infrav1.AzureVMGuestStateOnly)
	disk := &armcompute.ManagedDiskParameters{
		StorageAccountType: optional(armcompute.StorageAccountTypes(wanted.Type)),
		SecurityProfile:    &armcompute.VMDiskSecurityProfile{SecurityEncryptionType: new(armcompute.SecurityEncryptionTypes(kind))},
	}
	if kind == infrav1.AzureDiskWithVMGuestState {
		disk.SecurityProfile.DiskEncryptionSet = encryption(wanted.DiskEncryptionSetID)
		return disk
	}
	disk.DiskEncryptionSet = encryption(wanted.DiskEncryptionSetID)
	return disk
}

func encryption(set string) *armcompute.DiskEncryptionSetParameters {
	if set == "" {
		return nil
	}
	return &armcompute.DiskEncryptionSetParameters{ID: &set}
}

// capabilities prepare the VM for disks of the type UltraSSD_LRS.
func capabilities(spec *infrav1.AzureVM) *armcompute.AdditionalCapabilities {
	ultra := enabled(spec.UltraSSD)
	if slices.ContainsFunc(spec.DataDisks, isUltra) { // the API server refuses Disabled beside such a disk
		ultra = new(true)
	}
	if ultra == nil {
		return nil
	}
	return &armcompute.AdditionalCapabilities{UltraSSDEnabled: ultra}
}

func isUltra(disk infrav1.AzureDataDisk) bool { return disk.Type == infrav1.AzureUltraSSD }
