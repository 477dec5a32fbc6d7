package v1beta1

// VSphereVM is a VM that is cloned from a template in a vCenter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.memoryMiB) || self.memoryMiB % 4 == 0",message="memoryMiB must be a multiple of 4, as vSphere requires",fieldPath=".memoryMiB"
type VSphereVM struct {
	// identityRef names the Secret with the vCenter and the login to it. Its keys are server (host or host:port), username,
	// password, and either ca.crt (PEM) or thumbprint (SHA-256). A new Secret must be for the vCenter that has the VM. Mutable.
	//
	// +required
	IdentityRef IdentityReference `json:"identityRef,omitempty,omitzero"`

	// datacenter of the VM, by name or inventory path. Immutable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as dc1 or /europe/dc1"
	Datacenter string `json:"datacenter,omitempty"`

	// image from which the VM is made: Windows with cloudbase-init, containerd and the Kubernetes programs, as image-builder
	// makes it. A template may leave it to a patch of a ClusterClass, but a machine needs it. Immutable.
	//
	// +optional
	Image VSphereImage `json:"image,omitempty,omitzero"`

	// folder of the VM, by name or inventory path. Default: the datacenter's own VM folder. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as nodes or /dc1/vm/nodes"
	Folder string `json:"folder,omitempty"`

	// resourcePool of the VM, by name or inventory path. Default: the datacenter's only resource pool. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as nodes or /dc1/host/cluster1/Resources/nodes"
	ResourcePool string `json:"resourcePool,omitempty"`

	// datastore for the VM's disks, by name or inventory path. Default: the template's. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as ssd1 or /dc1/datastore/ssd1"
	Datastore string `json:"datastore,omitempty"`

	// networks of the VM's adapters; the first one is the node's. Adapters of the template are used in order, missing ones
	// are added and surplus ones removed. Default: the template's adapters and networks. Immutable.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Networks []VSphereNetwork `json:"networks,omitempty"`

	// cpus of the VM. Default: the template's. Immutable.
	//
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=768
	CPUs int32 `json:"cpus,omitempty"`

	// memoryMiB of the VM, at least 4096 because Windows and the kubelet reserve about 3 GiB for themselves. A size that
	// leaves pods less than 2 GiB needs reservations.lowMemory in the WindowsBootstrapConfig. Default: the template's.
	// Immutable.
	//
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=25165824
	MemoryMiB int32 `json:"memoryMiB,omitempty"`
}

// VSphereImage is an image with Windows, containerd and the Kubernetes programs.
type VSphereImage struct {
	// template to clone, by name or inventory path.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as windows-2022 or /dc1/vm/templates/windows-2022"
	Template string `json:"template,omitempty"`

	// setup is the program in the image that sets Windows up at the VM's first start: CloudbaseInit, which runs the user data
	// of a WindowsBootstrapConfig. Default: CloudbaseInit.
	//
	// +optional
	Setup ImageSetup `json:"setup,omitempty"`
}

// VSphereNetwork is one adapter of the VM. It gets IPv4 and IPv6 addresses from pools, or by DHCP or router advertisements if
// no pool provides them.
//
// +kubebuilder:validation:XValidation:rule="has(self.addressesFromPools) || !(has(self.nameservers) || has(self.routes) || has(self.mtu))",message="nameservers, routes and mtu are only for an adapter with addressesFromPools; remove them: DHCP provides them",fieldPath=".addressesFromPools"
type VSphereNetwork struct {
	// name or inventory path of the network or port group.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// addressesFromPools gives the adapter one address from each pool, by Cluster API's IPAM contract. A pool has addresses
	// of one family. The first address of a family whose pool has a gateway sets the node's default route.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`

	// nameservers of the adapter, by address.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=39
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.0.2"
	Nameservers []string `json:"nameservers,omitempty"`

	// routes through neighbors of the adapter, in addition to the default route.
	//
	// +optional
	// +listType=map
	// +listMapKey=to
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Routes []NetworkRoute `json:"routes,omitempty"`

	// mtu of the adapter.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`
}

// IPPoolReference names a pool of an IPAM provider, in the machine's namespace or cluster-scoped.
type IPPoolReference struct {
	// apiGroup of the pool, such as ipam.cluster.x-k8s.io.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the pool, such as InClusterIPPool.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// name of the pool.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// NetworkRoute is a route through a neighbor.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.to) || !isIP(self.via) || cidr(self.to).ip().family() == ip(self.via).family()",message="to and via must both be IPv4 or both IPv6",fieldPath=".via"
type NetworkRoute struct {
	// to is the destination of the route, a CIDR.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="must be a CIDR in canonical form with no bits set after the prefix, such as 10.20.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() > 0",message="the default route comes from the gateway of the adapter's pool; remove this route"
	To string `json:"to,omitempty"`

	// via is the address of the neighbor.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.0.9"
	Via string `json:"via,omitempty"`
}

// MachineNetwork is an adapter with addresses that are known before the VM is made.
type MachineNetwork struct {
	// name of the network, as in the spec.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// macAddress of an adapter with addresses from pools, by which the guest finds the adapter. It is computed from the
	// first address.
	//
	// +optional
	// +kubebuilder:validation:MinLength=17
	// +kubebuilder:validation:MaxLength=17
	MACAddress string `json:"macAddress,omitempty"`

	// addresses from the pools, in the order of the pools.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Addresses []NetworkAddress `json:"addresses,omitempty"`
}

// NetworkAddress is an address from a pool.
type NetworkAddress struct {
	// address with its prefix length, such as 10.0.0.5/24.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	Address string `json:"address,omitempty"`

	// gateway of the address's network.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Gateway string `json:"gateway,omitempty"`
}
