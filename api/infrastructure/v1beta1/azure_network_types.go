package v1beta1

// AzureNetworkInterface is one network adapter of the VM.
//
// +kubebuilder:validation:XValidation:rule="!has(self.privateAddress) || !has(self.publicIP) || self.publicIP == 'Disabled'",message="an adapter with privateAddress cannot have a public IP; remove the one or the other",fieldPath=".publicIP"
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

	// subnet of a virtual network in which the adapter is. Default: the
	// AzureCluster's first subnet with the role node, else cluster.
	//
	// +optional
	Subnet AzureSubnet `json:"subnet,omitempty,omitzero"`

	// acceleratedNetworking gives the VM a direct way to the host's network card:
	// Enabled or Disabled. Default: Enabled if the size has it.
	//
	// +optional
	AcceleratedNetworking AzureState `json:"acceleratedNetworking,omitempty"`

	// ipForwarding lets the adapter send and get packets of other addresses, such
	// as those of pods in l2bridge networks: Enabled or Disabled. Policies of the
	// subscription may forbid it. Default: Disabled.
	//
	// +optional
	IPForwarding AzureState `json:"ipForwarding,omitempty"`

	// secondaryAddresses is the number of addresses besides the adapter's own,
	// such as 30. Azure CNI needs one for each pod. Default: 0.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	SecondaryAddresses int32 `json:"secondaryAddresses,omitempty"`

	// privateAddress is the adapter's own address, such as 10.1.0.5. Only one VM
	// can have it, so use it for a pool of one machine. Default: Azure gives the
	// adapter a free one.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",message="must be an IPv4 address, such as 10.1.0.5"
	PrivateAddress string `json:"privateAddress,omitempty"`

	// publicIP gives the adapter an address in the Internet, which is removed with
	// the VM: Enabled or Disabled. Default: Disabled.
	//
	// +optional
	PublicIP AzureState `json:"publicIP,omitempty"`

	// dnsServers of the adapter, such as 10.0.0.2, in this order. Default: those
	// of the virtual network.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=39
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.0.2"
	DNSServers []string `json:"dnsServers,omitempty"`

	// networkSecurityGroupID is the resource ID of a network security group for
	// this adapter. Default: none; that of the subnet holds in any case.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Network/networkSecurityGroups/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a network security group: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Network/networkSecurityGroups/<name>"
	NetworkSecurityGroupID string `json:"networkSecurityGroupID,omitempty"`

	// applicationSecurityGroupIDs are the resource IDs of the application security
	// groups that the adapter joins. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Network/applicationSecurityGroups/[-a-z0-9._]{1,80}$')",message="must be the resource ID of an application security group: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Network/applicationSecurityGroups/<name>"
	ApplicationSecurityGroupIDs []string `json:"applicationSecurityGroupIDs,omitempty"`

	// loadBalancerPoolIDs are the resource IDs of backend pools that the adapter
	// joins. The first adapter also joins the AzureCluster's outbound pool, unless
	// the subnet has a NAT gateway or the adapter a public IP. Default: none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]{1,90}/providers/Microsoft[.]Network/loadBalancers/[-a-z0-9._]{1,80}/backendAddressPools/[-a-z0-9._]{1,80}$')",message="must be the resource ID of a backend pool: /subscriptions/<UUID>/resourceGroups/<name>/providers/Microsoft.Network/loadBalancers/<name>/backendAddressPools/<name>"
	LoadBalancerPoolIDs []string `json:"loadBalancerPoolIDs,omitempty"`
}

// AzureSubnet is a subnet of a virtual network: by its ID, or by its name in
// the virtual network of the AzureCluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !has(self.name)",message="set id or name, not both"
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

	// name of the subnet in the virtual network of the AzureCluster, such as
	// nodes.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="must be the name of a subnet: letters, digits, '-', '_' and '.', such as nodes"
	Name string `json:"name,omitempty"`
}
