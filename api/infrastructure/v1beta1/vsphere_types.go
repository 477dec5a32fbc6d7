package v1beta1

// VSphereVM is a VM cloned from a template in a vCenter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.memoryMiB) || self.memoryMiB % 4 == 0",message="memoryMiB must be a multiple of 4: vSphere takes no other sizes",fieldPath=".memoryMiB"
type VSphereVM struct {
	// credentialsRef names the Secret in the machine's namespace that says which vCenter this is and how to log in.
	// Its keys: server (host or host:port), username, password, and either ca.crt (PEM) or thumbprint (SHA-256).
	// The server is part of the Secret, so that a machine can never send the password elsewhere.
	//
	// +required
	CredentialsRef SecretReference `json:"credentialsRef,omitempty,omitzero"`

	// datacenter by name or inventory path.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Datacenter string `json:"datacenter,omitempty"`

	// template to clone, by name or inventory path. It is a Windows image as image-builder makes it: cloudbase-init,
	// containerd and the Kubernetes programs are in it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`

	// folder the VM is put in, by name or inventory path; empty means the datacenter's own VM folder.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Folder string `json:"folder,omitempty"`

	// resourcePool the VM runs in, by name or inventory path; empty means the only one that the datacenter has.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	ResourcePool string `json:"resourcePool,omitempty"`

	// datastore for the disks, by name or inventory path; empty means the template's.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Datastore string `json:"datastore,omitempty"`

	// networks that the VM's adapters are on, the node's first; empty means those of the template's adapters. The
	// template's adapters are taken in their order; what it lacks is added, what it has more is left out.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Networks []VSphereNetwork `json:"networks,omitempty"`

	// cpus of the VM; empty means the template's.
	//
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=768
	CPUs int32 `json:"cpus,omitempty"`

	// memoryMiB of the VM, 4096 or more because Windows and the kubelet keep about 3 GiB for themselves; what leaves pods
	// less than 2 GiB must be accepted in reservations.lowMemory of the WindowsBootstrapConfig. Empty means the template's.
	//
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=25165824
	MemoryMiB int32 `json:"memoryMiB,omitempty"`
}

// VSphereNetwork is one adapter of the VM. What no pool gives an address of, IPv4 or IPv6, comes by DHCP or router
// advertisements.
//
// +kubebuilder:validation:XValidation:rule="has(self.addressesFromPools) || !(has(self.nameservers) || has(self.routes) || has(self.mtu))",message="nameservers, routes and mtu belong to an adapter with addressesFromPools; leave them out, DHCP brings them",fieldPath=".addressesFromPools"
type VSphereNetwork struct {
	// name or inventory path of the network or port group.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// addressesFromPools gives the adapter one address of each pool, by Cluster API's contract of IPAM providers; a pool has
	// addresses of one family. The first address of a family whose pool has a gateway makes the node's default route.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`

	// nameservers that the adapter asks, by address.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=39
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="write an IP address, such as 10.0.0.2"
	Nameservers []string `json:"nameservers,omitempty"`

	// routes by neighbours of the adapter, besides the default route.
	//
	// +optional
	// +listType=map
	// +listMapKey=to
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Routes []NetworkRoute `json:"routes,omitempty"`

	// mtu of the adapter's IP packets.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`
}

// IPPoolReference names a pool of an IPAM provider, in the machine's namespace or in none.
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

// NetworkRoute says by which neighbour others are reached.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.to) || !isIP(self.via) || cidr(self.to).ip().family() == ip(self.via).family()",message="to and via must both be IPv4 or both IPv6",fieldPath=".via"
type NetworkRoute struct {
	// to is the CIDR that is reached.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="write a CIDR in its usual form without bits behind its prefix, such as 10.20.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() > 0",message="the gateway of the adapter's pool makes the default route; leave it out"
	To string `json:"to,omitempty"`

	// via is the neighbour's address.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="write an IP address, such as 10.0.0.9"
	Via string `json:"via,omitempty"`
}

// MachineNetwork is an adapter whose addresses are known before the VM is made.
type MachineNetwork struct {
	// name of the network, as in the spec.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`

	// macAddress of an adapter with addresses of pools: the guest finds it by that. It follows from the first of them.
	//
	// +optional
	// +kubebuilder:validation:MinLength=17
	// +kubebuilder:validation:MaxLength=17
	MACAddress string `json:"macAddress,omitempty"`

	// addresses that the pools gave, in the order of the pools.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Addresses []NetworkAddress `json:"addresses,omitempty"`
}

// NetworkAddress is an address of a pool.
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

// SecretReference names a Secret in the namespace of the object that refers to it.
type SecretReference struct {
	// name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
