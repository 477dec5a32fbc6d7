package v1beta1

// AzureWindows has the settings of Windows that Azure makes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.hotpatch) || self.hotpatch == 'Disabled' || (has(self.patchMode) && self.patchMode == 'AutomaticByPlatform')",message="hotpatch needs the patchMode AutomaticByPlatform; use it, or remove hotpatch",fieldPath=".hotpatch"
type AzureWindows struct {
	// licenseType uses a license that you have, which is called Azure Hybrid
	// Benefit: Windows_Server or Windows_Client. Default: the license is part of
	// the price.
	//
	// +optional
	LicenseType AzureLicenseType `json:"licenseType,omitempty"`

	// timeZone by the name that Windows has for it, such as W. Europe Standard
	// Time for Europe/Berlin. windows.timeZone of the WindowsBootstrapConfig is
	// set later and wins. Default: UTC.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^(UTC([+-][0-9]{2})?|Russia Time Zone [0-9]{1,2}|[A-Z][A-Za-z. -]* Standard Time( [(]Mexico[)])?)$')",message="must be Windows' name of a time zone, such as W. Europe Standard Time for Europe/Berlin; tzutil /l lists them"
	TimeZone string `json:"timeZone,omitempty"`

	// patchMode is how Windows is updated: Manual, AutomaticByOS or
	// AutomaticByPlatform. Updates restart nodes without draining them, so replace
	// machines by a new image instead. Default: Manual.
	//
	// +optional
	PatchMode AzurePatchMode `json:"patchMode,omitempty"`

	// assessmentMode is what looks for missing updates: ImageDefault or
	// AutomaticByPlatform. Default: ImageDefault.
	//
	// +optional
	AssessmentMode AzureAssessmentMode `json:"assessmentMode,omitempty"`

	// hotpatch updates Windows without restarts: Enabled or Disabled. It needs an
	// Azure Edition and the patchMode AutomaticByPlatform. Default: Disabled.
	//
	// +optional
	Hotpatch AzureState `json:"hotpatch,omitempty"`
}

// AzureLicenseType is a license that the owner of the VM has.
//
// +kubebuilder:validation:Enum=Windows_Server;Windows_Client
type AzureLicenseType string

// AzurePatchMode is what updates Windows.
//
// +kubebuilder:validation:Enum=Manual;AutomaticByOS;AutomaticByPlatform
type AzurePatchMode string

// The values of AzurePatchMode.
const (
	AzurePatchManual     AzurePatchMode = "Manual"
	AzurePatchByOS       AzurePatchMode = "AutomaticByOS"
	AzurePatchByPlatform AzurePatchMode = "AutomaticByPlatform"
)

// AzureAssessmentMode is what looks for missing updates.
//
// +kubebuilder:validation:Enum=ImageDefault;AutomaticByPlatform
type AzureAssessmentMode string

// AzureBootDiagnostics is where the console's screenshot and log are.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'UserManaged') == has(self.storageURI)",message="the type UserManaged and storageURI go together; set both, or remove both"
type AzureBootDiagnostics struct {
	// type is where they are kept: Managed in Azure's own storage, UserManaged in that
	// of storageURI, or Disabled. Default: Managed.
	//
	// +optional
	Type AzureBootDiagnosticsType `json:"type,omitempty"`

	// storageURI is the address of a storage account's blobs for the type
	// UserManaged, such as https://windowsnodes.blob.core.windows.net/.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[a-z0-9]{3,24}[.]([a-z0-9-]+[.])?blob[.][a-z0-9.-]+/?$')",message="must be the address of a storage account's blobs, such as https://windowsnodes.blob.core.windows.net/"
	StorageURI string `json:"storageURI,omitempty"`
}

// AzureBootDiagnosticsType is what keeps the console's screenshot and log.
//
// +kubebuilder:validation:Enum=Managed;UserManaged;Disabled
type AzureBootDiagnosticsType string

// The values of AzureBootDiagnosticsType.
const (
	AzureBootManaged     AzureBootDiagnosticsType = "Managed"
	AzureBootUserManaged AzureBootDiagnosticsType = "UserManaged"
	AzureBootDisabled    AzureBootDiagnosticsType = "Disabled"
)
