package v1beta1

// AzureSecurityProfile protects the VM.
//
// +kubebuilder:validation:XValidation:rule="has(self.securityType) || !(has(self.secureBoot) || has(self.vTPM))",message="secureBoot and vTPM need securityType; set it to TrustedLaunch or ConfidentialVM, or remove them",fieldPath=".securityType"
// +kubebuilder:validation:XValidation:rule="!has(self.securityType) || self.securityType != 'ConfidentialVM' || !has(self.vTPM) || self.vTPM == 'Enabled'",message="a confidential VM needs a virtual TPM; use vTPM Enabled, or remove it",fieldPath=".vTPM"
type AzureSecurityProfile struct {
	// securityType of the VM: TrustedLaunch or ConfidentialVM. Size and image must
	// support it. Default: neither.
	//
	// +optional
	SecurityType AzureSecurityType `json:"securityType,omitempty"`

	// secureBoot refuses boot loaders and drivers without a signature: Enabled or
	// Disabled. It needs securityType. Default: Enabled.
	//
	// +optional
	SecureBoot AzureState `json:"secureBoot,omitempty"`

	// vTPM gives the VM a virtual TPM: Enabled or Disabled. It needs securityType.
	// Default: Enabled.
	//
	// +optional
	VTPM AzureState `json:"vTPM,omitempty"`

	// encryptionAtHost encrypts caches and temporary disks on the host: Enabled or
	// Disabled. Default: Disabled.
	//
	// +optional
	EncryptionAtHost AzureState `json:"encryptionAtHost,omitempty"`
}

// AzureSecurityType is a kind of protection.
//
// +kubebuilder:validation:Enum=TrustedLaunch;ConfidentialVM
type AzureSecurityType string

// The values of AzureSecurityType.
const (
	AzureTrustedLaunch  AzureSecurityType = "TrustedLaunch"
	AzureConfidentialVM AzureSecurityType = "ConfidentialVM"
)

// AzureIdentities are the managed identities of the VM.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'UserAssigned') == (has(self.userAssigned) && size(self.userAssigned) > 0)",message="the type UserAssigned and a list userAssigned go together; set both, or remove both"
type AzureIdentities struct {
	// type of the VM's identities: None, UserAssigned or SystemAssigned. Default:
	// None.
	//
	// +optional
	Type AzureIdentitiesType `json:"type,omitempty"`

	// userAssigned are the resource IDs of identities for the type UserAssigned.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]ManagedIdentity/userAssignedIdentities/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a managed identity: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.ManagedIdentity/userAssignedIdentities/<name>"
	UserAssigned []string `json:"userAssigned,omitempty"`
}

// AzureIdentitiesType is which identities a VM has.
//
// +kubebuilder:validation:Enum=None;UserAssigned;SystemAssigned
type AzureIdentitiesType string

// The values of AzureIdentitiesType.
const (
	AzureIdentitiesNone           AzureIdentitiesType = "None"
	AzureIdentitiesUserAssigned   AzureIdentitiesType = "UserAssigned"
	AzureIdentitiesSystemAssigned AzureIdentitiesType = "SystemAssigned"
)

// AzurePriority is whether Azure may evict the VM.
//
// +kubebuilder:validation:Enum=Regular;Spot
type AzurePriority string

// The values of AzurePriority.
const (
	AzureRegular      AzurePriority = "Regular"
	AzurePrioritySpot AzurePriority = "Spot"
)

// AzureSpot has the settings of a VM that Azure may evict.
type AzureSpot struct {
	// maxPrice per hour in US dollars at which the VM is evicted, such as "0.25".
	// Default: the price of a regular VM.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,6}([.][0-9]{1,5})?$') && self.matches('[1-9]')",message="must be a price in US dollars with at most five decimals, above 0 and in quotes, such as \"0.25\""
	MaxPrice string `json:"maxPrice,omitempty"`

	// evictionPolicy is what an eviction does: Delete removes the VM and its disks,
	// Deallocate keeps the disks, which cost money. Default: Delete.
	//
	// +optional
	EvictionPolicy AzureEvictionPolicy `json:"evictionPolicy,omitempty"`
}

// AzureEvictionPolicy is what an eviction does to a VM.
//
// +kubebuilder:validation:Enum=Delete;Deallocate
type AzureEvictionPolicy string

// The values of AzureEvictionPolicy.
const (
	AzureEvictionDelete     AzureEvictionPolicy = "Delete"
	AzureEvictionDeallocate AzureEvictionPolicy = "Deallocate"
)
