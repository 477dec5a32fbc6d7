package v1beta1

// AzureVM is a VM in an Azure subscription.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fallbackVMSizes) || !has(self.vmSize) || !(self.vmSize in self.fallbackVMSizes)",message="fallbackVMSizes has the size of vmSize, which is tried first; remove it here",fieldPath=".fallbackVMSizes"
// +kubebuilder:validation:XValidation:rule="!has(self.spot) || !(has(self.spot.maxPrice) || has(self.spot.evictionPolicy)) || (has(self.priority) && self.priority == 'Spot')",message="maxPrice and evictionPolicy are only for a Spot VM; set priority Spot, or remove them",fieldPath=".spot"
// +kubebuilder:validation:XValidation:rule="!has(self.osDisk) || !has(self.osDisk.ephemeralPlacement) || !has(self.spot) || !has(self.spot.evictionPolicy) || self.spot.evictionPolicy == 'Delete'",message="a VM with an ephemeral OS disk cannot be deallocated; use evictionPolicy Delete",fieldPath=".spot.evictionPolicy"
// +kubebuilder:validation:XValidation:rule="!(has(self.priority) && self.priority == 'Spot') || !(has(self.capacityReservationGroupID) || has(self.hostGroupID) || has(self.hostID))",message="a Spot VM cannot use a capacity reservation or a dedicated host; use priority Regular, or remove capacityReservationGroupID, hostGroupID and hostID",fieldPath=".priority"
// +kubebuilder:validation:XValidation:rule="!has(self.capacityReservationGroupID) || !(has(self.proximityPlacementGroupID) || has(self.hostGroupID) || has(self.hostID))",message="a VM with reserved capacity cannot be in a proximity placement group or on a dedicated host; remove the one or the other",fieldPath=".capacityReservationGroupID"
// +kubebuilder:validation:XValidation:rule="!has(self.hostGroupID) || !has(self.hostID)",message="set hostGroupID or hostID, not both",fieldPath=".hostID"
// +kubebuilder:validation:XValidation:rule="!has(self.ultraSSD) || self.ultraSSD == 'Enabled' || !has(self.dataDisks) || !self.dataDisks.exists(d, has(d.type) && d.type == 'UltraSSD_LRS')",message="a data disk has the type UltraSSD_LRS; use ultraSSD Enabled, or another type",fieldPath=".ultraSSD"
// +kubebuilder:validation:XValidation:rule="!has(self.osDisk) || !has(self.osDisk.securityEncryptionType) || (has(self.securityProfile) && has(self.securityProfile.securityType) && self.securityProfile.securityType == 'ConfidentialVM')",message="securityEncryptionType is only for a confidential VM; set securityProfile.securityType ConfidentialVM, or remove it",fieldPath=".osDisk.securityEncryptionType"
// +kubebuilder:validation:XValidation:rule="!has(self.osDisk) || !has(self.osDisk.securityEncryptionType) || self.osDisk.securityEncryptionType != 'DiskWithVMGuestState' || !has(self.securityProfile) || !(has(self.securityProfile.encryptionAtHost) && self.securityProfile.encryptionAtHost == 'Enabled' || has(self.securityProfile.secureBoot) && self.securityProfile.secureBoot == 'Disabled')",message="DiskWithVMGuestState needs secureBoot and excludes encryptionAtHost; remove both from securityProfile",fieldPath=".osDisk.securityEncryptionType"
type AzureVM struct {
	// subscriptionID is the ID of the subscription in which the VM is made and
	// paid for, such as 11111111-2222-3333-4444-555555555555. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",message="must be the ID of a subscription, such as 11111111-2222-3333-4444-555555555555"
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// resourceGroup is the name of the resource group in which the VM is made,
	// such as windows-nodes. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-a-zA-Z0-9_.()]*[-a-zA-Z0-9_()]$')",message="must be the name of a resource group: letters, digits, '-', '_', '.', '(' and ')', not ending with '.', such as windows-nodes"
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// location in which the VM is made, by its short name, such as westeurope.
	// Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+$')",message="must be the name of a location in lowercase and without blanks, such as westeurope"
	Location string `json:"location,omitempty"`

	// zones in which the VM may be, such as ["1", "2"]. The next one is tried only
	// when Azure has no room in the one before. A failureDomain of the Machine
	// goes before them. Default: Azure chooses a place. Immutable.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=1
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[1-9]$')",message="must be the number of a zone in quotes, such as \"1\""
	Zones []string `json:"zones,omitempty"`

	// vmSize is the size of the VM, such as Standard_D4s_v5. Immutable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$')",message="must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5"
	VMSize string `json:"vmSize,omitempty"`

	// fallbackVMSizes are tried in this order, such as [Standard_D4as_v5], when
	// Azure has no room or no quota for vmSize in any of the zones. Default: none.
	// Immutable.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$')",message="must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5"
	FallbackVMSizes []string `json:"fallbackVMSizes,omitempty"`

	// image from which the VM is made: Windows with cloudbase-init, containerd and
	// the Kubernetes version of the Machine, as image-builder makes it. A template
	// may leave it to a patch of a ClusterClass, but a machine needs it.
	// Immutable.
	//
	// +optional
	// +kubebuilder:default={}
	Image AzureImage `json:"image,omitempty,omitzero"`

	// osDisk has the settings of the disk with Windows. Default: the size of the
	// image, and Azure's type and caching. Immutable.
	//
	// +optional
	OSDisk AzureOSDisk `json:"osDisk,omitempty,omitzero"`

	// dataDisks are more disks, empty at first and removed with the VM, such as
	// {name: data, sizeGiB: 256}. Default: none. Immutable.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(d, has(d.lun)) || !self.exists(d, has(d.lun))",message="set lun for all disks or for none"
	// +kubebuilder:validation:XValidation:rule="[self.filter(d, has(d.lun)).map(d, d.lun)].all(luns, luns.all(lun, luns.indexOf(lun) == luns.lastIndexOf(lun)))",message="two disks have the same lun; each needs its own, such as 0 and 1"
	DataDisks []AzureDataDisk `json:"dataDisks,omitempty"`

	// diskController through which the VM has its disks: SCSI or NVMe. The size
	// and the image must support it. Default: Azure chooses it by size and image.
	// Immutable.
	//
	// +optional
	DiskController AzureDiskController `json:"diskController,omitempty"`

	// ultraSSD lets the VM have disks of the type UltraSSD_LRS, also those that a
	// CSI driver attaches: Enabled or Disabled. Default: Enabled if a data disk
	// has this type. Immutable.
	//
	// +optional
	UltraSSD AzureState `json:"ultraSSD,omitempty"`

	// networkInterfaces are the VM's network adapters, each with a name of its
	// own, such as {name: node}. The first is the VM's primary adapter and the
	// node's: the Node has its addresses, and pods use it. Immutable.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	NetworkInterfaces []AzureNetworkInterface `json:"networkInterfaces,omitempty"`

	// priority of the VM: Regular or Spot. Azure may evict a Spot VM at any time;
	// then the Machine must be replaced. Default: Regular. Immutable.
	//
	// +optional
	Priority AzurePriority `json:"priority,omitempty"`

	// spot has the settings of a VM with the priority Spot. Immutable.
	//
	// +optional
	Spot AzureSpot `json:"spot,omitempty,omitzero"`

	// securityProfile protects the VM from its boot chain and from its host.
	// Default: Azure's for the image and the size. Immutable.
	//
	// +optional
	SecurityProfile AzureSecurityProfile `json:"securityProfile,omitempty,omitzero"`

	// identities are the managed identities that programs on the node can use,
	// such as credential providers. They have no part in managing the VM, and get
	// no roles from the controller. Default: none. Immutable.
	//
	// +optional
	Identities AzureIdentities `json:"identities,omitempty,omitzero"`

	// capacityReservationGroupID is the resource ID of the group whose reserved
	// capacity the VM uses. Default: none. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/capacityReservationGroups/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a capacity reservation group: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/capacityReservationGroups/<name>"
	CapacityReservationGroupID string `json:"capacityReservationGroupID,omitempty"`

	// hostGroupID is the resource ID of a group of dedicated hosts, of which Azure
	// chooses one. Default: none. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/hostGroups/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a host group: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/hostGroups/<name>"
	HostGroupID string `json:"hostGroupID,omitempty"`

	// hostID is the resource ID of the dedicated host for the VM. Default: none.
	// Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/hostGroups/[-a-z0-9._]{1,80}/hosts/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a host: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/hostGroups/<name>/hosts/<name>"
	HostID string `json:"hostID,omitempty"`

	// proximityPlacementGroupID is the resource ID of the group whose VMs Azure
	// places close to each other. Default: none. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/proximityPlacementGroups/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a proximity placement group: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/proximityPlacementGroups/<name>"
	ProximityPlacementGroupID string `json:"proximityPlacementGroupID,omitempty"`

	// scaleSetID is the resource ID of a scale set with flexible orchestration,
	// which the VM joins, so that Azure spreads its VMs over fault domains.
	// Default: none. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Compute/virtualMachineScaleSets/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a scale set: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/virtualMachineScaleSets/<name>"
	ScaleSetID string `json:"scaleSetID,omitempty"`

	// bootDiagnostics is where Azure keeps the screenshot and the log of the VM's
	// console. Default: {type: Managed}. Immutable.
	//
	// +optional
	BootDiagnostics AzureBootDiagnostics `json:"bootDiagnostics,omitempty,omitzero"`

	// additionalTags of the VM and its adapters, such as {team: blue}. They go
	// before those of the AzureCluster. Azure allows 50 tags, of which the
	// controller needs 5. Default: none. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=45
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.size() <= 512 && name.matches('^[^<>%&?/\\\\x5c]+$'))",message="the name of a tag must have at most 512 characters, none of them < > % & \\ ? /; use a name such as team"
	// +kubebuilder:validation:XValidation:rule="!self.exists(name, name.matches('(?i)^(microsoft|azure|windows|capwin-)'))",message="the names of tags that begin with microsoft, azure, windows or capwin- are reserved; use another name, such as team"
	AdditionalTags map[string]AzureTagValue `json:"additionalTags,omitempty"`

	// extensionOperations allows or forbids extensions of the VM: Enabled or Disabled.
	// Azure's policies and agents need them. Default: Enabled. Immutable.
	//
	// +optional
	ExtensionOperations AzureState `json:"extensionOperations,omitempty"`

	// windows has the settings of Windows that Azure makes. Immutable.
	//
	// +optional
	Windows AzureWindows `json:"windows,omitempty,omitzero"`
}

// ResourceGroupLabel of a Node is the resource group of its VM. Azure's cloud controller manager looks there, and not where the
// providerID points (cloud-provider-azure 7b31c76, pkg/consts/consts.go, ExternalResourceGroupLabel; pkg/provider/azure.go,
// GetNodeResourceGroup). It compares groups without their case.
const ResourceGroupLabel = "kubernetes.azure.com/resource-group"

// AzureState is whether something is on.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type AzureState string

// The values of AzureState.
const (
	AzureEnabled  AzureState = "Enabled"
	AzureDisabled AzureState = "Disabled"
)

// AzureTagValue is the value of a tag. It may be empty.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\x00-\\\\x1f]')",message="must not have control characters, such as the end of a line"
type AzureTagValue string
