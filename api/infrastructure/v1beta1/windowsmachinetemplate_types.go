package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// WindowsMachineTemplateSpec is immutable. To change it, create a new template
// with a new name.
type WindowsMachineTemplateSpec struct {
	// template from which each WindowsMachine is made.
	//
	// +required
	Template WindowsMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// WindowsMachineTemplateResource is copied into every machine that is made
// from the template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spec.providerID)",message="providerID identifies a single VM and is not allowed in a template; remove it",fieldPath=".spec.providerID"
type WindowsMachineTemplateResource struct {
	// metadata has labels and annotations for each WindowsMachine.
	//
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of each WindowsMachine, without providerID. Immutable and Mutable mark what
	// can change in a WindowsMachine; in a template no field can.
	//
	// +required
	Spec WindowsMachineSpec `json:"spec,omitempty,omitzero"`
}

// WindowsMachineTemplateStatus lets the cluster autoscaler scale from zero. It
// expects every value to be a string.
type WindowsMachineTemplateStatus struct {
	// capacity of one machine, such as {cpu: "4", memory: 16Gi}. All values are
	// text.
	//
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo describes the node that a machine becomes.
	//
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
}

// NodeInfo describes the node that a machine becomes.
//
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node: amd64 or arm64.
	//
	// +optional
	// +kubebuilder:validation:Enum=amd64;arm64
	Architecture string `json:"architecture,omitempty"`

	// operatingSystem of the node: windows.
	//
	// +optional
	// +kubebuilder:validation:Enum=windows
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// WindowsMachineTemplate is what a MachineDeployment makes its WindowsMachines
// from. It cannot change: create a new one and use it in the
// MachineDeployment, which then replaces its machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=windowsmachinetemplates,scope=Namespaced,shortName=winmt,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that uses the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Cluster\")].name",description="Cluster that uses the template"
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec['vsphere','azure'].image['template','id']",description="Image from which the VMs are made"
// +kubebuilder:printcolumn:name="Size",type="string",JSONPath=".spec.template.spec['vsphere','azure']['memoryMiB','vmSize']",description="Size of the VMs: vmSize in Azure, memoryMiB in vSphere"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type WindowsMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec has the template of the machines. It is Immutable: to change it, create
	// a new WindowsMachineTemplate.
	//
	// +required
	Spec WindowsMachineTemplateSpec `json:"spec,omitempty,omitzero"`
	// status gives the cluster autoscaler the size of a machine while the pool has no
	// node. No controller of this release writes it: use the annotations
	// capacity.cluster-autoscaler.kubernetes.io/cpu, /memory, /labels and /taints of
	// the MachineDeployment instead.
	//
	// +optional
	Status WindowsMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// WindowsMachineTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type WindowsMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WindowsMachineTemplate `json:"items"`
}
