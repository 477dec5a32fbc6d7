package v1beta1

// AzureVM is a VM in an Azure subscription.
type AzureVM struct {
	// credentialsRef names the Secret in the machine's namespace with the identity that manages the VM.
	//
	// +required
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`

	// subscriptionID of the subscription in which the VM is made and paid for.
	//
	// +required
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// resourceGroup in which the VM is made.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:Pattern=`^[-\w._()]*[-\w_()]$`
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// location of the VM, such as westeurope.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+$`
	Location string `json:"location,omitempty"`

	// vmSize of the VM, such as Standard_D4s_v5.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	VMSize string `json:"vmSize,omitempty"`

	// imageID is the resource ID of an image, or of an image version in a gallery.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ImageID string `json:"imageID,omitempty"`

	// subnetID is the resource ID of the subnet for the VM's adapter.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SubnetID string `json:"subnetID,omitempty"`
}
