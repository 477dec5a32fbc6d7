// Package policies has the admission objects that keep Linux workloads on Linux in a workload cluster with Windows Nodes, and
// what they are told of that cluster. It is pure: somebody else writes the objects, in this order, each by server-side apply.
//
//	params := policies.Params{
//		WindowsLabels:  policies.WindowsLabels(windows, linux),       // follows Nodes and configs
//		RuntimeClasses: policies.WindowsClasses(classes, labels),     // follows RuntimeClasses
//		Spared:         spared,                                       // from the first time on as ReadParams has it
//	}
//	policies.Param(params)                           // keeps them for the next process
//	policies.Told(policies.Validating(), params)     // an API server has these kinds from 1.30 on
//	policies.Told(policies.Mutating(), params)       // from 1.36 on
//
// The mutating policy adds one key, the nodeSelector kubernetes.io/os: linux, to the template of a DaemonSet, Deployment or
// StatefulSet that names no system and either tolerates every taint or is in kube-system. What it changes is never a workload
// that internal/placement calls ForWindows, and stays away from Windows Nodes afterwards; where it cannot be sure of the first,
// it leaves the template alone. The API server asks it at each write to the workload, of a label or an annotation too, but not
// at kubectl scale and at a write of the status.
package policies

import (
	_ "embed"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Label is one that all objects of this package have, the param too, with the value LabelValue. No other object of ours has it.
const (
	Label      = "capwin.io/policies"
	LabelValue = "linux-first"

	managedByLabel, managedBy = "app.kubernetes.io/managed-by", "capwin"
)

//go:embed policies.yaml
var manifest string

// objects are all, in the order of the file.
var objects = sync.OnceValue(func() []unstructured.Unstructured {
	var list unstructured.UnstructuredList
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err == nil {
		err = list.UnmarshalJSON(text)
	}
	if err != nil {
		panic(err) // the manifest is a part of this program
	}
	return list.Items
})

// Mutating are the MutatingAdmissionPolicy and its binding.
func Mutating() []*unstructured.Unstructured { return ofKind("MutatingAdmissionPolicy") }

// Validating are the ValidatingAdmissionPolicies, each with its binding.
func Validating() []*unstructured.Unstructured { return ofKind("ValidatingAdmissionPolicy") }

// ofKind returns copies of the policies of a kind and of their bindings.
func ofKind(kind string) (all []*unstructured.Unstructured) {
	for _, object := range objects() {
		if strings.TrimSuffix(object.GetKind(), "Binding") == kind {
			all = append(all, object.DeepCopy())
		}
	}
	return all
}
