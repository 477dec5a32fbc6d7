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

// AzurePlacement is where in Azure a VM is. A node that has C:\k\azure.json got it
// from here.
type AzurePlacement struct {
	// cloud that the subscription is in: AzurePublicCloud, AzureUSGovernmentCloud
	// or AzureChinaCloud.
	//
	// +required
	Cloud AzureCloud `json:"cloud,omitempty"`

	// tenantID is the ID of the subscription's tenant, such as
	// 11111111-2222-3333-4444-555555555555. It is left out until the machine's
	// identity has been found.
	//
	// +optional
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

	// subnetIDs are the resource IDs of the subnets of the VM's adapters, in the
	// order of the adapters. The first is the node's.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]+/providers/Microsoft[.]Network/virtualNetworks/[a-z0-9._-]+/subnets/[a-z0-9._-]+$')",message="must be the resource ID of a subnet, such as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NETWORK/subnets/SUBNET"
	SubnetIDs []string `json:"subnetIDs,omitempty"`

	// securityGroupID is the resource ID of the network security group of the
	// first subnet. It is left out if none is known.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]+/providers/Microsoft[.]Network/networkSecurityGroups/[a-z0-9._-]+$')",message="must be the resource ID of a network security group, such as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/networkSecurityGroups/NAME"
	SecurityGroupID string `json:"securityGroupID,omitempty"`

	// routeTableID is the resource ID of the route table of the first subnet. It
	// is left out if none is known.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]+/providers/Microsoft[.]Network/routeTables/[a-z0-9._-]+$')",message="must be the resource ID of a route table, such as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/routeTables/NAME"
	RouteTableID string `json:"routeTableID,omitempty"`

	// loadBalancerName is the load balancer of the Cluster's nodes, if it has one.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*$')",message="must be the name of a load balancer, such as blue"
	LoadBalancerName string `json:"loadBalancerName,omitempty"`

	// outboundPoolID is the resource ID of the pool of a load balancer through
	// which the node reaches the Internet. It is left out if the subnet has a NAT
	// gateway, or if the Cluster has no such pool.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('(?i)^/subscriptions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/resourceGroups/[-a-z0-9._()]+/providers/Microsoft[.]Network/loadBalancers/[a-z0-9._-]+/backendAddressPools/[a-z0-9._-]+$')",message="must be the resource ID of a backend pool, such as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/loadBalancers/NAME/backendAddressPools/POOL"
	OutboundPoolID string `json:"outboundPoolID,omitempty"`

	// failureDomains are the zones that the AzureCluster offers, such as "1".
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	FailureDomains []string `json:"failureDomains,omitempty"`

	// tags are those that the AzureCluster has for all resources of the Cluster.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Tags map[string]AzureTagValue `json:"tags,omitempty"`

	// identity names the AzureClusterIdentity of the AzureCluster, which manages
	// the VM if the spec names no identity.
	//
	// +optional
	Identity AzureIdentity `json:"identity,omitempty,omitzero"`

	// imageVersion is the version of the image from which Azure made the VM, such as
	// 1.36.2. If the spec has latest, Azure chose it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ImageVersion string `json:"imageVersion,omitempty"`

	AzureRecord `json:",inline"`
}

// AzureRecord has the IDs that Azure itself gave to what was made for a machine.
// They identify it without its tags, so anybody who may write this status can
// claim a VM: see docs/security.md.
type AzureRecord struct {
	// server is the cloud and tenant that gave these IDs. At another one they
	// prove nothing.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server,omitempty"`

	// deletion is Accepted once Azure accepted the controller's own request to delete
	// the VM. Without it, nothing shows what became of a VM that is gone.
	//
	// +optional
	Deletion CloudDeletion `json:"deletion,omitempty"`

	// vmID is the ID that Azure gave the VM when it was made, and gives no other one:
	// properties.vmId. It comes from the answer to the controller's own request, or
	// from a VM that had all of the machine's tags.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')",message="must be the ID of a VM, such as 11111111-2222-3333-4444-555555555555"
	VMID string `json:"vmID,omitempty"`

	// disks of the VM. One that is left without a VM is removed with the machine
	// if its ID is here.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=72
	Disks []AzureResource `json:"disks,omitempty"`

	// networkInterfaces of the VM.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	NetworkInterfaces []AzureResource `json:"networkInterfaces,omitempty"`

	// publicIPAddresses of the VM's network interfaces.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	PublicIPAddresses []AzureResource `json:"publicIPAddresses,omitempty"`
}

// AzureResource is one that was made with a VM.
type AzureResource struct {
	// name of the resource, such as win-je4s7b7jn2-os.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Name string `json:"name,omitempty"`

	// uniqueID is the ID that Azure gave it when it was made: properties.uniqueId
	// of a disk, properties.resourceGuid of the others.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UniqueID string `json:"uniqueID,omitempty"`
}

// AzureIdentity is an AzureClusterIdentity of Cluster API Provider Azure.
type AzureIdentity struct {
	// namespace of the AzureClusterIdentity, such as default.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the AzureClusterIdentity, such as blue.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
