package v1beta1

// Network is how pods on the node reach the network. Left out, nothing is made for it: the CNI's own DaemonSet does all.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.mode == 'none' ? !has(self.cni) : self.mode == 'transparent' ? (!has(self.cni) || self.cni == 'Antrea') : has(self.cni) && (self.mode == 'l2tunnel' ? self.cni == 'AzureCNI' : self.mode == 'l2bridge' ? self.cni in ['Flannel', 'Calico', 'WinBridge', 'AzureCNI'] : self.cni in ['Flannel', 'Calico', 'OVNKubernetes', 'WinOverlay'])",message="mode and cni do not go together; write l2bridge with Flannel, Calico, WinBridge or AzureCNI, l2tunnel with AzureCNI, overlay with Flannel, Calico, OVNKubernetes or WinOverlay, transparent with Antrea or without cni, or none without cni",fieldPath=".cni"
// +kubebuilder:validation:XValidation:rule="!has(self.vni) || (self.mode == 'overlay' && has(self.cni) && self.cni in ['Flannel', 'WinOverlay'])",message="vni is said here for Flannel and WinOverlay in mode overlay only; leave it out, other CNIs have it in their own configuration",fieldPath=".vni"
// +kubebuilder:validation:XValidation:rule="!has(self.interface) || (self.mode in ['l2bridge', 'l2tunnel', 'overlay'] && has(self.cni) && self.cni != 'OVNKubernetes')",message="here the CNI chooses the interface itself; leave interface out and configure it there",fieldPath=".interface"
// +kubebuilder:validation:XValidation:rule="!has(self.networkName) || self.mode in ['l2bridge', 'l2tunnel', 'overlay']",message="networkName belongs to l2bridge, l2tunnel and overlay; leave it out",fieldPath=".networkName"
// +kubebuilder:validation:XValidation:rule="!has(self.exceptionCIDRs) || (has(self.cni) && self.cni in ['Flannel', 'WinBridge', 'WinOverlay', 'AzureCNI'])",message="the configuration of this CNI is not written here; leave exceptionCIDRs out and write them there",fieldPath=".exceptionCIDRs"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterDNS) || (has(self.cni) && self.cni in ['Flannel', 'WinBridge', 'WinOverlay', 'AzureCNI'])",message="the configuration of this CNI is not written here; leave clusterDNS out and write it there",fieldPath=".clusterDNS"
// +kubebuilder:validation:XValidation:rule="!has(self.kubeProxy) || self.mode in ['l2bridge', 'l2tunnel'] || (self.mode == 'overlay' && has(self.cni) && self.cni in ['Flannel', 'WinOverlay'])",message="a kube-proxy of this mode and cni cannot be configured before its CNI runs, or is not needed; leave kubeProxy out, its DaemonSet brings what it needs",fieldPath=".kubeProxy"
// +kubebuilder:validation:XValidation:rule="!has(self.dynamicPorts) || (has(self.nodePorts) ? self.dynamicPorts.first > (has(self.nodePorts.last) ? self.nodePorts.last : self.nodePorts.first) : self.dynamicPorts.first > 32767) || (has(self.dynamicPorts.last) ? self.dynamicPorts.last : self.dynamicPorts.first) < (has(self.nodePorts) ? self.nodePorts.first : 30000)",message="dynamicPorts overlap the nodePorts, which are 30000 to 32767 when left out; write ports before or behind them",fieldPath=".dynamicPorts"
// +kubebuilder:validation:XValidation:rule="has(self.dynamicPorts) || !has(self.nodePorts) || (has(self.nodePorts.last) ? self.nodePorts.last : self.nodePorts.first) <= 65280",message="there is no room for dynamicPorts behind these nodePorts; write dynamicPorts before them",fieldPath=".dynamicPorts"
type Network struct {
	// mode of the Host Networking Service that pods use. none leaves all but ports and firewall to others.
	//
	// +required
	Mode NetworkMode `json:"mode,omitempty"`

	// cni that runs on the node. Its programs come with the image or its DaemonSet.
	//
	// +optional
	CNI CNI `json:"cni,omitempty"`

	// interface of the node that pods' traffic goes through, such as Ethernet0: a node with several needs a choice.
	// Left out, Windows takes any that is free.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9 ()#._-]*$`
	Interface string `json:"interface,omitempty"`

	// networkName of the HNS network that the CNI has its pods in. Left out, it is the CNI's own: cbr0, flannel.VNI,
	// Calico, azure, OVNKubernetesHybridOverlayNetwork or vxlan0.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	NetworkName string `json:"networkName,omitempty"`

	// vni of the VXLAN, the same as on the Linux nodes; 4096 when left out, the smallest that Windows takes. The port is
	// always 4789.
	//
	// +optional
	// +kubebuilder:validation:Minimum=4096
	// +kubebuilder:validation:Maximum=16777215
	VNI int32 `json:"vni,omitempty"`

	// exceptionCIDRs are reached with the pod's own address, such as the subnet of the machines. The cluster's pods and
	// services always are. AzureCNI needs all ranges of the virtual network here.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && string(cidr(self).masked()) == self",message="write a CIDR of IPv4 in its usual form without bits behind its prefix, such as 10.20.0.0/16; addresses of IPv6 are never translated"
	ExceptionCIDRs []string `json:"exceptionCIDRs,omitempty"`

	// clusterDNS is the address of the cluster's DNS; the tenth of its service CIDR when left out.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="write an IP address in its usual form, such as 10.96.0.10"
	ClusterDNS string `json:"clusterDNS,omitempty"`

	// nodePorts of the cluster, opened in the firewall and kept free of other programs; 30000 to 32767 when left out.
	//
	// +optional
	NodePorts Ports `json:"nodePorts,omitempty,omitzero"`

	// dynamicPorts are those that Windows gives to programs and to Services; 34000 to 65535 when left out, or from behind
	// the nodePorts on.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.first >= 1025 && has(self.last) && self.last - self.first >= 254",message="Windows takes 255 ports or more, from 1025 on; write first and last, such as 34000 and 65535"
	DynamicPorts Ports `json:"dynamicPorts,omitempty,omitzero"`

	// firewall opens more ports of the node. Those of the kubelet, of NodePorts and of the mode are open.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Firewall []FirewallRule `json:"firewall,omitempty"`

	// kubeProxy settings. Left out, its DaemonSet brings them.
	//
	// +optional
	KubeProxy KubeProxy `json:"kubeProxy,omitempty,omitzero"`
}

// NetworkMode is a driver of the Host Networking Service.
//
// +kubebuilder:validation:Enum=l2bridge;l2tunnel;overlay;transparent;none
type NetworkMode string

// The network modes.
const (
	// NetworkL2Bridge: pods are in the nodes' network, behind the MAC of the node.
	NetworkL2Bridge NetworkMode = "l2bridge"

	// NetworkL2Tunnel: pods are in an Azure virtual network.
	NetworkL2Tunnel NetworkMode = "l2tunnel"

	// NetworkOverlay: pods are in a VXLAN.
	NetworkOverlay NetworkMode = "overlay"

	// NetworkTransparent: the CNI owns the network, as Antrea with Open vSwitch.
	NetworkTransparent NetworkMode = "transparent"

	// NetworkNone: nothing is done for a CNI.
	NetworkNone NetworkMode = "none"
)

// CNI gives pods their network.
//
// +kubebuilder:validation:Enum=Flannel;Calico;AzureCNI;OVNKubernetes;Antrea;WinBridge;WinOverlay
type CNI string

// The CNIs.
const (
	// CNIFlannel with its backend host-gw (l2bridge) or VXLAN (overlay).
	CNIFlannel CNI = "Flannel"

	// CNICalico with BGP or static routes (l2bridge) or VXLAN (overlay).
	CNICalico CNI = "Calico"

	// CNIAzure is azure-vnet, which gives pods addresses of the virtual network.
	CNIAzure CNI = "AzureCNI"

	// CNIOVNKubernetes is the hybrid overlay of OVN-Kubernetes.
	CNIOVNKubernetes CNI = "OVNKubernetes"

	// CNIAntrea with Open vSwitch.
	CNIAntrea CNI = "Antrea"

	// CNIWinBridge is the plug-in win-bridge with host-local addresses of the Node's pod CIDR, and nothing else.
	CNIWinBridge CNI = "WinBridge"

	// CNIWinOverlay is the plug-in win-overlay with host-local addresses of the Node's pod CIDR, and nothing else.
	CNIWinOverlay CNI = "WinOverlay"
)

// Ports from first to last.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.last) || self.first <= self.last",message="last is below first; write a last port that is not, or leave last out for a single port",fieldPath=".last"
type Ports struct {
	// first port.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	First int32 `json:"first,omitempty"`

	// last port; the same as first when left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Last int32 `json:"last,omitempty"`
}

// FirewallRule lets everybody reach ports of the node.
type FirewallRule struct {
	// name of the rule; it stands behind "capwin-".
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!(self in ['nodeports-tcp', 'nodeports-udp', 'kube-proxy-health', 'vxlan', 'geneve'])",message="a rule of this name is made for the node already; write another name"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// protocol is TCP or UDP.
	//
	// +required
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol string `json:"protocol,omitempty"`

	// ports that are opened.
	//
	// +required
	Ports Ports `json:"ports,omitempty,omitzero"`
}

// KubeProxy is what can be said of kube-proxy.
//
// +kubebuilder:validation:MinProperties=1
type KubeProxy struct {
	// configFile is Managed: C:\var\lib\kube-proxy\config.conf is written, with network name, source VIP, host name and
	// health check of this node, for a kube-proxy that is started with --config. Its credentials are beside it, in
	// kubeconfig.conf, and are not written.
	//
	// +required
	ConfigFile KubeProxyConfigFile `json:"configFile,omitempty"`

	// dsr is Direct Server Return, without which NodePorts and Services take many ports and lose the client's address;
	// Enabled when left out.
	//
	// +optional
	DSR DirectServerReturn `json:"dsr,omitempty"`
}

// KubeProxyConfigFile says who writes the configuration of kube-proxy.
//
// +kubebuilder:validation:Enum=Managed
type KubeProxyConfigFile string

// KubeProxyConfigFileManaged is ours.
const KubeProxyConfigFileManaged KubeProxyConfigFile = "Managed"

// DirectServerReturn says whether answers go past the load balancer.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type DirectServerReturn string

// The choices of Direct Server Return.
const (
	DSREnabled  DirectServerReturn = "Enabled"
	DSRDisabled DirectServerReturn = "Disabled"
)
