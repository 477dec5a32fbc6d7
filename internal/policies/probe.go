package policies

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
