package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// Kubelet has the settings of the kubelet.
//
// +kubebuilder:validation:XValidation:rule="!has(self.systemLogQuery) || self.systemLogQuery != 'Enabled' || !has(self.featureGates) || !self.featureGates.exists(gate, gate.name == 'NodeLogQuery' && gate.state == 'Disabled')",message="systemLogQuery: Enabled needs the feature gate NodeLogQuery, which is Disabled; remove one of the two",fieldPath=".featureGates"
type Kubelet struct {
	// maxPods is how many pods the node can run, such as 60. The memory that is
	// reserved for the kubelet grows with it. With AzureCNI at most 255 are
	// possible. Default: 110.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxPods int32 `json:"maxPods,omitempty"`

	// cloudProvider: External is for a Node that a cloud controller manager
	// initializes. Without one, the Node would keep a taint and get no pods: then set
	// None. Default: External.
	//
	// +optional
	CloudProvider CloudProvider `json:"cloudProvider,omitempty"`

	// extraArgs are flags of the kubelet that have no field here, such as {name:
	// vmodule, value: kubelet=4}. What a KubeletConfiguration has belongs in
	// configuration. Flags that the bootstrap sets itself are refused. Default:
	// none.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.exists(arg, arg.name == 'image-credential-provider-bin-dir') == self.exists(arg, arg.name == 'image-credential-provider-config')",message="the kubelet needs image-credential-provider-bin-dir and image-credential-provider-config together; set both or neither"
	ExtraArgs []KubeletArg `json:"extraArgs,omitempty"`

	// featureGates of the kubelet, such as {name: WindowsCPUAndMemoryAffinity, state:
	// Enabled}. A gate that the Machine's Kubernetes version does not have, or does
	// not let you change, is refused, because the kubelet would not start. Default:
	// those of the cluster's kubelet configuration.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`

	// priorityClass of the kubelet's process in Windows: Normal, AboveNormal or
	// High. Default: AboveNormal.
	//
	// +optional
	PriorityClass PriorityClass `json:"priorityClass,omitempty"`

	// start is when Windows starts the kubelet: Automatic with Windows, or
	// AutomaticDelayed about two minutes later. AutomaticDelayed is refused where the
	// bootstrap itself starts the kubelet: in L2Bridge and Overlay, with Antrea, and
	// with custom.everyBoot. Default: Automatic.
	//
	// +optional
	Start ServiceStart `json:"start,omitempty"`

	// serverCertificates of the kubelet: SelfSigned, or ClusterSigned, with which
	// a controller or a person in the workload cluster must approve the
	// certificate signing requests of each node. Default: as in the cluster's
	// kubelet configuration.
	//
	// +optional
	ServerCertificates ServerCertificates `json:"serverCertificates,omitempty"`

	// systemLogQuery: Enabled lets users who may read a Node's logs also read the
	// logs of Windows services, by `kubectl get --raw
	// "/api/v1/nodes/NODE/proxy/logs/?query=SERVICE"`. Disabled forbids it.
	// Default: as in the cluster's kubelet configuration.
	//
	// +optional
	SystemLogQuery State `json:"systemLogQuery,omitempty"`

	// log is how much the kubelet logs and where, such as verbosity: 4. Default: files
	// in C:\var\log\kubelet, from Kubernetes 1.34 on of 50 MiB each.
	//
	// +optional
	Log KubeletLog `json:"log,omitempty,omitzero"`

	// configuration has fields of a KubeletConfiguration that have no field here, such
	// as containerLogMaxSize: 20Mi. They are merged into the cluster's kubelet
	// configuration. A field is refused if the Machine's Kubernetes version does not
	// have it, if a kubelet on Windows does not accept it, or if the bootstrap sets it
	// itself. Default: none.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	Configuration runtime.RawExtension `json:"configuration,omitempty,omitzero"`
}

// CloudProvider is whether a cloud controller manager initializes the Node.
//
// +kubebuilder:validation:Enum=External;None
type CloudProvider string

// The values of CloudProvider.
const (
	CloudProviderExternal CloudProvider = "External"
	CloudProviderNone     CloudProvider = "None"
)

// PriorityClass is the priority class of a Windows process.
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

// The values of ServiceStart.
const (
	ServiceStartAutomatic        ServiceStart = "Automatic"
	ServiceStartAutomaticDelayed ServiceStart = "AutomaticDelayed"
)

// ServerCertificates is what signs the certificate of the kubelet's own server.
//
// +kubebuilder:validation:Enum=SelfSigned;ClusterSigned
type ServerCertificates string

// The values of ServerCertificates.
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

// KubeletArg is one flag of the kubelet.
type KubeletArg struct {
	// name of the flag without its dashes in front, such as vmodule.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[a-z]([a-z0-9-]*[a-z0-9])?$')`,message=`must be the name of a flag without dashes in front and without its value, such as vmodule`
	Name string `json:"name,omitempty"`

	// value of the flag, such as kubelet=4: printable ASCII without double quotes
	// and percent signs. It may be empty.
	//
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([!#$&-~]([ !#$&-~]*[!#$&-~])?)?$')`,message=`must be printable ASCII without double quotes, percent signs, which Windows would replace, and blanks at its ends`
	Value *string `json:"value,omitempty"`
}

// FeatureGate is one feature gate of the kubelet.
type FeatureGate struct {
	// name of the feature gate, such as WindowsCPUAndMemoryAffinity.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[A-Z][A-Za-z0-9]*$')`,message=`must be the name of a feature gate as Kubernetes writes it, such as NodeLogQuery`
	Name string `json:"name,omitempty"`

	// state of the feature gate: Enabled or Disabled.
	//
	// +required
	State State `json:"state,omitempty"`
}

// KubeletLog is how much the kubelet logs, where, and how long log files are kept.
type KubeletLog struct {
	// verbosity of the log, from 0 to 10. 2 suits normal operation; 5 or more
	// fills the disk quickly. Default: as in the cluster's kubelet configuration.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Verbosity *int32 `json:"verbosity,omitempty"`

	// directory of the log files on drive C:, such as C:\logs\kubelet, in
	// printable ASCII without percent signs. Folders of the bootstrap are refused.
	// Default: C:\var\log\kubelet.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.matches(r'^[Cc]:(\\[^\x00-\x1f<>:"|?*/\\~]*[^\x00-\x1f<>:"|?*/\\~. ])+$') && !self.matches(r'(?i)\\(con|prn|aux|nul|(com|lpt)[1-9\x{b9}\x{b2}\x{b3}]|con(in|out)\$) *(\.[^\\]*)?(\\|$)')`,message=`must be a full path on drive C: with backslashes, such as C:\logs\kubelet, without wildcards, "..", short names such as PROGRA~1, names that end in a dot or blank, and devices such as NUL`
	// +kubebuilder:validation:XValidation:rule=`[self.lowerAscii() + '\\'].all(path, !path.matches(r'^(c:\\run\\kubeadm|c:\\run\\capwin|c:\\etc\\kubernetes|c:\\var\\lib\\kubelet\\pki|c:\\var\\lib\\kubelet\\config\.yaml|c:\\var\\lib\\kubelet\\instance-config\.yaml|c:\\var\\lib\\kubelet\\kubeadm-flags\.env|c:\\programdata\\capwin|c:\\run\\cluster-api|c:\\programdata\\containerd\\certs\.d|c:\\program files\\containerd)\\'))`,message="this path is reserved for the bootstrap and the programs of the node; use another one"
	// +kubebuilder:validation:XValidation:rule=`[self.lowerAscii() + '\\'].all(path, !path.matches(r'^(c:\\k\\kubeadm\.exe|c:\\k\\kubectl\.exe|c:\\k\\kubelet\.exe|c:\\k\\kube-log-runner\.exe|c:\\etc\\cni\\net\.d|c:\\opt\\cni\\bin|c:\\etc\\kube-proxy|c:\\etc\\kube-flannel|c:\\k\\azure\.json|c:\\programdata\\vmware\\vmware tools\\tools\.conf|c:\\documents and settings|c:\\users\\all users|c:\\users\\default user|c:\\programdata\\application data)\\'))`,message="this path is reserved for the bootstrap and the programs of the node; use another one"
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^([!#$&-~]([ !#$&-~]*[!#$&-~])?)?$')`,message=`must be printable ASCII without percent signs, because the path is an argument of the kubelet's service; use a name such as C:\logs\kubelet`
	Directory string `json:"directory,omitempty"`

	// maxSizeMiB is the size at which the kubelet begins a new log file. It needs
	// Kubernetes 1.34; an earlier kubelet writes one file that only grows.
	// Default: 50.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	MaxSizeMiB int32 `json:"maxSizeMiB,omitempty"`

	// maxAgeHours is the age at which the kubelet deletes a log file. It needs
	// Kubernetes 1.34. Default: 168.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8760
	MaxAgeHours int32 `json:"maxAgeHours,omitempty"`
}
