package v1beta1

// Network is how pods on the node reach the network. Without it the bootstrap sets
// up no pod network and leaves everything to the CNI's own DaemonSet.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) || !(has(self.cni) || has(self.interface) || has(self.hnsNetworkName) || has(self.vni) || (has(self.exceptionCIDRs) && size(self.exceptionCIDRs) > 0) || has(self.clusterDNS))",message="the other fields of network need a mode; set mode to L2Bridge, Overlay, Transparent or None",fieldPath=".mode"
// +kubebuilder:validation:XValidation:rule="has(self.mode) || !((has(self.nodePorts) && has(self.nodePorts.first)) || (has(self.dynamicPorts) && has(self.dynamicPorts.first)) || (has(self.firewall) && size(self.firewall) > 0) || (has(self.kubeProxy) && (has(self.kubeProxy.run) || has(self.kubeProxy.dsr))) || (has(self.flannel) && has(self.flannel.run)))",message="the other fields of network need a mode; set mode to L2Bridge, Overlay, Transparent or None",fieldPath=".mode"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || has(self.cni) && !(self.cni in ['Flannel', 'Calico', 'AzureCNI', 'Antrea']) || (self.mode == 'None' ? !has(self.cni) : self.mode != 'Transparent' || !has(self.cni) || self.cni == 'Antrea')",message="mode and cni do not fit together; use L2Bridge with Flannel, Calico or AzureCNI, Overlay with Flannel or Calico, Transparent with Antrea or no cni, or None with no cni",fieldPath=".cni"
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || has(self.cni) && !(self.cni in ['Flannel', 'Calico', 'AzureCNI', 'Antrea']) || (self.mode == 'L2Bridge' ? has(self.cni) && self.cni in ['Flannel', 'Calico', 'AzureCNI'] : self.mode != 'Overlay' || has(self.cni) && self.cni in ['Flannel', 'Calico'])",message="mode and cni do not fit together; use L2Bridge with Flannel, Calico or AzureCNI, or Overlay with Flannel or Calico",fieldPath=".cni"
// +kubebuilder:validation:XValidation:rule="!has(self.vni) || !has(self.mode) || !(self.mode in ['L2Bridge', 'Transparent', 'None'] || (has(self.cni) && self.cni == 'Calico'))",message="vni is for Flannel in mode Overlay only; remove it: other CNIs have it in their own configuration",fieldPath=".vni"
// +kubebuilder:validation:XValidation:rule="!has(self.interface) || !has(self.mode) || !(self.mode in ['Transparent', 'None'])",message="with this mode and cni, the CNI chooses the interface itself; remove interface and configure it in the CNI",fieldPath=".interface"
// +kubebuilder:validation:XValidation:rule="!has(self.hnsNetworkName) || !has(self.mode) || !(self.mode in ['Transparent', 'None'])",message="hnsNetworkName is for L2Bridge and Overlay only; remove it",fieldPath=".hnsNetworkName"
// +kubebuilder:validation:XValidation:rule="!has(self.exceptionCIDRs) || size(self.exceptionCIDRs) == 0 || !has(self.mode) || !(self.mode in ['Transparent', 'None'] || (has(self.cni) && self.cni in ['Calico', 'Antrea']))",message="the bootstrap does not configure this CNI; remove exceptionCIDRs and configure them in the CNI",fieldPath=".exceptionCIDRs"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterDNS) || !has(self.mode) || !(self.mode in ['Transparent', 'None'] || (has(self.cni) && self.cni in ['Calico', 'Antrea']))",message="the bootstrap does not configure this CNI; remove clusterDNS and configure it in the CNI",fieldPath=".clusterDNS"
// +kubebuilder:validation:XValidation:rule="!has(self.kubeProxy) || !has(self.kubeProxy.run) || self.kubeProxy.run != 'Service' || !has(self.mode) || !(self.mode in ['Transparent', 'None'])",message="in this mode the CNI chooses the HNS network that kube-proxy needs; set kubeProxy.run to DaemonSet or None, or use mode L2Bridge or Overlay",fieldPath=".kubeProxy"
// +kubebuilder:validation:XValidation:rule="!has(self.kubeProxy) || !has(self.kubeProxy.dsr) || has(self.kubeProxy.run) || !has(self.mode) || !(self.mode in ['Transparent', 'None'] || (has(self.cni) && self.cni == 'Calico'))",message="dsr is a setting of the Windows service kube-proxy, which is not the default with this mode and cni; remove dsr, or with Calico set run: Service",fieldPath=".kubeProxy"
// +kubebuilder:validation:XValidation:rule="!has(self.flannel) || !has(self.flannel.run) || (has(self.cni) && self.cni == 'Flannel')",message="only Flannel has it; remove it",fieldPath=".flannel"
// +kubebuilder:validation:XValidation:rule="self.?dynamicPorts.?first.orValue(0) < 1 || self.?dynamicPorts.?last.orValue(0) > 65535 || self.?nodePorts.?last.orValue(0) > 65535 || self.dynamicPorts.first > self.?nodePorts.?last.orValue(self.?nodePorts.?first.orValue(32767)) || self.dynamicPorts.?last.orValue(self.dynamicPorts.first) < self.?nodePorts.?first.orValue(30000)",message="dynamicPorts overlap nodePorts, which are 30000 to 32767 by default; use ports below or above them",fieldPath=".dynamicPorts"
// +kubebuilder:validation:XValidation:rule="(has(self.dynamicPorts) && has(self.dynamicPorts.first)) || !(has(self.nodePorts) && has(self.nodePorts.first)) || (has(self.nodePorts.last) ? self.nodePorts.last : self.nodePorts.first) <= 65280 || (has(self.nodePorts.last) ? self.nodePorts.last : self.nodePorts.first) > 65535",message="there is no room for dynamicPorts above these nodePorts; set dynamicPorts below them",fieldPath=".dynamicPorts"
type Network struct {
	// mode is the driver of Windows' Host Networking Service (HNS) for pods:
	// L2Bridge (in the nodes' network, or in an Azure virtual network), Overlay
	// (in a VXLAN), Transparent (the CNI owns the network, as Antrea does), or
	// None (ports and firewall rules only). All other fields of network need it.
	// There is no L2Tunnel (azure-vnet makes an L2Bridge), and no NAT (no other
	// node would reach the pods).
	//
	// +optional
	Mode NetworkMode `json:"mode,omitempty"`

	// cni that gives pods their network. It must fit mode: Flannel, Calico or AzureCNI
	// in L2Bridge; Flannel or Calico in Overlay; Antrea or none in Transparent; none
	// in None. docs/networks.md lists what each needs. The image must have the
	// programs of Flannel and AzureCNI; a DaemonSet brings those of the others.
	//
	// +optional
	CNI CNI `json:"cni,omitempty"`

	// interface is the adapter for the pods' traffic: the name of one of the
	// WindowsMachine's networkInterfaces, such as node; in Azure only the first.
	// If the machine lists none, it is the name of an adapter in Windows, such as
	// Ethernet0. Not for Transparent and None. Default: the first one; if the
	// machine lists none, the one of the default route.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9 ()#._-]*[A-Za-z0-9()#._-])?$')",message="must be the name of one of the machine's networkInterfaces, such as node, or Windows' own name of an adapter, such as Ethernet0 2"
	Interface string `json:"interface,omitempty"`

	// hnsNetworkName is the name of the CNI's HNS network for pods, if it is not
	// the usual one. Not for Transparent and None. Default: the CNI's own, which
	// is cbr0, flannel.VNI, Calico or azure.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$')",message="must have letters, digits, '.', '_' and '-' only, and begin and end with a letter or digit, such as flannel.4096"
	HNSNetworkName string `json:"hnsNetworkName,omitempty"`

	// vni is the network identifier of the VXLAN, the same as on the Linux nodes.
	// Only for Flannel in Overlay. Default: 4096, the lowest that Windows accepts.
	//
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=16777215
	VNI int32 `json:"vni,omitempty"`

	// exceptionCIDRs are IPv4 destinations that see a pod's own address and not
	// the node's, such as 10.10.0.0/16. AzureCNI needs all ranges of the virtual
	// network here. Not for Calico, Transparent and None. Always included: pods,
	// Services and, except in Overlay, the machine's subnet. If DHCP brings its
	// address, the subnet is included only without exceptionCIDRs.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && string(cidr(self).masked()) == self",message="must be an IPv4 CIDR in canonical form with no bits set after the prefix, such as 10.20.0.0/16; IPv6 addresses are never translated"
	ExceptionCIDRs []string `json:"exceptionCIDRs,omitempty"`

	// clusterDNS is the address of the cluster's DNS in the CNI configuration that
	// the bootstrap writes, such as 10.96.0.10. Not for Calico, Transparent and
	// None. Default: the tenth address of the Services.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="must be an IP address in canonical form, such as 10.96.0.10"
	ClusterDNS string `json:"clusterDNS,omitempty"`

	// nodePorts are the ports of the cluster's NodePort Services. The firewall is
	// opened for them, except in mode None, and Windows gives them to no other
	// program. Default: 30000 to 32767.
	//
	// +optional
	NodePorts Ports `json:"nodePorts,omitempty,omitzero"`

	// dynamicPorts are the ports that Windows gives to programs and Services, such
	// as {first: 40000, last: 65535}: at least 255, none below 1025, and no
	// nodePorts. Default: 34000 to 65535, or from above nodePorts if these reach
	// higher.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.first) || self.first < 1 || self.first > 65535 || (has(self.last) && self.last < self.first) || (self.first >= 1025 && has(self.last) && self.last - self.first >= 254)",message="Windows needs at least 255 ports, and none below 1025; set first and last, such as 34000 and 65535"
	DynamicPorts Ports `json:"dynamicPorts,omitempty,omitzero"`

	// firewall opens more ports of the node, such as {name: metrics, protocol:
	// TCP, ports: {first: 9100}}. nodePorts and the ports of the CNI are open
	// already, and the kubelet's port 10250. Default: none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Firewall []FirewallRule `json:"firewall,omitempty"`

	// kubeProxy is what runs kube-proxy on the node, such as {run: Service}. Default:
	// a Windows service with Flannel and AzureCNI, a DaemonSet with Calico, and none
	// else.
	//
	// +optional
	KubeProxy KubeProxy `json:"kubeProxy,omitempty,omitzero"`

	// flannel is what runs flanneld on the node, such as {run: External}. Only for the
	// cni Flannel. Default: a Windows service that the bootstrap makes.
	//
	// +optional
	Flannel Flannel `json:"flannel,omitempty,omitzero"`
}

// NetworkMode is a driver of the Host Networking Service.
//
// +kubebuilder:validation:Enum=L2Bridge;Overlay;Transparent;None
type NetworkMode string

// The network modes.
const (
	// NetworkL2Bridge: pods are in the nodes' network and use the MAC address of their node.
	NetworkL2Bridge NetworkMode = "L2Bridge"

	// NetworkOverlay: pods are in a VXLAN.
	NetworkOverlay NetworkMode = "Overlay"

	// NetworkTransparent: the CNI owns the network, as Antrea does with Open vSwitch.
	NetworkTransparent NetworkMode = "Transparent"

	// NetworkNone: the bootstrap does nothing for a CNI.
	NetworkNone NetworkMode = "None"
)

// CNI is the network plug-in of the node's pods.
//
// +kubebuilder:validation:Enum=Flannel;Calico;AzureCNI;Antrea
type CNI string

// The CNIs.
const (
	// CNIFlannel is Flannel with its backend host-gw (L2Bridge) or VXLAN (Overlay).
	CNIFlannel CNI = "Flannel"

	// CNICalico is Calico with BGP or static routes (L2Bridge) or VXLAN (Overlay).
	CNICalico CNI = "Calico"

	// CNIAzure is azure-vnet, which gives pods addresses of the virtual network.
	CNIAzure CNI = "AzureCNI"

	// CNIAntrea is Antrea with Open vSwitch.
	CNIAntrea CNI = "Antrea"
)

// Ports is a range of ports from first to last, both included.
//
// +kubebuilder:validation:XValidation:rule="has(self.first) || !has(self.last)",message="last needs a first port; set both, or first alone for a single port",fieldPath=".first"
// +kubebuilder:validation:XValidation:rule="!has(self.first) || !has(self.last) || self.first > 65535 || self.last < 1 || self.first <= self.last",message="last must not be below first; raise last, or remove it for a single port",fieldPath=".last"
type Ports struct {
	// first port of the range, such as 30000.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	First int32 `json:"first,omitempty"`

	// last port of the range, such as 32767. Default: the same as first.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Last int32 `json:"last,omitempty"`
}

// FirewallRule opens ports of the node to every address.
//
// +kubebuilder:validation:XValidation:rule="has(self.ports.first) || has(self.ports.last)",message="set the first port that the rule opens, such as 9100",fieldPath=".ports"
type FirewallRule struct {
	// name of the rule, such as metrics. Windows shows it as capwin-metrics.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!(self in ['kubelet', 'nodeports-tcp', 'nodeports-udp', 'kube-proxy-health', 'vxlan', 'geneve', 'bgp'])",message="the bootstrap already makes a rule of this name; use another name"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,message=`must be lower-case letters, digits and dashes, with a letter or digit at both ends, such as metrics`
	Name string `json:"name,omitempty"`

	// protocol is TCP or UDP.
	//
	// +required
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol string `json:"protocol,omitempty"`

	// ports that the rule opens, such as {first: 9100}.
	//
	// +required
	Ports Ports `json:"ports,omitempty,omitzero"`
}

// KubeProxy is what runs kube-proxy on the node, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.dsr) || !has(self.run) || self.run == 'Service'",message="dsr is a setting of the Windows service; set run: Service, or remove dsr",fieldPath=".dsr"
type KubeProxy struct {
	// run is Service, DaemonSet or None. Service: the bootstrap makes the Windows
	// service kube-proxy from C:\k\kube-proxy.exe, which the image must have, of
	// the Machine's minor version. DaemonSet: pods of yours run it, and nothing of
	// it is on the node. None: the CNI does its work. Default: Service with
	// Flannel and AzureCNI, DaemonSet with Calico, else None.
	//
	// +optional
	Run KubeProxyRun `json:"run,omitempty"`

	// dsr is Direct Server Return of the Windows service: Enabled or Disabled.
	// Without it, Services use up many ports, and pods do not see the client's
	// address. Default: Enabled.
	//
	// +optional
	DSR DirectServerReturn `json:"dsr,omitempty"`
}

// KubeProxyRun is what runs kube-proxy on the node.
//
// +kubebuilder:validation:Enum=Service;DaemonSet;None
type KubeProxyRun string

// The values of KubeProxyRun.
const (
	// KubeProxyService: a Windows service that the bootstrap makes.
	KubeProxyService KubeProxyRun = "Service"

	// KubeProxyDaemonSet: pods of a DaemonSet of the user's.
	KubeProxyDaemonSet KubeProxyRun = "DaemonSet"

	// KubeProxyNone: nothing; the CNI does its work, or there is no pod network.
	KubeProxyNone KubeProxyRun = "None"
)

// Flannel is what runs flanneld on the node.
type Flannel struct {
	// run is Service or External. Service: the bootstrap makes the Windows service
	// flanneld from C:\k\flanneld.exe, which the image must have, and a
	// ClusterRole lets nodes list Nodes. External: pods of an image of yours run
	// it. Default: Service.
	//
	// +optional
	Run FlannelRun `json:"run,omitempty"`
}

// FlannelRun is what runs flanneld on the node.
//
// +kubebuilder:validation:Enum=Service;External
type FlannelRun string

// The values of FlannelRun.
const (
	// FlannelService: a Windows service that the bootstrap makes.
	FlannelService FlannelRun = "Service"

	// FlannelExternal: pods of a DaemonSet of the user's.
	FlannelExternal FlannelRun = "External"
)

// DirectServerReturn is whether answers go to the client directly and not back
// through the load balancer.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type DirectServerReturn string

// The values of DirectServerReturn.
const (
	DSREnabled  DirectServerReturn = "Enabled"
	DSRDisabled DirectServerReturn = "Disabled"
)
