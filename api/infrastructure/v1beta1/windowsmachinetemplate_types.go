package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// WindowsMachineTemplateSpec is immutable. To change it, create a new template with a new name.
type WindowsMachineTemplateSpec struct {
	// template of the machines that are made from it.
	//
	// +required
	Template WindowsMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// WindowsMachineTemplateResource is copied into every machine that is made from the template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spec.providerID)",message="providerID identifies a single VM and is not allowed in a template; remove it",fieldPath=".spec.providerID"
type WindowsMachineTemplateResource struct {
	// metadata: labels and annotations for the machines.
	//
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec describes the VMs. What its fields say of changes is about machines; a template never changes.
	//
	// +required
	Spec WindowsMachineSpec `json:"spec,omitempty,omitzero"`
}

// WindowsMachineTemplateStatus lets the cluster autoscaler scale from zero. It expects every value to be a string.
type WindowsMachineTemplateStatus struct {
	// capacity of a machine of this template.
	//
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo of a machine of this template.
	//
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
}

// NodeInfo describes the node that a machine becomes.
//
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node.
	//
	// +optional
	// +kubebuilder:validation:Enum=amd64;arm64
	Architecture string `json:"architecture,omitempty"`

	// operatingSystem of the node.
	//
	// +optional
	// +kubebuilder:validation:Enum=windows
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// WindowsMachineTemplate is Cluster API's InfraMachineTemplate: WindowsMachines are made from it.
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
	// spec has the template of the machines. It is Immutable: to change it, create a new template and use that.
	//
	// +required
	Spec WindowsMachineTemplateSpec `json:"spec,omitempty,omitzero"`
	// status is read by the cluster autoscaler.
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
