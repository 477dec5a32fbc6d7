package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// Kubelet is what can be said of the kubelet.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.systemLogQuery) || self.systemLogQuery != 'Enabled' || !has(self.featureGates) || !self.featureGates.exists(gate, gate.name == 'NodeLogQuery' && gate.state == 'Disabled')",message="systemLogQuery Enabled needs the feature gate NodeLogQuery, which is Disabled; leave one of them out",fieldPath=".featureGates"
type Kubelet struct {
	// maxPods of the node; 110 when left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxPods int32 `json:"maxPods,omitempty"`

	// cloudProvider is External when a cloud controller manager looks after the Node, which is the default, or None: without
	// one a Node of cloudProvider External never gets ready for pods.
	//
	// +optional
	CloudProvider CloudProvider `json:"cloudProvider,omitempty"`

	// extraArgs are flags of the kubelet that have no field here. What the kubelet's configuration can say belongs into
	// configuration, and what we render ourselves is refused.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.exists(arg, arg.name == 'image-credential-provider-bin-dir') == self.exists(arg, arg.name == 'image-credential-provider-config')",message="a kubelet that is given one of image-credential-provider-bin-dir and image-credential-provider-config without the other exits; write both, or none"
	ExtraArgs []KubeletArg `json:"extraArgs,omitempty"`

	// featureGates of the kubelet. One that the Machine's version does not know, or has locked, is refused: the kubelet
	// would not start.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`

	// priorityClass of the kubelet's process: Normal, AboveNormal, which is the default, or High.
	//
	// +optional
	PriorityClass PriorityClass `json:"priorityClass,omitempty"`

	// start of the kubelet's service with Windows: Automatic, which is the default, or AutomaticDelayed, some two minutes
	// after other services.
	//
	// +optional
	Start ServiceStart `json:"start,omitempty"`

	// serverCertificates of the kubelet: SelfSigned by itself, or ClusterSigned, which needs somebody in the workload
	// cluster who approves the requests. Left out, it is as the cluster's kubelet configuration says.
	//
	// +optional
	ServerCertificates ServerCertificates `json:"serverCertificates,omitempty"`

	// systemLogQuery lets those who may read a Node's logs ask for logs of Windows services: Enabled or Disabled. Left out,
	// it is as the cluster's kubelet configuration says.
	//
	// +optional
	SystemLogQuery State `json:"systemLogQuery,omitempty"`

	// log of the kubelet.
	//
	// +optional
	Log KubeletLog `json:"log,omitempty,omitzero"`

	// configuration is merged into the node's KubeletConfiguration, for fields that have none here, such as
	// containerLogMaxSize. A field that the Machine's version does not know, that a kubelet on Windows refuses or that we
	// render ourselves is refused.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Configuration runtime.RawExtension `json:"configuration,omitempty,omitzero"`
}

// CloudProvider says whether a cloud controller manager looks after the Node.
//
// +kubebuilder:validation:Enum=External;None
type CloudProvider string

// The kinds of CloudProvider.
const (
	CloudProviderExternal CloudProvider = "External"
	CloudProviderNone     CloudProvider = "None"
)

// PriorityClass of a Windows process.
//
// +kubebuilder:validation:Enum=Normal;AboveNormal;High
type PriorityClass string

// The priority classes.
const (
	PriorityNormal      PriorityClass = "Normal"
	PriorityAboveNormal PriorityClass = "AboveNormal"
	PriorityHigh        PriorityClass = "High"
)

// ServiceStart is when a Windows service starts.
//
// +kubebuilder:validation:Enum=Automatic;AutomaticDelayed
type ServiceStart string

// The ways in which a service starts with Windows.
const (
	ServiceStartAutomatic        ServiceStart = "Automatic"
	ServiceStartAutomaticDelayed ServiceStart = "AutomaticDelayed"
)

// ServerCertificates is who signs the certificate of the kubelet's own server.
//
// +kubebuilder:validation:Enum=SelfSigned;ClusterSigned
type ServerCertificates string

// The signers of a kubelet's server certificate.
const (
	ServerCertificatesSelfSigned    ServerCertificates = "SelfSigned"
	ServerCertificatesClusterSigned ServerCertificates = "ClusterSigned"
)

// State is Enabled or Disabled.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type State string

// The values of State.
const (
	StateEnabled  State = "Enabled"
	StateDisabled State = "Disabled"
)

// KubeletArg is a flag of the kubelet.
type KubeletArg struct {
	// name of the flag, without the dashes before it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9-]*$`
	Name string `json:"name,omitempty"`

	// value of the flag: printable ASCII without double quotes. It may be empty.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[ !#-~]*$`
	Value *string `json:"value,omitempty"`
}

// FeatureGate is a feature gate of the kubelet.
type FeatureGate struct {
	// name of the feature gate, such as WindowsCPUAndMemoryAffinity.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Name string `json:"name,omitempty"`

	// state of the feature gate: Enabled or Disabled.
	//
	// +required
	State State `json:"state,omitempty"`
}

// KubeletLog is how much the kubelet logs, and how long it is kept.
//
// +kubebuilder:validation:MinProperties=1
type KubeletLog struct {
	// verbosity from 0 to 10; 2 shows what an operator wants to know, from 5 on the disk fills quickly. Left out, it is as
	// the cluster's kubelet configuration says.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Verbosity *int32 `json:"verbosity,omitempty"`

	// directory of the log files on drive C:; C:\var\log\kubelet when left out.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[Cc]:(\\[^<>:"|?*/\\]*[^<>:"|?*/\\. ])+$`
	// +kubebuilder:validation:XValidation:rule=`![r'c:\run\kubeadm', r'c:\run\capwin', r'c:\etc\kubernetes', r'c:\var\lib\kubelet\pki', r'c:\var\lib\kubelet\config.yaml', r'c:\programdata\capwin', r'c:\run\cluster-api', r'c:\programdata\containerd\certs.d', r'c:\program files\containerd\conf.d', r'c:\k\azure.json', r'c:\programdata\vmware\vmware tools\tools.conf'].exists(place, self.lowerAscii() == place || self.lowerAscii().startsWith(place + '\\'))`,message="what is there is not for users; write another folder"
	Directory string `json:"directory,omitempty"`

	// maxSizeMiB of a log file before the next one is begun; 50 when left out. Needs Kubernetes 1.34, before which no log
	// file is ever ended.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	MaxSizeMiB int32 `json:"maxSizeMiB,omitempty"`

	// maxAgeHours of a log file before it is deleted; 168 when left out. Needs Kubernetes 1.34.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8760
	MaxAgeHours int32 `json:"maxAgeHours,omitempty"`
}
