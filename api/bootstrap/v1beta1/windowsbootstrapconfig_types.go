package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigFinalizer stays on a config until the node's bootstrap token is removed from the workload cluster.
const ConfigFinalizer = "windowsbootstrapconfig.bootstrap.cluster.x-k8s.io/token"

// GuestReportFinalizer stays on a config until the object of its guest's reports is removed from the workload cluster.
const GuestReportFinalizer = "windowsbootstrapconfig.bootstrap.cluster.x-k8s.io/guest-report"

// RenderedGenerationAnnotation of a bootstrap Secret is the generation of the config that it was rendered from.
const RenderedGenerationAnnotation = "windowsbootstrapconfig.bootstrap.cluster.x-k8s.io/generation"

// WindowsBootstrapConfigSpec is how a Windows VM becomes a node. Every field is
// optional, and {} or [] means the same as leaving the field out, except for
// node.taints.
//
// +kubebuilder:validation:XValidation:rule="!has(self.custom) || self.?bootstrapDeadlineSeconds.orValue(300) < 300 || (has(self.custom.preJoin) ? self.custom.preJoin.map(s, s.?timeoutSeconds.orValue(300)).filter(n, n <= 3600).sum() : 0) + (has(self.custom.postJoin) ? self.custom.postJoin.map(s, s.?timeoutSeconds.orValue(300)).filter(n, n <= 3600).sum() : 0) < self.?bootstrapDeadlineSeconds.orValue(1800)",message="the timeoutSeconds of all scripts (default 300) must add up to less than bootstrapDeadlineSeconds (default 1800); lower them, or raise it",fieldPath=".custom"
// +kubebuilder:validation:XValidation:rule="!has(self.kubelet) || !has(self.kubelet.start) || self.kubelet.start != 'AutomaticDelayed' || !has(self.custom) || !has(self.custom.everyBoot) || size(self.custom.everyBoot) == 0",message="start: AutomaticDelayed has no effect with custom.everyBoot, after whose scripts the bootstrap starts the kubelet; remove one of the two",fieldPath=".kubelet.start"
type WindowsBootstrapConfigSpec struct {
	// node has the labels and taints with which the Node is registered, such as
	// labels: {example.com/pool: build}. Default: no labels, and the taint
	// os=windows:NoSchedule.
	//
	// +optional
	Node NodeRegistration `json:"node,omitempty,omitzero"`

	// discovery is how the node finds its cluster and verifies it. Default: by the
	// Cluster's endpoint, and the CA in the Secret CLUSTER-ca.
	//
	// +optional
	Discovery Discovery `json:"discovery,omitempty,omitzero"`

	// kubelet has settings of the kubelet, such as maxPods: 60. Default: the
	// cluster's kubelet configuration, which kubeadm keeps in the ConfigMap
	// kubelet-config, as far as it suits Windows.
	//
	// +optional
	Kubelet Kubelet `json:"kubelet,omitempty,omitzero"`

	// reservations keep CPU, memory and disk space for Windows and Kubernetes,
	// such as system: {memory: 3Gi}. Default: they depend on the size of the VM.
	//
	// +optional
	Reservations Reservations `json:"reservations,omitempty,omitzero"`

	// network has what a CNI needs on the node, such as mode: Overlay and cni:
	// Flannel; docs/networks.md helps to choose. Default: the bootstrap sets up no pod
	// network, and leaves everything to the CNI's own DaemonSet.
	//
	// +optional
	Network Network `json:"network,omitempty,omitzero"`

	// containerd has settings of containerd, such as mirrors of registries and
	// images to pull. Default: those of the image.
	//
	// +optional
	Containerd Containerd `json:"containerd,omitempty,omitzero"`

	// windows has settings of Windows itself, such as its proxy, time zone, page
	// file and users. Default: those of the image.
	//
	// +optional
	Windows Windows `json:"windows,omitempty,omitzero"`

	// custom has your own files to write and scripts to run, before and after the
	// node joins. Default: none.
	//
	// +optional
	Custom Custom `json:"custom,omitempty,omitzero"`

	// bootstrapDeadlineSeconds is how long the guest may take from its first start
	// until its bootstrap has ended with the last postJoin script, without the
	// time of restarts. If it takes longer, the bootstrap fails with
	// BootstrapTimeout. Default: 1800.
	//
	// +optional
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=7200
	BootstrapDeadlineSeconds int32 `json:"bootstrapDeadlineSeconds,omitempty"`
}

// NodeRegistration has the labels and taints with which the node is
// registered.
type NodeRegistration struct {
	// labels of the Node, such as example.com/pool: build. Values may be empty. A
	// kubelet must not set most labels of kubernetes.io and k8s.io on its own
	// Node: set these in metadata.labels of the Machine, from where Cluster API
	// copies them. Default: none.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.indexOf('/') <= 253 && key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[^/]*$'))",message="what is before '/' in the key of a label must be a DNS name in lower case, such as example.com/pool",messageExpression=`"label " + self.filter(key, !(key.indexOf('/') <= 253 && key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[^/]*$')))[0] + ": what is before '/' in the key of a label must be a DNS name in lower case, such as example.com/pool"`
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^(.*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$'))",message="the key of a label must be a name of at most 63 letters, digits, '-', '_' and '.', such as pool or example.com/pool",messageExpression=`"label " + self.filter(key, !(key.matches('^(.*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$')))[0] + ": the key of a label must be a name of at most 63 letters, digits, '-', '_' and '.', such as pool or example.com/pool"`
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.matches('^([a-z0-9.-]+[.])?(kubernetes|k8s)[.]io/([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$') || key.matches('^([a-z0-9.-]+[.])?(kubelet|node)[.]kubernetes[.]io/|^topology[.]kubernetes[.]io/(zone|region)$'))",message="a kubelet must not set labels of kubernetes.io and k8s.io on its own node, but for those under node.kubernetes.io/; use such a name, or set them in metadata.labels of the Machine, from where Cluster API copies them to the node"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// taints of the Node, each with another key or effect, such as {key:
	// dedicated, value: build, effect: NoExecute}. [] means no taint. Cluster
	// API's own taint node.cluster.x-k8s.io/uninitialized is always added, until
	// Cluster API removes it. Default: os=windows:NoSchedule, which keeps away
	// pods that are not made for Windows.
	//
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=32
	Taints *[]NodeTaint `json:"taints,omitempty"`

	// cloudConfigFile: Managed writes C:\k\azure.json, which Azure's CSI drivers
	// read, from status.azure of the WindowsMachine. The file has no secrets: the
	// node uses a managed identity. Only machines in Azure can have it. Default:
	// no file.
	//
	// +optional
	CloudConfigFile CloudConfigFile `json:"cloudConfigFile,omitempty"`
}

// CloudConfigFile is what writes the file that CSI drivers read about the cloud.
//
// +kubebuilder:validation:Enum=Managed
type CloudConfigFile string

// CloudConfigFileManaged means that the bootstrap writes the file.
const CloudConfigFileManaged CloudConfigFile = "Managed"

// Discovery is how the node finds and verifies its cluster.
type Discovery struct {
	// kubeconfigFrom names a Secret with a kubeconfig of one cluster, with server
	// (https) and certificate-authority-data but no users, as in the ConfigMap
	// cluster-info of kube-public. Use it if the Secret CLUSTER-ca does not exist,
	// or if nodes reach the API server by another name. A node still joins by its
	// bootstrap token. Default: the Cluster's endpoint and CA.
	//
	// +optional
	KubeconfigFrom KubeconfigSource `json:"kubeconfigFrom,omitempty,omitzero"`
}

// KubeconfigSource names a key with a kubeconfig.
type KubeconfigSource struct {
	// secret in the namespace of the config, and the key in it, such as {name:
	// blue-discovery, key: kubeconfig}.
	//
	// +optional
	Secret KeyReference `json:"secret,omitempty,omitzero"`
}

// LabelValue is the value of a label. It may be empty.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",message="the value of a label must have letters, digits, '-', '_' and '.' only, and begin and end with a letter or digit, such as win-2022; it may be empty"
type LabelValue string

// NodeTaint is one taint of the Node.
//
// +kubebuilder:validation:XValidation:rule="self.key != 'node.cluster.x-k8s.io/uninitialized' || self.effect != 'NoSchedule'",message="Cluster API's own taint is always added; remove it",fieldPath=".key"
type NodeTaint struct {
	// key of the taint, such as os or example.com/pool.
	//
	// +required
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.indexOf('/') <= 253 && self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$')",message="the key of a taint must be a name of at most 63 letters, digits, '-', '_' and '.', with or without a lower-case DNS name and a slash before it, such as os or example.com/pool"
	Key string `json:"key,omitempty"`

	// value of the taint, such as windows. Default: empty.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",message="the value of a taint must have letters, digits, '-', '_' and '.' only, and begin and end with a letter or digit, such as windows; it may be empty"
	Value string `json:"value,omitempty"`

	// effect on pods that do not tolerate the taint: NoSchedule, PreferNoSchedule
	// or NoExecute.
	//
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// WindowsBootstrapConfigStatus is the state of the user data.
type WindowsBootstrapConfigStatus struct {
	// conditions are the state of the config: Ready, DataSecretAvailable, HasWarnings,
	// Stalled and Paused. Ready is True once the Node has joined, False if the guest
	// failed or the VM was lost before, and Unknown until then. docs/conditions.md
	// lists every reason with its likely cause and what to do.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the conditions describe.
	// It is -1 until the controller has seen the object.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization shows Cluster API whether the user data exists.
	//
	// +optional
	Initialization WindowsBootstrapConfigInitialization `json:"initialization,omitempty,omitzero"`

	// dataSecretName is the name of the Secret with the user data, in the
	// namespace of the config.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`

	// guestReport is the name of the ConfigMap in the workload cluster, in the
	// namespace capwin-guests, that the guest reports to. It is empty where the
	// cloud carries the reports, and where guests cannot report.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	GuestReport string `json:"guestReport,omitempty"`
}

// WindowsBootstrapConfigInitialization is part of Cluster API's contract:
// steps that happen only once.
type WindowsBootstrapConfigInitialization struct {
	// dataSecretCreated is true once the Secret with the user data exists.
	//
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// The rule on WindowsBootstrapConfig keeps a spec that became user data: the status of the VM, such as its time limit, is
// derived from it. An admission policy does the same, and more: the rule misses changes within kubelet.configuration, whose
// fields have no schema. The rule is for clusters that have the CRDs without the policy.

// WindowsBootstrapConfig is how one Windows VM becomes a node. The user data of
// the VM is made from it once, so its spec cannot change after that: create a new
// WindowsBootstrapConfigTemplate and use it in the MachineDeployment, which then
// replaces its machines.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !self.metadata.name.matches('-(kubeconfig|ca|etcd|proxy|sa|apiserver-etcd-client)$')",optionalOldSelf=true,message="the bootstrap Secret gets the name of the config, and names that end in -kubeconfig, -ca, -etcd, -proxy, -sa or -apiserver-etcd-client are for the Secrets of Clusters; use another name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.initialization) || !has(oldSelf.status.initialization.dataSecretCreated) || !oldSelf.status.initialization.dataSecretCreated || (has(self.spec) == has(oldSelf.spec) && (!has(self.spec) || self.spec == oldSelf.spec))",message="the VM was made with this config, and a change would not reach it; create a new WindowsBootstrapConfigTemplate and use it in the MachineDeployment, which then replaces its machines",fieldPath=".spec"
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=windowsbootstrapconfigs,scope=Namespaced,shortName=winbc,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster the config belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the machine's Node has joined; False when its guest failed"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why the config is Ready or not, see docs/conditions.md"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Data-Secret-Created",type="string",JSONPath=".status.initialization.dataSecretCreated",description="Whether the Secret with the user data exists",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is happening, or what to do"
type WindowsBootstrapConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is how the VM becomes a node. Every field is optional: {} joins a node. The
	// values {} and [] mean the same as leaving a field out, except in node.taints.
	// The spec can change until the VM's user data exists; from then on it is
	// Immutable.
	//
	// +optional
	Spec WindowsBootstrapConfigSpec `json:"spec,omitempty"`

	// The default of status makes GitOps tools and health checks wait until the controller has seen the object.

	// status shows whether the user data exists, and whether the machine has become a
	// node.
	//
	// +optional
	// +kubebuilder:default={"observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"NotYetReported","message":"the bootstrap manager has not seen the config yet","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status WindowsBootstrapConfigStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the config.
func (c *WindowsBootstrapConfig) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the config.
func (c *WindowsBootstrapConfig) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// WindowsBootstrapConfigList is a list of configs.
//
// +kubebuilder:object:root=true
type WindowsBootstrapConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WindowsBootstrapConfig `json:"items"`
}
