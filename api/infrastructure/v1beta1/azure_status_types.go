package v1beta1

// AzureCloud is one of Azure's clouds.
//
// +kubebuilder:validation:Enum=AzurePublicCloud;AzureUSGovernmentCloud;AzureChinaCloud
type AzureCloud string

// The clouds of Azure, by the names that Azure's own tools use.
const (
	AzurePublicCloud       AzureCloud = "AzurePublicCloud"
	AzureUSGovernmentCloud AzureCloud = "AzureUSGovernmentCloud"
	AzureChinaCloud        AzureCloud = "AzureChinaCloud"
)

// AzurePlacement says where in Azure a VM is. A node that has C:\k\azure.json
// got it from here.
type AzurePlacement struct {
	// cloud that the subscription is in: AzurePublicCloud, AzureUSGovernmentCloud
	// or AzureChinaCloud.
	//
	// +required
	Cloud AzureCloud `json:"cloud,omitempty"`

	// tenantID is the ID of the subscription's tenant, such as
	// 11111111-2222-3333-4444-555555555555.
	//
	// +required
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",message="must be the ID of a tenant, such as 11111111-2222-3333-4444-555555555555"
	TenantID string `json:"tenantID,omitempty"`

	// subscriptionID is the ID of the subscription in which the VM is made and
	// paid for.
	//
	// +required
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",message="must be the ID of a subscription, such as 11111111-2222-3333-4444-555555555555"
	SubscriptionID string `json:"subscriptionID,omitempty"`

	// resourceGroup is the name of the VM's resource group, such as windows-nodes.
	//
	// +required
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-\\\\w._()]*[-\\\\w_()]$')",message="must be the name of a resource group, such as win-nodes"
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// location of the VM, such as westeurope.
	//
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+$')",message="must be the short name of a location, such as westeurope"
	Location string `json:"location,omitempty"`

	// subnetID is the resource ID of the subnet of the VM's first adapter.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]+/providers/Microsoft[.]Network/virtualNetworks/[a-z0-9._-]+/subnets/[a-z0-9._-]+$')",message="must be the resource ID of a subnet, such as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NETWORK/subnets/SUBNET"
	SubnetID string `json:"subnetID,omitempty"`

	// securityGroupName is the network security group of the subnet, such as
	// win-nodes. It is left out if there is none.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*$')",message="must be the name of a network security group, such as win-nodes"
	SecurityGroupName string `json:"securityGroupName,omitempty"`

	// routeTableName is the route table of the subnet, such as win-routes. It is
	// left out if there is none.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*$')",message="must be the name of a route table, such as win-routes"
	RouteTableName string `json:"routeTableName,omitempty"`

	// nodeIdentityClientID is the client ID of the managed identity that the node
	// uses. It is left out if the node uses the system-assigned identity of its
	// VM.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')",message="must be the client ID of a managed identity, such as 11111111-2222-3333-4444-555555555555"
	NodeIdentityClientID string `json:"nodeIdentityClientID,omitempty"`
}
