package v1beta1

// VSphereVM is a VM that is cloned from a template in a vCenter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.memoryMiB) || self.memoryMiB < 4096 || self.memoryMiB % 4 == 0",message="memoryMiB must be a multiple of 4, as vSphere requires",fieldPath=".memoryMiB"
type VSphereVM struct {
	// identityRef names the Secret with the vCenter and the login to it. Its keys are server (host or host:port), username,
	// password, and either ca.crt (PEM) or thumbprint (SHA-256). A new Secret must be for the vCenter that has the VM. Mutable.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.kind) || has(self.name)",message="set kind and name, such as kind Secret and name vcenter"
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

	// networkInterfaces are the VM's network adapters. The first one is the node's: the Node has its addresses, and pods use
	// it unless network.interface in the WindowsBootstrapConfig names another one. Adapters of the template are used in this
	// order, missing ones are added and surplus ones are removed. Default: the template's adapters and networks. Immutable.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	NetworkInterfaces []VSphereNetworkInterface `json:"networkInterfaces,omitempty"`

	// cpus of the VM. Default: the template's. Immutable.
	//
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=768
	CPUs int32 `json:"cpus,omitempty"`

	// memoryMiB of the VM, at least 4096 because Windows and the kubelet reserve about 3 GiB for themselves. A size that
	// leaves pods less than 2 GiB needs reservations.lowMemoryPolicy in the WindowsBootstrapConfig. Default: the template's.
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

// VSphereNetworkInterface is one network adapter of the VM. It gets IPv4 and IPv6 addresses from pools, or by DHCP or router
// advertisements if no pool provides them.
//
// +kubebuilder:validation:XValidation:rule="(has(self.addressesFromPools) && size(self.addressesFromPools) > 0) || !((has(self.nameservers) && size(self.nameservers) > 0) || (has(self.routes) && size(self.routes) > 0) || has(self.mtu))",message="nameservers, routes and mtu are only for an adapter with addressesFromPools; remove them: DHCP provides them",fieldPath=".addressesFromPools"
type VSphereNetworkInterface struct {
	// name of the network adapter, such as node or storage. Windows shows the adapter under this name too, unless the CNI
	// is Calico or not known: see docs/networks.md.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must consist of lowercase letters, digits and '-', and must begin and end with a letter or digit, such as node"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]+|nat|loopback|(ethernet|veth|br|cali|flannel|docker|antrea)([-a-z0-9]*[a-z0-9])?)$')",message="must not be a number, nat or loopback, and must not begin with ethernet, veth, br, cali, flannel, docker or antrea: Windows, CNIs and VMware Tools use such names themselves; use a name such as node"
	Name string `json:"name,omitempty"`

	// network or port group that the adapter is connected to, by name or inventory path, such as VM Network or
	// /dc/network/nodes.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be the name or inventory path of a network without control characters and without blanks at its ends, such as VM Network"
	Network string `json:"network,omitempty"`

	// addressesFromPools gives the adapter one address from each pool, by Cluster API's IPAM contract. A pool has addresses
	// of one family. The first address of a family whose pool has a gateway sets the node's default route. Default: none,
	// the adapter uses DHCP.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`

	// nameservers of the adapter, by address. Windows asks them in this order. Default: none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=39
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.0.2"
	Nameservers []string `json:"nameservers,omitempty"`

	// routes through neighbors of the adapter, in addition to the default route. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=to
	// +kubebuilder:validation:MaxItems=32
	Routes []NetworkRoute `json:"routes,omitempty"`

	// mtu of the adapter. Default: the one that Windows uses, which is 1500 bytes.
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
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be an API group: lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit, such as ipam.cluster.x-k8s.io"
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the pool, such as InClusterIPPool.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$')",message="must be a kind: letters, digits and '-', beginning with a letter, such as InClusterIPPool"
	Kind string `json:"kind,omitempty"`

	// name of the pool.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a pool: lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit, such as nodes"
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

// MachineNetworkInterface is a network adapter whose MAC address, and perhaps addresses, are known before the VM is made.
type MachineNetworkInterface struct {
	// name of the network interface, as in the spec.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// macAddress of the adapter, by which the guest finds it. It is computed from the first address, or from the VM's
	// identity if the adapter uses DHCP. A VM with a single adapter that uses DHCP has none here: vCenter chooses it.
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
