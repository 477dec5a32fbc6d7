// Package policies has the admission objects that keep Linux workloads on Linux in a workload cluster with Windows Nodes. It is
// pure: somebody else writes the objects, in this order, each by server-side apply.
//
//	policies.Validating() // an API server has these kinds from 1.30 on
//	policies.Mutating()   // from 1.36 on
//
// The mutating policy adds the nodeSelector kubernetes.io/os: linux to the template of a DaemonSet, Deployment or StatefulSet
// that selects nothing, and either tolerates every taint or is in kube-system. It does so when somebody makes the workload or
// changes its template: whoever writes a template as it was rolls no pod. internal/placement says of a workload whether it would.
package policies

import (
	_ "embed"
	"errors"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Label is one that all objects of this package have, with the value LabelValue. No other object of ours has it.
const (
	Label      = "capwin.io/policies"
	LabelValue = "linux-first"
)

//go:embed policies.yaml
var manifest string

// objects are all, in the order of the file.
var objects = sync.OnceValue(func() []unstructured.Unstructured {
	var list unstructured.UnstructuredList
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err = errors.Join(err, list.UnmarshalJSON(text)); err != nil {
		panic(err) // the manifest is a part of this program
	}
	return list.Items
})

// Mutating are the MutatingAdmissionPolicy and its binding.
func Mutating() []*unstructured.Unstructured { return ofKind("MutatingAdmissionPolicy") }

// Validating are the ValidatingAdmissionPolicies, each with its binding.
func Validating() []*unstructured.Unstructured { return ofKind("ValidatingAdmissionPolicy") }

// Leftover is the name of a ConfigMap that earlier versions wrote beside the policies. Nothing reads it any more.
func Leftover() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetNamespace(metav1.NamespaceSystem)
	object.SetName("capwin-linux-first")
	return object
}

// ofKind returns copies of the policies of a kind and of their bindings.
func ofKind(kind string) (all []*unstructured.Unstructured) {
	for _, object := range objects() {
		if strings.TrimSuffix(object.GetKind(), "Binding") == kind {
			all = append(all, object.DeepCopy())
		}
	}
	return all
}
