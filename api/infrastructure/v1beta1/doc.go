// Package v1beta1 is the infrastructure half of the API: WindowsMachine, which stands for one Windows VM, and its template.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupVersion is the only version of the API, so there is no conversion.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&WindowsMachine{}, &WindowsMachineList{}, &WindowsMachineTemplate{}, &WindowsMachineTemplateList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
