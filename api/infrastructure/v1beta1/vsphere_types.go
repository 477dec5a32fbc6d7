package v1beta1

// VSphereVM is a VM that is cloned from a template in a vCenter.
//
// +kubebuilder:validation:XValidation:rule="!has(self.memoryMiB) || self.memoryMiB < 4096 || self.memoryMiB % 4 == 0",message="memoryMiB must be a multiple of 4, as vSphere requires",fieldPath=".memoryMiB"
// +kubebuilder:validation:XValidation:rule="!has(self.coresPerSocket) || self.coresPerSocket < 1 || (has(self.cpus) && self.cpus % self.coresPerSocket == 0)",message="cpus must be set, to a multiple of coresPerSocket, such as cpus 8 with coresPerSocket 4",fieldPath=".coresPerSocket"
type VSphereVM struct {
	// datacenter in which the VM is made, by name or inventory path, such as dc1
	// or /europe/dc1. Immutable.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as dc1 or /europe/dc1"
	Datacenter string `json:"datacenter,omitempty"`

	// image from which the VM is made: Windows with cloudbase-init, containerd and
	// the Kubernetes version of the Machine, as image-builder makes it. A template
	// may leave it to a patch of a ClusterClass, but a machine needs it.
	// Immutable.
	//
	// +optional
	// +kubebuilder:default={}
	Image VSphereImage `json:"image,omitempty,omitzero"`

	// folder for the VM, by name or inventory path, such as nodes or
	// /dc1/vm/nodes. Default: the datacenter's own VM folder. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as nodes or /dc1/vm/nodes"
	Folder string `json:"folder,omitempty"`

	// resourcePool for the VM, by name or inventory path, such as nodes or
	// /dc1/host/cluster1/Resources/nodes. Default: the resource pool of the
	// datacenter's cluster or host; if there are several of these, resourcePool
	// must be set. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as nodes or /dc1/host/cluster1/Resources/nodes"
	ResourcePool string `json:"resourcePool,omitempty"`

	// datastore for the VM's disks, by name or inventory path, such as ssd1 or
	// /dc1/datastore/ssd1. Default: the template's. Immutable.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as ssd1 or /dc1/datastore/ssd1"
	Datastore string `json:"datastore,omitempty"`

	// networkInterfaces are the VM's network adapters. The first is the node's:
	// the Node has its addresses, and pods use it unless network.interface of the
	// WindowsBootstrapConfig names another one. The template's adapters are used
	// in this order; missing ones are added, and the rest is removed. Default: the
	// template's adapters and networks. Immutable.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	NetworkInterfaces []VSphereNetworkInterface `json:"networkInterfaces,omitempty"`

	// cpus is the number of the VM's virtual CPUs, such as 4. Default: the
	// template's. Immutable.
	//
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=768
	CPUs int32 `json:"cpus,omitempty"`

	// coresPerSocket is how the CPUs are grouped: a VM with 8 cpus and 4
	// coresPerSocket has 2 sockets. cpus must be a multiple of it. Default: the
	// template's, or 1 if cpus is not a multiple of that. Immutable.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=768
	CoresPerSocket int32 `json:"coresPerSocket,omitempty"`

	// memoryMiB is the VM's memory, such as 16384, a multiple of 4. Windows and
	// Kubernetes need about 3 GiB of it. If pods would get less than 2 GiB, the VM
	// is not made unless the WindowsBootstrapConfig has
	// reservations.lowMemoryPolicy: Allow. Default: the template's. Immutable.
	//
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=25165824
	MemoryMiB int32 `json:"memoryMiB,omitempty"`

	// nestedVirtualization: Enabled lets Windows in the VM run Hyper-V, for pods
	// with containerd.hyperVIsolation of the WindowsBootstrapConfig; Disabled does
	// not. Default: the template's. Immutable.
	//
	// +optional
	NestedVirtualization NestedVirtualization `json:"nestedVirtualization,omitempty"`
}

// NestedVirtualization is whether a VM can run virtual machines itself.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type NestedVirtualization string

// The values of NestedVirtualization.
const (
	NestedVirtualizationEnabled  NestedVirtualization = "Enabled"
	NestedVirtualizationDisabled NestedVirtualization = "Disabled"
)

// VSphereImage is an image with Windows, containerd and the Kubernetes
// programs.
type VSphereImage struct {
	// template to clone, by name or inventory path, such as windows-2022 or
	// /dc1/vm/templates/windows-2022.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be a name or inventory path without control characters and without blanks at its ends, such as windows-2022 or /dc1/vm/templates/windows-2022"
	Template string `json:"template,omitempty"`

	// setup is the program in the image that runs the user data at the VM's first
	// start. The only value is CloudbaseInit, which runs that of a
	// WindowsBootstrapConfig. Default: CloudbaseInit.
	//
	// +optional
	// +kubebuilder:default=CloudbaseInit
	Setup ImageSetup `json:"setup,omitempty"`
}

// VSphereNetworkInterface is one network adapter of the VM. Without pools it
// gets its addresses by DHCP or router advertisements.
//
// +kubebuilder:validation:XValidation:rule="(has(self.addressesFromPools) && size(self.addressesFromPools) > 0) || !((has(self.nameservers) && size(self.nameservers) > 0) || (has(self.routes) && size(self.routes) > 0) || has(self.mtu))",message="nameservers, routes and mtu are only for an adapter with addressesFromPools; remove them: DHCP provides them",fieldPath=".addressesFromPools"
type VSphereNetworkInterface struct {
	// name of the adapter, such as node or storage. Windows shows it by this name,
	// too, if network.cni of the WindowsBootstrapConfig is set, but not to Calico.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must consist of lowercase letters, digits and '-', and must begin and end with a letter or digit, such as node"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]+|nat|loopback|(ethernet|veth|br|cali|flannel|docker|antrea)([-a-z0-9]*[a-z0-9])?)$')",message="must not be a number, nat or loopback, and must not begin with ethernet, veth, br, cali, flannel, docker or antrea: Windows, CNIs and VMware Tools use such names themselves; use a name such as node"
	Name string `json:"name,omitempty"`

	// network or port group that the adapter is connected to: its name, switch and
	// name such as switch1/nodes, inventory path such as /dc1/network/nodes, or
	// reference such as dvportgroup-34. Of two with one name, the one that the
	// hosts of the resource pool have is used. Several adapters may be in one
	// network.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[^\\\\p{Cc}\\\\p{Z}]([^\\\\p{Cc}]*[^\\\\p{Cc}\\\\p{Z}])?$')",message="must be the name or inventory path of a network without control characters and without blanks at its ends, such as VM Network"
	Network string `json:"network,omitempty"`

	// addressesFromPools gives the adapter one address from each of these pools,
	// by Cluster API's IPAM contract. A pool has one IP family, so dual-stack
	// needs two. The first gateway of a family becomes the node's default route.
	// Default: none; the adapter uses DHCP.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`

	// nameservers of the adapter, such as 10.0.0.2. Windows queries them in this
	// order. They need addressesFromPools. Default: none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=39
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.0.2"
	Nameservers []string `json:"nameservers,omitempty"`

	// routes to networks that the default route does not reach, such as {to:
	// 10.20.0.0/16, via: 10.0.0.9}. They need addressesFromPools. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=to
	// +kubebuilder:validation:MaxItems=32
	Routes []NetworkRoute `json:"routes,omitempty"`

	// mtu of the adapter in bytes, such as 1400. It needs addressesFromPools.
	// Default: the one that Windows uses, which is 1500.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`
}

// IPPoolReference names a pool of an IPAM provider.
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

	// name of the pool, such as nodes. The pool is in the namespace of the
	// machine, or cluster-wide.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a pool: lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit, such as nodes"
	Name string `json:"name,omitempty"`
}

// NetworkRoute is a route through a router in the adapter's network.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.to) || !isIP(self.via) || cidr(self.to).ip().family() == ip(self.via).family()",message="to and via must both be IPv4 or both IPv6",fieldPath=".via"
type NetworkRoute struct {
	// to is the destination of the route, a CIDR such as 10.20.0.0/16.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="must be a CIDR in canonical form with no bits set after the prefix, such as 10.20.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() > 0",message="the default route comes from the gateway of the adapter's pool; remove this route"
	To string `json:"to,omitempty"`

	// via is the address of the router, such as 10.0.0.9.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.0.9"
	Via string `json:"via,omitempty"`
}

// MachineNetworkInterface is one network adapter of the VM.
type MachineNetworkInterface struct {
	// name of the adapter, as in spec.vsphere.networkInterfaces.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// macAddress of the adapter, such as 00:50:56:00:00:05. The guest finds the
	// adapter by it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=17
	// +kubebuilder:validation:MaxLength=17
	MACAddress string `json:"macAddress,omitempty"`

	// addresses from the pools of the adapter, in the order of addressesFromPools.
	// They are left out if the adapter uses DHCP.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Addresses []NetworkAddress `json:"addresses,omitempty"`
}

// NetworkAddress is one address from a pool.
type NetworkAddress struct {
	// address with the length of its prefix, such as 10.0.0.5/24.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	Address string `json:"address,omitempty"`

	// gateway to other networks, such as 10.0.0.1. It is left out if the pool has
	// none.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Gateway string `json:"gateway,omitempty"`
}
