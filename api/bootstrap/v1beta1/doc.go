// Package v1beta1 has the bootstrap half of the API: WindowsBootstrapConfig, which becomes the user data of one Windows
// VM, and its template.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1beta1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupVersion is the only version that there is: the API has no conversion.
var GroupVersion = schema.GroupVersion{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta1"}

// AddToScheme makes the kinds of this package known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&WindowsBootstrapConfig{}, &WindowsBootstrapConfigList{}, &WindowsBootstrapConfigTemplate{}, &WindowsBootstrapConfigTemplateList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
