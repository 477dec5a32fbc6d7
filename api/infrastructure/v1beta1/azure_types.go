package v1beta1

// AzureVM is a VM in an Azure subscription.
type AzureVM struct {
	// credentialsRef names the Secret in the machine's namespace with the identity to act as.
	//
	// +required
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`

	// subscriptionID the VM is made and paid in.
	//
	// +required
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// resourceGroup the VM is put in.
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

	// vmSize, such as Standard_D4s_v5.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	VMSize string `json:"vmSize,omitempty"`

	// imageID is the resource id of the image, or of its version in a gallery.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ImageID string `json:"imageID,omitempty"`

	// subnetID is the resource id of the subnet that the VM's adapter is in.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SubnetID string `json:"subnetID,omitempty"`
}
