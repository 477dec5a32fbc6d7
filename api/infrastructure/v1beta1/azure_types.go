package v1beta1

// AzureVM is a VM in an Azure subscription.
type AzureVM struct {
	// identityRef names the identity that manages the VM. A new identity must have the same tenant and subscription. Mutable.
	//
	// +optional
	IdentityRef IdentityReference `json:"identityRef,omitempty,omitzero"`

	// subscriptionID is the subscription in which the VM is made and paid for, such as
	// 11111111-2222-3333-4444-555555555555. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",message="must be the ID of a subscription, such as 11111111-2222-3333-4444-555555555555"
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// resourceGroup is the name of the resource group in which the VM is made, such as windows-nodes. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-a-zA-Z0-9_.()]*[-a-zA-Z0-9_()]$')",message="must be the name of a resource group: letters, digits, '-', '_', '.', '(' and ')', not ending with '.', such as windows-nodes"
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// location of the VM, such as westeurope. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+$')",message="must be the name of a location in lowercase and without blanks, such as westeurope"
	Location string `json:"location,omitempty"`

	// vmSize is the size of the VM, such as Standard_D4s_v5. Immutable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$')",message="must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5"
	VMSize string `json:"vmSize,omitempty"`

	// image from which the VM is made: Windows with cloudbase-init, containerd and the Kubernetes programs, as image-builder
	// makes it. A template may leave it to a patch of a ClusterClass, but a machine needs it. Immutable.
	//
	// +optional
	Image AzureImage `json:"image,omitempty,omitzero"`

	// subnetID is the resource ID of the subnet for the VM's adapter. Immutable.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SubnetID string `json:"subnetID,omitempty"`
}

// AzureImage is an image with Windows, containerd and the Kubernetes programs.
type AzureImage struct {
	// id is the resource ID of an image, or of an image version in a gallery, such as
	// /subscriptions/SUBSCRIPTION/resourceGroups/GROUP/providers/Microsoft.Compute/galleries/GALLERY/images/IMAGE/versions/1.0.0.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(?i)/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9_.()]*[-a-z0-9_()]/providers/Microsoft[.]Compute/(images/[-a-z0-9_.]+|galleries/[a-z0-9_.]+/images/[-a-z0-9_.]+(/versions/[a-z0-9.]+)?)$')",message="must be the resource ID of an image, such as /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/images/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.0.0"
	ID string `json:"id,omitempty"`

	// setup is the program in the image that sets Windows up at the VM's first start: CloudbaseInit, which runs the user data
	// of a WindowsBootstrapConfig. Default: CloudbaseInit.
	//
	// +optional
	Setup ImageSetup `json:"setup,omitempty"`
}
