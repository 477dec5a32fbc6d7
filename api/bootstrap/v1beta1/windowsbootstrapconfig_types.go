package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigFinalizer is held until the bootstrap token of the node is removed from the workload cluster.
const ConfigFinalizer = "windowsbootstrapconfig.bootstrap.cluster.x-k8s.io/token"

// RenderedGenerationAnnotation of a bootstrap Secret is the generation of the config whose spec it was made of.
const RenderedGenerationAnnotation = "windowsbootstrapconfig.bootstrap.cluster.x-k8s.io/generation"

// WindowsBootstrapConfigSpec says how a Windows VM becomes a node. All of it may be left out.
type WindowsBootstrapConfigSpec struct {
	// node is what the node is registered with.
	//
	// +optional
	Node NodeRegistration `json:"node,omitempty,omitzero"`

	// discovery of the cluster; left out, kubeadm asks the Cluster's endpoint and trusts the cluster's own CA.
	//
	// +optional
	Discovery Discovery `json:"discovery,omitempty,omitzero"`

	// kubelet settings.
	//
	// +optional
	Kubelet Kubelet `json:"kubelet,omitempty,omitzero"`

	// reservations keep cpu, memory and disk for Windows and Kubernetes; left out, they follow from the size of the VM.
	//
	// +optional
	Reservations Reservations `json:"reservations,omitempty,omitzero"`

	// pageFile of Windows; left out, it is as the image has it.
	//
	// +optional
	PageFile PageFile `json:"pageFile,omitempty,omitzero"`

	// network mode of the node and what goes with it.
	//
	// +optional
	Network Network `json:"network,omitempty,omitzero"`

	// containerd settings: registries, images, isolation.
	//
	// +optional
	Containerd Containerd `json:"containerd,omitempty,omitzero"`

	// windows settings: proxy, time, users, Defender and the like.
	//
	// +optional
	Windows Windows `json:"windows,omitempty,omitzero"`

	// files and scripts of the user's own.
	//
	// +optional
	Custom Custom `json:"custom,omitempty,omitzero"`

	// deadlineSeconds the guest may take from its first boot until it has joined, reboots not counted; 1800 when left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=7200
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`
}

// NodeRegistration is what the node is registered with.
//
// +kubebuilder:validation:MinProperties=1
type NodeRegistration struct {
	// labels of the node.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Labels []NodeLabel `json:"labels,omitempty"`

	// taints of the node. Left out, the node gets os=windows:NoSchedule, which keeps pods away that do not say they are
	// made for Windows; an empty list means no taint. Cluster API's own "uninitialized" taint is always added.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(one, self.exists_one(other, other.key == one.key && other.effect == one.effect))",message="a taint is there twice, and a node has one of each key and effect; leave one out"
	Taints *[]NodeTaint `json:"taints,omitempty"`
}

// Discovery is how the node finds its cluster and tells it from others.
type Discovery struct {
	// kubeconfigSecret holds a kubeconfig with one cluster: its server (https) and its certificate-authority-data, and no users. The
	// ConfigMap cluster-info in kube-public has such a one. It is for clusters whose CA is not kept in the Secret CLUSTER-ca, or
	// whose nodes reach the API server by another name. The node still joins by a bootstrap token.
	//
	// +required
	KubeconfigSecret KeyReference `json:"kubeconfigSecret,omitempty,omitzero"`
}

// NodeLabel is a label that the kubelet gives its own node.
//
// +kubebuilder:validation:XValidation:rule="!self.name.matches('^([a-z0-9.-]+[.])?(kubernetes|k8s)[.]io/') || self.name.matches('^([a-z0-9.-]+[.])?(kubelet|node)[.]kubernetes[.]io/') || self.name in ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region', 'node.kubernetes.io/instance-type']",message="a kubelet may not give itself this label of kubernetes.io or k8s.io; put it into metadata.labels of the Machine, Cluster API copies it to the node, or use a name below node.kubernetes.io/",fieldPath=".name"
type NodeLabel struct {
	// name of the label, such as example.com/pool.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Name string `json:"name,omitempty"`

	// value of the label.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Value string `json:"value,omitempty"`
}

// NodeTaint is a taint that the node is registered with.
//
// +kubebuilder:validation:XValidation:rule="self.key != 'node.cluster.x-k8s.io/uninitialized' || self.effect != 'NoSchedule'",message="Cluster API's own taint is always there; leave it out",fieldPath=".key"
type NodeTaint struct {
	// key of the taint, such as os or example.com/pool.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key,omitempty"`

	// value of the taint.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Value string `json:"value,omitempty"`

	// effect on pods that do not tolerate the taint: NoSchedule, PreferNoSchedule or NoExecute.
	//
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// WindowsBootstrapConfigStatus is how far the user data is.
type WindowsBootstrapConfigStatus struct {
	// conditions: Ready sums up the others; docs/conditions.md has every reason with its likely cause and what to do.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation that the conditions speak of; -1 until the controller has seen the object.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization tells Cluster API how far the user data is.
	//
	// +optional
	Initialization WindowsBootstrapConfigInitialization `json:"initialization,omitempty,omitzero"`

	// dataSecretName is the Secret with the user data.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`
}

// WindowsBootstrapConfigInitialization is Cluster API's contract: what only ever happens once.
//
// +kubebuilder:validation:MinProperties=1
type WindowsBootstrapConfigInitialization struct {
	// dataSecretCreated is true once the Secret is there.
	//
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// WindowsBootstrapConfig becomes the user data of one Windows VM: Cluster API's BootstrapConfig. It is read once, when that
// VM is made; what is shown of the VM, such as its time limit, must stay that of what the VM got. An admission policy sees to that;
// where it is not installed the rule here does, which misses changes of kubelet.configuration, whose fields have no schema.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.initialization) || !has(oldSelf.status.initialization.dataSecretCreated) || !oldSelf.status.initialization.dataSecretCreated || (has(self.spec) == has(oldSelf.spec) && (!has(self.spec) || self.spec == oldSelf.spec))",message="the VM was made with this config, and a change would not reach it: write a new WindowsBootstrapConfigTemplate and name it in the MachineDeployment, then the machines are replaced",fieldPath=".spec"
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=windowsbootstrapconfigs,scope=Namespaced,shortName=winbc,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster the config belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="User data is there"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is Ready or not, see docs/conditions.md"
// +kubebuilder:printcolumn:name="Data secret created",type="string",JSONPath=".status.initialization.dataSecretCreated",description="Secret with the user data is there"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is going on, or what to do",priority=10
type WindowsBootstrapConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is how the VM becomes a node.
	//
	// +optional
	Spec WindowsBootstrapConfigSpec `json:"spec,omitempty"`
	// status is how far the user data is. The default makes GitOps tools wait for the first look of the controller.
	//
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
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
