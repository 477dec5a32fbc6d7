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

	// networkInterfaces are the VM's network adapters. The first one is the VM's primary adapter and the node's: its address
	// is the Node's, and pods use it. Immutable.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	NetworkInterfaces []AzureNetworkInterface `json:"networkInterfaces,omitempty"`
}

// AzureNetworkInterface is one network adapter of the VM.
type AzureNetworkInterface struct {
	// name of the network adapter, such as node. Windows shows the first adapter under this name too, unless the CNI is
	// Calico or not known: see docs/networks.md.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must consist of lowercase letters, digits and '-', and must begin and end with a letter or digit, such as node"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]+|nat|loopback|(ethernet|veth|br|cali|flannel|docker|antrea)([-a-z0-9]*[a-z0-9])?)$')",message="must not be a number, nat or loopback, and must not begin with ethernet, veth, br, cali, flannel, docker or antrea: Windows, CNIs and VMware Tools use such names themselves; use a name such as node"
	Name string `json:"name,omitempty"`

	// subnet of the virtual network that the adapter is in.
	//
	// +optional
	Subnet AzureSubnet `json:"subnet,omitempty,omitzero"`
}

// AzureSubnet is a subnet of a virtual network.
type AzureSubnet struct {
	// id is the resource ID of the subnet, as `az network vnet subnet show` prints it: /subscriptions/<UUID>/resourceGroups/
	// <name>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<name>.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Network/virtualNetworks/[-a-z0-9._]{1,80}/subnets/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a subnet: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<name>"
	ID string `json:"id,omitempty"`
}
