package v1beta1

// AzureVM is a VM in an Azure subscription.
type AzureVM struct {
	// identityRef names the identity with which the VM is managed. A new one must
	// have the same tenant and subscription. Mutable.
	//
	// +optional
	IdentityRef IdentityReference `json:"identityRef,omitempty,omitzero"`

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

	// vmSize is the size of the VM, such as Standard_D4s_v5. Immutable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?$')",message="must be the name of a VM size: letters, digits, '-' and '_', such as Standard_D4s_v5"
	VMSize string `json:"vmSize,omitempty"`

	// image from which the VM is made: Windows with cloudbase-init, containerd and
	// the Kubernetes version of the Machine, as image-builder makes it. A template
	// may leave it to a patch of a ClusterClass, but a machine needs it.
	// Immutable.
	//
	// +optional
	Image AzureImage `json:"image,omitempty,omitzero"`

	// networkInterfaces are the VM's network adapters, each with a name of its
	// own, such as {name: node}. The first is the VM's primary adapter and the
	// node's: the Node has its addresses, and pods use it. Immutable.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	NetworkInterfaces []AzureNetworkInterface `json:"networkInterfaces,omitempty"`
}

// AzureNetworkInterface is one network adapter of the VM.
type AzureNetworkInterface struct {
	// name of the adapter, such as node. Windows shows the first adapter by this
	// name, too, if network.cni of the WindowsBootstrapConfig is set, but not to
	// Calico.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must consist of lowercase letters, digits and '-', and must begin and end with a letter or digit, such as node"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]+|nat|loopback|(ethernet|veth|br|cali|flannel|docker|antrea)([-a-z0-9]*[a-z0-9])?)$')",message="must not be a number, nat or loopback, and must not begin with ethernet, veth, br, cali, flannel, docker or antrea: Windows, CNIs and VMware Tools use such names themselves; use a name such as node"
	Name string `json:"name,omitempty"`

	// subnet of a virtual network in which the adapter is.
	//
	// +optional
	Subnet AzureSubnet `json:"subnet,omitempty,omitzero"`
}

// AzureSubnet is a subnet of a virtual network.
type AzureSubnet struct {
	// id is the resource ID of the subnet:
	// /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<name>.
	// `az network vnet subnet show --query id` prints it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Network/virtualNetworks/[-a-z0-9._]{1,80}/subnets/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a subnet: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<name>"
	ID string `json:"id,omitempty"`
}

// AzureImage is an image with Windows, containerd and the Kubernetes programs.
type AzureImage struct {
	// id is the resource ID of an image, or of an image or image version in a
	// gallery, such as
	// /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Compute/galleries/<name>/images/<name>/versions/1.0.0.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(?i)/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9_.()]*[-a-z0-9_()]/providers/Microsoft[.]Compute/(images/[-a-z0-9_.]+|galleries/[a-z0-9_.]+/images/[-a-z0-9_.]+(/versions/[a-z0-9.]+)?)$')",message="must be the resource ID of an image, such as /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/images/providers/Microsoft.Compute/galleries/windows/images/ws2022/versions/1.0.0"
	ID string `json:"id,omitempty"`

	// setup is the program in the image that runs the user data at the VM's first
	// start. Only CloudbaseInit is known, which runs that of a
	// WindowsBootstrapConfig. Default: CloudbaseInit.
	//
	// +optional
	Setup ImageSetup `json:"setup,omitempty"`
}
