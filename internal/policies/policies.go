// Package policies has the admission objects that keep Linux workloads on Linux in a workload cluster with Windows Nodes. It is
// pure: the caller writes the objects, in this order.
//
//	policies.Validating() // an API server has these kinds from 1.30 on
//	policies.Mutating()   // from 1.36 on
//
// The mutating policy adds the nodeSelector kubernetes.io/os: linux to the template of a DaemonSet, Deployment or StatefulSet
// that selects nothing, and either tolerates every taint or is in kube-system. It does so when the workload is made or its
// template changes: a template that is written as it was rolls no pod. internal/placement decides which workloads it changes.
package policies

import (
	_ "embed"
	"errors"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Leftovers are what earlier versions wrote beside these policies: only names. The policy comes before its binding.
func Leftovers() (leftovers []*unstructured.Unstructured) {
	for _, old := range []struct{ version, kind, namespace, name string }{
		{"v1", "ConfigMap", metav1.NamespaceSystem, "capwin-linux-first"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "capwin-dns-on-linux"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "", "capwin-dns-on-linux"},
	} {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(old.version)
		object.SetKind(old.kind)
		object.SetNamespace(old.namespace)
		object.SetName(old.name)
		leftovers = append(leftovers, object)
	}
	return leftovers
}

// ofKind returns copies of the policies of a kind and of their bindings.
func ofKind(kind string) (selected []*unstructured.Unstructured) {
	for _, object := range objects() {
		if strings.TrimSuffix(object.GetKind(), "Binding") == kind {
			selected = append(selected, object.DeepCopy())
		}
	}
	return selected
}

// An API server that serves the kinds need not ask the policies: MutatingAdmissionPolicy has a feature gate, and both have a
// plug-in that can be switched off. A probe is an object for a dry-run create, which shows that a policy acts. It is a
// ConfigMap: other people's admission has opinions on workloads, not on ConfigMaps.
func probe(policy, mutated string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "capwin-probe-" + policy},
		Data:       map[string]string{"mutated": mutated},
	}
}

// ProbeMutating is what the mutating policy changes in a dry-run create, once it is there; see IsMutated.
func ProbeMutating() *corev1.ConfigMap { return probe("mutated", "no") }

// IsMutated reports whether the answer to ProbeMutating shows that the policy acts.
func IsMutated(answer *corev1.ConfigMap) bool { return answer.Data["mutated"] == "yes" }

// ProbeValidating is what a validating policy refuses in a dry-run create; see IsRefusal.
func ProbeValidating() *corev1.ConfigMap { return probe("refused", "") }

// IsRefusal reports whether the error of ProbeValidating shows that the policy acts: another one may have refused the probe.
func IsRefusal(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) &&
		strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'capwin-dns-stays-on-linux'")
}
