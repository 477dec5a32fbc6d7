package v1beta1

// AzureOSDisk is the disk with Windows.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ephemeralPlacement) || !has(self.caching) || self.caching == 'ReadOnly'",message="an ephemeral disk needs caching ReadOnly; use it, or remove caching",fieldPath=".caching"
type AzureOSDisk struct {
	// sizeGiB of the disk, such as 128, not less than that of the image. Default:
	// the image's.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4095
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// type of the disk: Standard_LRS, StandardSSD_LRS, StandardSSD_ZRS,
	// Premium_LRS or Premium_ZRS. Default: Azure chooses it by the size of the VM.
	//
	// +optional
	Type AzureOSDiskType `json:"type,omitempty"`

	// caching on the host: None, ReadOnly or ReadWrite. Default: ReadWrite, and
	// ReadOnly for an ephemeral disk, which needs it.
	//
	// +optional
	Caching AzureDiskCaching `json:"caching,omitempty"`

	// diskEncryptionSetID is the resource ID of the disk encryption set with the
	// key of the disk. Default: a key of Azure's.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/diskEncryptionSets/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a disk encryption set: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/diskEncryptionSets/<name>"
	DiskEncryptionSetID string `json:"diskEncryptionSetID,omitempty"`

	// securityEncryptionType is what of a confidential VM is encrypted:
	// VMGuestStateOnly, DiskWithVMGuestState or NonPersistedTPM. Default:
	// VMGuestStateOnly for a confidential VM.
	//
	// +optional
	SecurityEncryptionType AzureSecurityEncryptionType `json:"securityEncryptionType,omitempty"`

	// ephemeralPlacement keeps the disk on the host, where it costs nothing and is
	// lost when the VM is deallocated: Cache, Resource or NVMe. The size must have
	// room there. Default: the disk is a managed one.
	//
	// +optional
	EphemeralPlacement AzureEphemeralPlacement `json:"ephemeralPlacement,omitempty"`
}

// AzureDataDisk is a disk that is made with the VM.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !(self.type in ['PremiumV2_LRS', 'UltraSSD_LRS']) || !has(self.caching) || self.caching == 'None'",message="disks of the types PremiumV2_LRS and UltraSSD_LRS have no cache; use caching None, or remove it",fieldPath=".caching"
type AzureDataDisk struct {
	// name of the disk, such as data. In Azure it is called VM-data after the VM.
	//
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must consist of lowercase letters, digits and '-', and must begin and end with a letter or digit, such as data"
	// +kubebuilder:validation:XValidation:rule="self != 'os'",message="os is the name of the disk with Windows; use another one, such as data"
	Name string `json:"name,omitempty"`

	// sizeGiB of the disk, such as 256.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// lun by which Windows finds the disk, such as 0. Set it for all disks or for
	// none. Default: the place in the list, from 0.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	LUN *int32 `json:"lun,omitempty"`

	// type of the disk: Standard_LRS, StandardSSD_LRS, StandardSSD_ZRS,
	// Premium_LRS, Premium_ZRS, PremiumV2_LRS or UltraSSD_LRS. Default: Azure
	// chooses it by the size of the VM.
	//
	// +optional
	Type AzureDataDiskType `json:"type,omitempty"`

	// caching on the host: None, ReadOnly or ReadWrite. Default: Azure's, which is
	// None for most types.
	//
	// +optional
	Caching AzureDiskCaching `json:"caching,omitempty"`

	// diskEncryptionSetID is the resource ID of the disk encryption set with the
	// key of the disk. Default: a key of Azure's.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/diskEncryptionSets/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a disk encryption set: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/diskEncryptionSets/<name>"
	DiskEncryptionSetID string `json:"diskEncryptionSetID,omitempty"`
}

// AzureOSDiskType is a type of managed disks on which Windows can be.
//
// +kubebuilder:validation:Enum=Standard_LRS;StandardSSD_LRS;StandardSSD_ZRS;Premium_LRS;Premium_ZRS
type AzureOSDiskType string

// AzureDataDiskType is a type of managed disks.
//
// +kubebuilder:validation:Enum=Standard_LRS;StandardSSD_LRS;StandardSSD_ZRS;Premium_LRS;Premium_ZRS;PremiumV2_LRS;UltraSSD_LRS
type AzureDataDiskType string

// AzureUltraSSD is the type of disks for which a VM must be prepared.
const AzureUltraSSD AzureDataDiskType = "UltraSSD_LRS"

// AzureDiskCaching is what of a disk a host keeps in its cache.
//
// +kubebuilder:validation:Enum=None;ReadOnly;ReadWrite
type AzureDiskCaching string

// The values of AzureDiskCaching.
const (
	AzureCachingNone      AzureDiskCaching = "None"
	AzureCachingReadOnly  AzureDiskCaching = "ReadOnly"
	AzureCachingReadWrite AzureDiskCaching = "ReadWrite"
)

// AzureEphemeralPlacement is a place on the host for an ephemeral disk.
//
// +kubebuilder:validation:Enum=Cache;Resource;NVMe
type AzureEphemeralPlacement string

// The values of AzureEphemeralPlacement.
const (
	AzureEphemeralCache    AzureEphemeralPlacement = "Cache"
	AzureEphemeralResource AzureEphemeralPlacement = "Resource"
	AzureEphemeralNVMe     AzureEphemeralPlacement = "NVMe"
)

// AzureSecurityEncryptionType is what of a confidential VM is encrypted.
//
// +kubebuilder:validation:Enum=VMGuestStateOnly;DiskWithVMGuestState;NonPersistedTPM
type AzureSecurityEncryptionType string

// The values of AzureSecurityEncryptionType.
const (
	AzureVMGuestStateOnly     AzureSecurityEncryptionType = "VMGuestStateOnly"
	AzureDiskWithVMGuestState AzureSecurityEncryptionType = "DiskWithVMGuestState"
	AzureNonPersistedTPM      AzureSecurityEncryptionType = "NonPersistedTPM"
)

// AzureDiskController is a protocol between a VM and its disks.
//
// +kubebuilder:validation:Enum=SCSI;NVMe
type AzureDiskController string
