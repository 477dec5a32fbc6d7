package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// WindowsBootstrapConfigTemplateSpec is immutable. To change it, create a new
// template with a new name.
type WindowsBootstrapConfigTemplateSpec struct {
	// template from which each WindowsBootstrapConfig is made.
	//
	// +required
	Template WindowsBootstrapConfigTemplateResource `json:"template,omitempty,omitzero"`
}

// WindowsBootstrapConfigTemplateResource is copied into every config that is
// made from the template.
type WindowsBootstrapConfigTemplateResource struct {
	// metadata has labels and annotations for each WindowsBootstrapConfig.
	//
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of each WindowsBootstrapConfig. Every field is optional: {} joins a
	// node.
	//
	// +required
	Spec WindowsBootstrapConfigSpec `json:"spec,omitempty"`
}

// WindowsBootstrapConfigTemplate is what a MachineDeployment makes the
// WindowsBootstrapConfigs of its machines from. It cannot change: create a new
// one and use it in the MachineDeployment, which then replaces its machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=windowsbootstrapconfigtemplates,scope=Namespaced,shortName=winbct,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that uses the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Cluster\")].name",description="Cluster that uses the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type WindowsBootstrapConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec has the template of the configs. It is Immutable: to change it, create
	// a new WindowsBootstrapConfigTemplate.
	//
	// +required
	Spec WindowsBootstrapConfigTemplateSpec `json:"spec,omitempty"`
}

// WindowsBootstrapConfigTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type WindowsBootstrapConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WindowsBootstrapConfigTemplate `json:"items"`
}
